/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* slurmd is not asked: it may be what is wrong. */

#include "daemon/watch-jobs.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/strv.h"

#define CMDLINE_MAX 4096

/* "slurmstepd: [JOB.STEP]"; the one called "slurmstepd infinity" only holds a cgroup. */
static bool is_job(const char *pid) {
        _cleanup_free_ char *comm = fb_pathf("/proc/%s/comm", pid),
                            *cmdline = fb_pathf("/proc/%s/cmdline", pid), *name = NULL,
                            *words = NULL;

        if (!comm || !cmdline || read_line_file(comm, &name) < 0 || !streq(name, "slurmstepd"))
                return false;
        return read_file(cmdline, CMDLINE_MAX, &words, NULL) < 0 || strchr(words, '[');
}

bool watch_jobs_run(void) {
        _cleanup_strv_free_ char **pids = NULL;

        if (fb_list("/proc", &pids) < 0)
                return false;
        STRV_FOREACH (pid, pids)
                if ((*pid)[0] >= '1' && (*pid)[0] <= '9' && is_job(*pid))
                        return true;
        return false;
}
