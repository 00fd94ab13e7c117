/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The last stage: the whole tree is tidied (tidy.c), its identity is left open, and what no lock
 * pins is said. */

#include "stage/internal.h"
#include "sandbox/open-inside.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <sys/stat.h>

/* An empty machine-id makes the node find its own at boot, and is no "first boot", which would set
 * all units to the distribution's presets. */
static int write_machine_id(int etc) {
        _cleanup_close_ int fd = openat(etc, "machine-id",
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);

        if (fd < 0)
                return -errno;
        return fchmod(fd, 0444) < 0 ? -errno : 0;
}

/* The stages whose scripts had the network, one a line; "" where none had. */
static int network_stages(const Plan *plan, char **ret) {
        _cleanup_strv_free_ char **ids = NULL;

        for (size_t i = 0; i < plan->n_stages; i++) {
                int r = stage_uses_network(plan->stages + i)
                                        ? strv_extendf(&ids, "%s\n", plan->stages[i].id)
                                        : 0;

                if (r < 0)
                        return r;
        }
        *ret = strv_join(ids, "");
        return *ret ? 0 : -ENOMEM;
}

/* Folder by folder, none of them a link that a package left there. */
static int open_mark(int root) {
        _cleanup_close_ int lib = inside_open(root, "usr/lib", O_RDONLY | O_DIRECTORY),
                            folder = -EBADF;
        int fd;

        if (lib < 0)
                return lib;
        if (mkdirat(lib, "imgbuild", 0755) < 0 && errno != EEXIST)
                return -errno;
        folder = openat(lib, "imgbuild", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (folder < 0)
                return -errno;
        if (unlinkat(folder, path_basename(PLAN_NETWORK_MARK), 0) < 0 && errno != ENOENT)
                return -errno;
        fd = openat(folder, path_basename(PLAN_NETWORK_MARK),
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
        return fd < 0 ? -errno : fd;
}

static int mark_network(int root, const Plan *plan) {
        _cleanup_free_ char *text = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r;

        r = network_stages(plan, &text);
        if (r < 0 || isempty(text))
                return r;
        fd = open_mark(root);
        return fd < 0 ? fd : write_all(fd, text, strlen(text));
}

static int clean(const char *root, void *userdata) {
        _cleanup_close_ int root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), etc = -EBADF;
        int r;

        if (root_fd < 0)
                return -errno;
        r = tidy_tree(root_fd);
        if (r < 0)
                return r;

        r = mark_network(root_fd, userdata);
        if (r < 0)
                return log_error_errno(r, "Cannot write /" PLAN_NETWORK_MARK);

        etc = inside_open(root_fd, "etc", O_RDONLY | O_DIRECTORY);
        if (etc < 0)
                return log_error_errno(etc, "The image has no /etc");
        r = write_machine_id(etc);
        if (r < 0)
                return log_error_errno(r, "Cannot empty /etc/machine-id");
        return tidy_leftovers(TAKE_FD(etc));
}

int stage_finalize(StageBuild *b) {
        int r = sandbox_call(&b->sandbox, clean, (void *) b->plan);

        return r < 0 ? log_error_errno(r, "Stage %s: cannot clean the tree", b->stage->id) : 0;
}
