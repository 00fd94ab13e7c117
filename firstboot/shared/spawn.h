/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Runs programs: argv arrays only, no shell. A child dies with its parent, runs in a process group
 * of its own (a Ctrl-C reaches only us, and we end it), and never outlives its time-out. */

#include "shared/macro.h"
#include <sys/types.h>

typedef struct SpawnOptions {
        char *const *env; /* whole environment; NULL: inherited */
        const char *cwd;
        const char *stdin_path; /* NULL: /dev/null */
        bool stdin_inherit;     /* an interactive shell: streams and terminal are the caller's */
        int stdout_fd; /* > 0: standard output goes there and only standard error is captured */

        /* Runs in the child before exec (or instead of it, where argv is NULL: its return value,
         * made positive, becomes the exit status). Negative errno: reported upwards as spawn's own
         * error. */
        int (*prepare)(void *userdata);
        void *prepare_data;

        void (*on_line)(const char *line, void *userdata); /* each captured line, without newline */
        void *line_data;

        /* Called about five times a second while it runs: a negative errno ends it, and is what
         * spawn_run() returns. `pid` is the child's. */
        int (*watch)(pid_t pid, void *userdata);
        void *watch_data;

        uint64_t timeout_usec; /* 0: none; then SIGTERM, and SIGKILL after 5 s */
} SpawnOptions;

/* Returns 0 with *ret_status the exit code (128 + signal for a killed child); -ENOENT where the
 * program is not there; -ETIMEDOUT; -ECANCELED after a SIGINT or SIGTERM of ours; what its watch
 * said; other -errno. In every case the child and its process group are gone. Call from the main
 * thread only. */
int spawn_run(const SpawnOptions *options, char *const argv[], int *ret_status);

/* Runs argv with the options (NULL: none) and returns its whole output (stdout and stderr), at
 * most 16 MiB; -EFBIG beyond. */
int spawn_capture(const SpawnOptions *options, char *const argv[], char **ret_output,
                int *ret_status);

/* Called about five times a second while a child runs, for a progress display; NULL: nothing. */
void spawn_set_tick(void (*tick)(void *userdata), void *userdata);
#define SPAWN_TICK_MS 200
void spawn_tick(void); /* for who waits for something else than spawn_run() */

/* Whether `program` is found on PATH; *ret_path (may be NULL) is its path. */
bool program_find(const char *program, char **ret_path);

/* Blocks no signals, but from now on SIGINT, SIGTERM and SIGHUP only set a flag and wake poll().
 * The fd becomes readable once a signal came. */
int interrupt_install(void);
int interrupt_renew(void);  /* of a forked child: none came yet, and what wakes it is its own */
int interrupt_signal(void); /* the signal that came, or 0 */
int interrupt_fd(void);     /* -EBADF before interrupt_install() */
