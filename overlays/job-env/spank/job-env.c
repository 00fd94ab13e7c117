/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Slurm's plugin of the overlay job-env: what job-env(1) says of a task is in that task's
 * environment before it starts. It has to stand before Pyxis in plugstack.conf: job-env is a
 * program of the node, and behind Pyxis a task is inside of its container. Whatever goes wrong
 * here, the task starts. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

SPANK_PLUGIN(job - env, 1)

/* Host files of tasks, which Enroot shows to containers: files/etc/enroot/mounts.d. Root's alone:
 * where users could write, one could fill /run, and nothing would take it away again. */
#define FOLDER "/run/job-env"
#define PROGRAM "/usr/bin/job-env"

/* Far more than the kernel takes as one variable, which job-env respects. */
#define ANSWER_MAX (1024 * 1024)

/* A host's line is its name of at most 64 characters, and a number; a batch script, which does not
 * know here how many there are, has room for some thousands. */
#define HOST_MAX 128
#define BATCH_MAX (256 * 1024)

/* This task's host file, made while the process still was root's, and closed before the user's
 * program starts. */
static int hosts_fd = -1;
static size_t hosts_max;
static char hosts_file[sizeof(FOLDER) + 96];

/* "JOB.STEP" or "JOB.batch"; false in what is no step of a user's. */
static bool step_name(spank_t sp, char ret_name[64]) {
        uint32_t job, step;

        if (spank_remote(sp) != 1 || spank_get_item(sp, S_JOB_ID, &job) != ESPANK_SUCCESS ||
                        spank_get_item(sp, S_JOB_STEPID, &step) != ESPANK_SUCCESS)
                return false;

        if (step == SLURM_BATCH_SCRIPT || step == SLURM_INTERACTIVE_STEP)
                snprintf(ret_name, 64, "%u.batch", job);
        else if (step <= SLURM_MAX_NORMAL_STEP_ID)
                snprintf(ret_name, 64, "%u.%u", job, step);
        else
                return false;
        return true;
}

/* As root, once a step. */
int slurm_spank_init(spank_t sp, int argc, char *argv[]) {
        (void) argc;
        (void) argv;

        if (spank_remote(sp) != 1)
                return 0;
        /* mkdir() heeds the umask. */
        if ((mkdir(FOLDER, 0755) < 0 && errno != EEXIST) || chmod(FOLDER, 0755) < 0)
                slurm_error("job-env: cannot make " FOLDER " for host files: %m");
        return 0;
}

/* As root, in the task's own process: its host file, empty. */
int slurm_spank_task_init_privileged(spank_t sp, int argc, char *argv[]) {
        uint32_t task = 0, nodes = 1;
        char step[64], wanted[8] = "";

        (void) argc;
        (void) argv;

        (void) spank_getenv(sp, "JOB_ENV", wanted, sizeof(wanted));
        if (strcmp(wanted, "off") == 0 || !step_name(sp, step) ||
                        spank_get_item(sp, S_TASK_GLOBAL_ID, &task) != ESPANK_SUCCESS ||
                        spank_get_item(sp, S_JOB_NNODES, &nodes) != ESPANK_SUCCESS)
                return 0;

        hosts_max = strstr(step, ".batch") ? BATCH_MAX : (size_t) nodes * HOST_MAX;
        snprintf(hosts_file, sizeof(hosts_file), FOLDER "/%s.%u", step, task);
        (void) unlink(hosts_file); /* of the same step, before the job was put back into the queue */
        hosts_fd = open(hosts_file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
        if (hosts_fd < 0)
                slurm_error("job-env: cannot make %s: %m", hosts_file);
        else
                (void) fchmod(hosts_fd, 0644);
        return 0;
}

/* What the program said of hosts, which is the user's word. Whether it could be kept. */
static bool keep_hosts(const char *hosts) {
        size_t n = strlen(hosts);
        bool kept = hosts_fd >= 0 && n > 0 && n <= hosts_max &&
                    write(hosts_fd, hosts, n) == (ssize_t) n;

        if (hosts_fd >= 0)
                close(hosts_fd);
        hosts_fd = -1;
        return kept;
}

/* What PROGRAM --task STEP prints; NULL where it cannot be run or fails. */
static char *ask(char *step, char **env) {
        char program[] = PROGRAM, option[] = "--task", *command[] = { program, option, step, NULL };
        char *said = NULL;
        size_t n = 0;
        int fds[2], status;
        pid_t pid;

        if (pipe2(fds, O_CLOEXEC) < 0)
                return NULL;

        pid = fork();
        if (pid == 0) {
                if (dup2(fds[1], STDOUT_FILENO) >= 0)
                        execve(program, command, env);
                _exit(127);
        }
        close(fds[1]);

        if (pid > 0)
                said = calloc(1, ANSWER_MAX);
        while (said && n < ANSWER_MAX - 1) {
                ssize_t l = read(fds[0], said + n, ANSWER_MAX - 1 - n);

                if (l < 0 && errno == EINTR)
                        continue;
                if (l <= 0)
                        break;
                n += (size_t) l;
        }
        close(fds[0]);

        while (pid > 0 && waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        break;
        return said;
}

/* As the user, in the task's own process: "NAME=VALUE" a line, and behind an empty one its
 * hosts. */
int slurm_spank_task_init(spank_t sp, int argc, char *argv[]) {
        char step[64], *said, *rest, *line, **env;
        bool kept = false;

        (void) argc;
        (void) argv;

        if (!step_name(sp, step) || spank_get_item(sp, S_JOB_ENV, &env) != ESPANK_SUCCESS)
                return 0;

        said = ask(step, env);
        rest = said;
        while ((line = strsep(&rest, "\n"))) {
                char *value = strchr(line, '=');

                if (*line == '\0') {
                        kept = rest && keep_hosts(rest);
                        break;
                }
                if (!value)
                        continue;
                *value++ = '\0';
                if (spank_setenv(sp, line, value, 1) != ESPANK_SUCCESS)
                        slurm_error("job-env: cannot set %s", line);
        }
        if (kept && spank_setenv(sp, "JOB_HOSTFILE", hosts_file, 1) != ESPANK_SUCCESS)
                slurm_error("job-env: cannot set JOB_HOSTFILE");
        free(said);
        return 0;
}

/* As root, when the step is over, however it ended. */
int slurm_spank_exit(spank_t sp, int argc, char *argv[]) {
        char step[64];
        struct dirent *e;
        DIR *d;

        (void) argc;
        (void) argv;

        if (!step_name(sp, step))
                return 0;

        strcat(step, ".");
        d = opendir(FOLDER);
        while (d && (e = readdir(d)))
                if (strncmp(e->d_name, step, strlen(step)) == 0)
                        unlinkat(dirfd(d), e->d_name, 0);
        if (d)
                closedir(d);
        return 0;
}
