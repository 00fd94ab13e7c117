/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Neither slurmd nor kubelet is asked: it may be what is wrong. */

#include "daemon/watch-jobs.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/strv.h"

#define CMDLINE_MAX 4096

/* As its status has it, for a process may have its folder in /proc be root's. One that cannot be
 * read is taken for root's. */
static bool is_roots(const char *pid) {
        _cleanup_free_ char *path = fb_pathf("/proc/%s/status", pid), *words = NULL;
        const char *uid;

        if (!path || read_file(path, CMDLINE_MAX, &words, NULL) < 0)
                return true;
        uid = strstr(words, "\nUid:\t");
        return !uid || startswith(uid, "\nUid:\t0\t");
}

/* "slurmstepd: [JOB.STEP]"; the one called "slurmstepd infinity" only holds a cgroup. */
static bool is_job(const char *pid) {
        _cleanup_free_ char *comm = fb_pathf("/proc/%s/comm", pid),
                            *cmdline = fb_pathf("/proc/%s/cmdline", pid), *name = NULL,
                            *words = NULL;

        if (!comm || !cmdline || read_line_file(comm, &name) < 0 || !streq(name, "slurmstepd"))
                return false;
        return is_roots(pid) &&
               (read_file(cmdline, CMDLINE_MAX, &words, NULL) < 0 || strchr(words, '['));
}

/* NVML alone does without /dev/nvidia-uvm, CUDA does not. */
static bool is_for_work(const char *device) {
        return startswith(device, "/dev/nvidia-uvm") ||
               startswith(device, "/dev/infiniband/uverbs");
}

/* Of kubelet's cgroups: "0::/kubepods.slice/kubepods-besteffort.slice/…". */
static bool is_working_pod(const char *pid) {
        _cleanup_free_ char *cgroup = fb_pathf("/proc/%s/cgroup", pid), *words = NULL,
                            *folder = strf("/proc/%s/fd", pid);
        _cleanup_strv_free_ char **fds = NULL;

        if (!cgroup || !folder || read_file(cgroup, CMDLINE_MAX, &words, NULL) < 0 ||
                        !strstr(words, "kubepods") || fb_list(folder, &fds) < 0)
                return false;
        STRV_FOREACH (fd, fds) {
                _cleanup_free_ char *path = fb_pathf("%s/%s", folder, *fd);
                char device[256];
                ssize_t n = path ? readlink(path, device, sizeof(device) - 1) : -1;

                if (n < 0)
                        continue;
                device[n] = '\0';
                if (is_for_work(device))
                        return true;
        }
        return false;
}

bool watch_jobs_run(void) {
        _cleanup_strv_free_ char **pids = NULL;

        if (fb_list("/proc", &pids) < 0)
                return false;
        STRV_FOREACH (pid, pids)
                if ((*pid)[0] >= '1' && (*pid)[0] <= '9' && (is_job(*pid) || is_working_pod(*pid)))
                        return true;
        return false;
}
