/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A build for a machine without a network: all that the locks of a recipe and of its tools name, in
 * one file. */

#include "cmd/cache-carry.h"
#include "cmd/fetch-locked.h"
#include "common/exit-code.h"
#include "shared/draft.h"
#include "shared/file-util.h"
#include "shared/size.h"
#include "shared/strv.h"
#include "store/carry.h"

#include <fcntl.h>
#include <sys/stat.h>

static void say(const char *did, const Carried *c, const char *file) {
        char size[FORMAT_BYTES_MAX];

        log_info("%s %llu downloads, %s%s%s", did, (unsigned long long) c->blobs,
                        format_bytes(size, c->bytes), file ? ": " : "", strempty(file));
}

/* Before the work: what is there and no file would not be written to, but replaced. */
static int check_target(const char *file) {
        struct stat st;

        if (stat(file, &st) < 0)
                return 0;
        if (S_ISDIR(st.st_mode))
                log_error("%s is a folder: name a file in it", file);
        else if (!S_ISREG(st.st_mode))
                log_error("%s is no regular file: name one that may be replaced, or a new one",
                                file);
        else
                return 0;
        return EXIT_USAGE;
}

static int write_archive(Context *ctx, const char *const *digests, int fd, const char *draft,
                const char *file, Carried *ret) {
        int r;

        if (fchmod(fd, 0644) < 0)
                return log_error_errno(errno, "%s: cannot write it", file);
        r = store_export_blobs(ctx->store, digests, fd, ret);
        if (r < 0)
                return r;
        if (fsync(fd) < 0 || rename(draft, file) < 0)
                return log_error_errno(errno, "%s: cannot write it", file);
        return 0;
}

static int export_to(Context *ctx, const char *const *digests, const char *file) {
        _cleanup_free_ char *folder = path_folder(file), *draft = NULL;
        _cleanup_close_ int fd = -EBADF;
        Carried c = {};
        int r;

        if (!folder)
                return log_oom();
        fd = draft_begin(folder, &draft);
        if (fd < 0)
                return log_error_errno(fd, "%s: cannot write it", file);
        r = write_archive(ctx, digests, fd, draft, file, &c);
        if (r < 0) {
                (void) unlink(draft);
                return r;
        }
        say("Wrote", &c, file);
        return EXIT_OK;
}

int cache_export(Context *ctx, const char *recipe, const char *file) {
        _cleanup_fetched_locks_ FetchedLocks fetched = {};
        int r;

        r = check_target(file);
        if (r != 0)
                return r;
        r = fetch_locked(ctx, recipe, &fetched);
        return r < 0 ? r : export_to(ctx, fetched.digests, file);
}

int cache_import(Context *ctx, const char *file) {
        _cleanup_close_ int fd = open(file, O_RDONLY | O_CLOEXEC);
        Carried c = {};
        int r;

        if (fd < 0) {
                r = -errno;
                log_error_errno(r, "%s: cannot read it", file);
                return r == -ENOENT ? -EINVAL : r;
        }
        r = store_import_blobs(ctx->store, fd, &c);
        if (r < 0)
                return r;
        say("Took", &c, NULL);
        if (c.known > 0)
                log_info("%llu were there already", (unsigned long long) c.known);
        return EXIT_OK;
}
