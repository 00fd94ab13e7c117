/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Looks for running programs in /proc, for when systemd cannot be asked. */

#include "steps/common/process.h"
#include "contract/jobs.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/strv.h"

bool process_exists(const char *name) {
        _cleanup_strv_free_ char **pids = NULL;

        if (fb_list("/proc", &pids) < 0)
                return false;
        STRV_FOREACH (pid, pids) {
                _cleanup_free_ char *path = fb_pathf("/proc/%s/comm", *pid), *comm = NULL;

                if (path && (*pid)[0] >= '0' && (*pid)[0] <= '9' &&
                                read_line_file(path, &comm) >= 0 && streq(comm, name) &&
                                process_is_roots(*pid))
                        return true;
        }
        return false;
}
