/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a disk is made in: scratch folders, the sandbox, and enough free space. */

#include "disk/internal.h"

#include "shared/file-util.h"
#include "sandbox/logged-command.h"
#include "shared/log.h"
#include "shared/size.h"
#include "store/store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

char *absolute_folder(const char *path) {
        _cleanup_free_ char *folder = path_folder(path);

        return folder ? realpath(folder, NULL) : NULL;
}

int require_space(const char *folder, uint64_t bytes, const char *what) {
        char there[FORMAT_BYTES_MAX], needed[FORMAT_BYTES_MAX];
        uint64_t available;
        struct statvfs v;

        if (statvfs(folder, &v) < 0)
                return log_error_errno(errno, "%s: cannot see how much space is free", folder);
        available = (uint64_t) v.f_bavail * v.f_frsize;
        if (available >= bytes)
                return 0;

        log_error("No space for %s: %s has %s free and about %s are needed. "
                  "Free some (imgbuild cache prune), or choose another place (--cache, --output)",
                        what, folder, format_bytes(there, available), format_bytes(needed, bytes));
        return -ENOSPC;
}

int disk_prepare(Disk *d, char *const *layers) {
        int r;

        d->layers = strv_copy(layers);
        d->folder = absolute_folder(d->path);
        d->file = path_join("/disk", path_basename(d->path));
        if (!d->folder)
                return log_error_errno(errno, "%s: cannot make it there", d->path);
        if (!d->layers || !d->file)
                return log_oom();

        r = store_scratch(d->ctx->store, "disk-work", &d->work);
        if (r < 0)
                return log_error_errno(r, "Cannot make room for the disk");
        return 0;
}

void disk_done(Disk *d) {
        if (d->work)
                (void) rm_rf(d->work);
        free(d->work);
        free(d->folder);
        free(d->file);
        strv_free(d->layers);
}

int disk_tool(const Disk *d, const char *tree, const SpawnOptions *options, char *const argv[]) {
        const SandboxBind binds[] = {
                { .source = d->work, .target = "/work", .writable = true },
                { .source = d->folder, .target = "/disk", .writable = true },
                { .source = tree, .target = "/tree" },
        };
        Sandbox s;
        int r;

        tools_sandbox(d->tools, &s);
        s.epoch = d->plan->lock->epoch; /* the image's: mke2fs puts no later time into the disk */
        s.binds = binds;
        s.n_binds = tree ? 3 : 2;
        r = logged_command(d->ctx, "tools", &s, options, argv);
        if (r < 0 && r != -ECANCELED && require_space(d->folder, SPACE_LOW, "the disk") == -ENOSPC)
                return -ENOSPC;
        return r;
}

int disk_open(const Disk *d, int flags) {
        _cleanup_close_ int fd = open(d->path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        return S_ISREG(st.st_mode) ? TAKE_FD(fd) : -EINVAL;
}

int disk_with_tree(const Disk *d, int (*fn)(const char *root, void *userdata), void *userdata) {
        const Sandbox s = {
                .store = d->ctx->store,
                .layers = d->layers,
                .read_only = true,
                .epoch = d->plan->lock->epoch,
        };

        return sandbox_call(&s, fn, userdata);
}
