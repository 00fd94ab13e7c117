/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The last stage: the whole tree is tidied (tidy.c), and its identity is left open. */

#include "stage/internal.h"
#include "sandbox/open-inside.h"

#include "shared/log.h"

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

static int clean(const char *root, void *userdata _unused_) {
        _cleanup_close_ int root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), etc = -EBADF;
        int r;

        if (root_fd < 0)
                return -errno;
        r = tidy_tree(root_fd);
        if (r < 0)
                return r;

        etc = inside_open(root_fd, "etc", O_RDONLY | O_DIRECTORY);
        if (etc < 0)
                return log_error_errno(etc, "The image has no /etc");
        r = write_machine_id(etc);
        if (r < 0)
                return log_error_errno(r, "Cannot empty /etc/machine-id");
        return tidy_leftovers(TAKE_FD(etc));
}

int stage_finalize(StageBuild *b) {
        int r = sandbox_call(&b->sandbox, clean, NULL);

        return r < 0 ? log_error_errno(r, "Stage %s: cannot clean the tree", b->stage->id) : 0;
}
