/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Asked of the mount, not proved by writing: that a disk is full is no fault of this kind. */

#include "steps/host/read-only.h"
#include "contract/paths.h"

#include <sys/statvfs.h>

bool host_is_read_only(void) {
        _cleanup_free_ char *path = fb_path(PATH_STATE_FOLDER);
        struct statvfs v;

        return path && statvfs(path, &v) >= 0 && (v.f_flag & ST_RDONLY);
}

int host_fail_read_only(StepContext *c) {
        return step_fail(c, "host.read-only",
                        "the file system of " PATH_STATE_FOLDER " is mounted read-only");
}
