/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Neither slurmd nor kubelet is asked: it may be what is wrong. */

#include "contract/jobs.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/strv.h"

#define CMDLINE_MAX 4096

bool process_is_roots(const char *pid) {
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
        return process_is_roots(pid) &&
               (read_file(cmdline, CMDLINE_MAX, &words, NULL) < 0 || strchr(words, '['));
}

/* NVML alone does without /dev/nvidia-uvm, CUDA does not. */
static bool is_for_work(const char *device) {
        return startswith(device, "/dev/nvidia-uvm") ||
               startswith(device, "/dev/infiniband/uverbs");
}

/* A line of /proc/PID/cgroup, "0::/kubepods.slice/kubepods-besteffort.slice/…": kubelet's, at the
 * top or below a slice of the machine's own. What a user's session makes below its own slice may
 * have any name. */
static bool is_pods(const char *line) {
        const char *path = strchr(line, ':');

        path = path ? strchr(path + 1, ':') : NULL;
        return path && !startswith(path, ":/user.slice/") && strstr(path, "kubepods");
}

static bool has_cgroup_of_pods(const char *pid) {
        _cleanup_free_ char *path = fb_pathf("/proc/%s/cgroup", pid), *text = NULL;
        _cleanup_strv_free_ char **lines = NULL;

        if (!path || read_file(path, CMDLINE_MAX, &text, NULL) < 0)
                return false;
        lines = strv_split(text, "\n");
        STRV_FOREACH (line, lines)
                if (is_pods(*line))
                        return true;
        return false;
}

static bool is_working_pod(const char *pid) {
        _cleanup_free_ char *folder = strf("/proc/%s/fd", pid);
        _cleanup_strv_free_ char **fds = NULL;

        if (!folder || !has_cgroup_of_pods(pid) || fb_list(folder, &fds) < 0)
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

bool jobs_run(void) {
        _cleanup_strv_free_ char **pids = NULL;

        if (fb_list("/proc", &pids) < 0)
                return false;
        STRV_FOREACH (pid, pids)
                if ((*pid)[0] >= '1' && (*pid)[0] <= '9' && (is_job(*pid) || is_working_pod(*pid)))
                        return true;
        return false;
}
