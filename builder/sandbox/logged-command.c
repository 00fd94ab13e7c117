/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Running a command with its log. A log holds every command of a stage, each after a line "+ …",
 * its lines with the seconds since it began. */

#include "sandbox/logged-command.h"
#include "store/store.h"

#include "shared/log.h"
#include "shared/strv.h"
#include "shared/time-util.h"

#include <sys/statvfs.h>

#define LINES_SHOWN 40             /* of a failing command's output */
#define ROOM_MIN (4 * 1024 * 1024) /* bytes: with less, a failure is the full disk's */

typedef struct Output {
        Context *ctx;
        const char *name;
        const SpawnOptions *caller; /* its on_line is called too; may be NULL */
        char *path;
        FILE *log;
        uint64_t started;
        char *last[LINES_SHOWN]; /* a ring */
        size_t n;                /* lines so far */
} Output;

static void output_done(Output *o) {
        if (o->log)
                fclose(o->log);
        for (size_t i = 0; i < LINES_SHOWN; i++)
                free(o->last[i]);
        free(o->path);
}

static int output_open(Output *o, char *const argv[]) {
        _cleanup_free_ char *command = strv_join(argv, " ");

        if (!command || store_log_path(o->ctx->store, o->name, &o->path) < 0)
                return log_oom();
        o->log = fopen(o->path, "ae");
        if (!o->log)
                return log_error_errno(-errno, "%s: cannot write the stage's log", o->path);

        log_debug("Stage %s: %s", o->name, command);
        fprintf(o->log, "+ %s\n", command);
        o->started = now_usec();
        return 0;
}

static void output_line(const char *line, void *userdata) {
        Output *o = userdata;
        char **slot = o->last + o->n++ % LINES_SHOWN;

        free(*slot);
        *slot = strdup(line);
        fprintf(o->log, "%7.2f %s\n", (double) (now_usec() - o->started) / USEC_PER_SEC, line);
        progress_detail(o->ctx->progress, o->name, line);
        if (o->caller && o->caller->on_line)
                o->caller->on_line(line, o->caller->line_data);
}

static void output_show(const Output *o) {
        for (size_t i = o->n > LINES_SHOWN ? o->n - LINES_SHOWN : 0; i < o->n; i++)
                if (o->last[i % LINES_SHOWN])
                        log_notice("  | %s", o->last[i % LINES_SHOWN]);
        log_notice("The whole output: %s", o->path);
}

/* A full disk shows as any kind of failure in a command. */
static bool store_is_full(Store *s) {
        struct statvfs st;

        return statvfs(store_path(s), &st) >= 0 && (uint64_t) st.f_bavail * st.f_frsize < ROOM_MIN;
}

/* It was ended for what it took. */
static int over_limit(const Output *o, const LimitWatch *w, const char *program, int r) {
        unsigned long long minutes = w->limits.time_usec / (60 * USEC_PER_SEC);

        if (r == -ETIMEDOUT)
                log_error("Stage %s: %s was ended: it ran for %llu min %llu s, which is all that "
                          "limits.time allows",
                                o->name, program, minutes,
                                (unsigned long long) (w->limits.time_usec / USEC_PER_SEC % 60));
        else
                log_error("Stage %s: %s was ended: %s", o->name, program, strempty(w->why));
        output_show(o);
        return r == -EDQUOT ? -EIO : r;
}

int logged_command_status(Context *ctx, const char *name, const Sandbox *s,
                const SpawnOptions *options, char *const argv[], bool quiet, int *ret_status) {
        _cleanup_(limit_watch_done) LimitWatch watch = {};
        _cleanup_(output_done) Output output = { .ctx = ctx, .name = name, .caller = options };
        SpawnOptions o = options ? *options : (SpawnOptions) {};
        int r, status;

        r = output_open(&output, argv);
        if (r < 0)
                return r;

        o.on_line = output_line;
        o.line_data = &output;
        if (s->limits) {
                limit_watch_begin(&watch, s->limits, store_path(ctx->store));
                o.watch = limit_watch_look;
                o.watch_data = &watch;
                o.timeout_usec = watch.limits.time_usec;
        }
        r = sandbox_run(s, &o, argv, &status);
        fflush(output.log);
        if (s->limits && (r == -EDQUOT || r == -ENOSPC || r == -ETIMEDOUT))
                return over_limit(&output, &watch, argv[0], r);
        if (r == -ECANCELED || (interrupt_signal() && (r < 0 || status != 0)))
                return -ECANCELED; /* Ctrl-C reaches the command too, and it may end first */
        if (r < 0) {
                log_error_errno(r, "Stage %s: cannot run %s", name, argv[0]);
                if (output.n > 0) /* what the sandbox's child said before it became the command */
                        output_show(&output);
                return r;
        }

        if (status != 0 && !quiet) {
                log_error("Stage %s: %s ended with exit code %d; its last lines were", name,
                                argv[0], status);
                output_show(&output);
                if (store_is_full(ctx->store))
                        return -ENOSPC;
        }
        *ret_status = status;
        return 0;
}

int logged_command(Context *ctx, const char *name, const Sandbox *s, const SpawnOptions *options,
                char *const argv[]) {
        int status, r;

        r = logged_command_status(ctx, name, s, options, argv, false, &status);
        if (r < 0)
                return r;
        return status == 0 ? 0 : -EIO;
}
