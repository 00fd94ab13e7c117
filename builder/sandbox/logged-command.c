/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Running a command with its log. A log holds every command of a stage, each after a line "+ …",
 * its lines with the seconds since it began. */

#include "sandbox/logged-command.h"
#include "sandbox/complaint.h"
#include "store/store.h"

#include "shared/duration.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"
#include "shared/time-util.h"

#include <sys/statvfs.h>

#define LINES_SHOWN 40 /* of a failing command's output */
#define SCRIPT_SIZE_MAX (1024 * 1024)
#define PIECE_MIN 8000             /* bytes: spawn_run() cuts lines a little beyond */
#define ROOM_MIN (4 * 1024 * 1024) /* bytes: with less, a failure is the full disk's */

typedef struct Output {
        Context *ctx;
        const char *name;
        const SpawnOptions *caller; /* its on_line is called too; may be NULL */
        const Secret *const *secrets;
        bool torn;   /* the last piece went on */
        bool warned; /* of a make that will fail */
        char *path;
        FILE *log;
        uint64_t started;
        char *last[LINES_SHOWN]; /* a ring */
        size_t n;                /* lines so far */
        Complaint complaint;
} Output;

static void output_done(Output *o) {
        if (o->log)
                fclose(o->log);
        for (size_t i = 0; i < LINES_SHOWN; i++)
                free(o->last[i]);
        complaint_done(&o->complaint);
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

/* As it may be shown. A line that comes in pieces may have a secret across two of them. */
static char *mask_line(Output *o, const char *line) {
        bool torn = o->torn;

        o->torn = strlen(line) >= PIECE_MIN;
        return torn || o->torn ? strdup("[a line of more than 8 kB, of a script that has a secret]")
                               : secrets_mask(o->secrets, line);
}

/* Jobs that run beside the failed one may go on for minutes, and a script may not mind a make that
 * fails, so nothing is ended here. */
static void warn_of_make(Output *o, const char *line) {
        if (o->warned || !complaint_make_waits(line))
                return;
        o->warned = true;
        log_warning("Stage %s: a command of its make has failed%s%s; make lets those that run beside it end first, Ctrl-C ends them now",
                        o->name, o->complaint.first ? ": " : "", strempty(o->complaint.first));
}

static void output_line(const char *said, void *userdata) {
        Output *o = userdata;
        _cleanup_free_ char *masked = o->secrets ? mask_line(o, said) : NULL;
        const char *line = o->secrets ? strempty(masked) : said;
        uint64_t usec = now_usec() - o->started;
        char **slot = o->last + o->n % LINES_SHOWN;

        complaint_take(&o->complaint, line, o->n++, usec);
        warn_of_make(o, line);
        free(*slot);
        *slot = strdup(line);
        fprintf(o->log, "%7.2f %s\n", (double) usec / USEC_PER_SEC, line);
        progress_detail(o->ctx->progress, o->name, line);
        if (o->caller && o->caller->on_line)
                o->caller->on_line(line, o->caller->line_data);
}

static void output_show(const Output *o) {
        char after[FORMAT_DURATION_MAX];

        /* What matters may be far above the last lines: make -j goes on with the rest. */
        if (o->complaint.first && o->n > o->complaint.line + LINES_SHOWN)
                log_notice("  | %s\n  | … (that was the first error, after %s; the last lines are)",
                                o->complaint.first, format_duration(after, o->complaint.usec));
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
        char time[FORMAT_DURATION_MAX];

        if (r == -ETIMEDOUT)
                log_error("Stage %s: %s was ended: it ran for %s, which is all that limits.time allows",
                                o->name, program, format_duration(time, w->limits.time_usec));
        else
                log_error("Stage %s: %s was ended: %s", o->name, program, strempty(w->why));
        output_show(o);
        return r == -EDQUOT ? -EIO : r;
}

/* bubblewrap's last words, where the program is there but did not begin. */
static bool did_not_begin(const Output *o) {
        const char *last = o->n > 0 ? o->last[(o->n - 1) % LINES_SHOWN] : NULL;

        return last && startswith(last, "bwrap: execvp ") != NULL;
}

/* The script is there, so it is its first line that names what is not. */
static void log_not_begun(const Output *o, const char *script) {
        _cleanup_free_ char *text = NULL;
        char *line;

        if (read_file(script, SCRIPT_SIZE_MAX, &text, NULL) < 0 || !startswith(text, "#!")) {
                log_error("Stage %s: %s cannot be run in the tree", o->name, script);
                return;
        }
        line = text + strlen("#!");
        line[strcspn(line, "\n")] = '\0';
        if (endswith(line, "\r")) {
                log_error("Stage %s: %s cannot be run: its lines end as Windows writes them; sed -i 's/\\r$//' makes them right",
                                o->name, script);
                return;
        }
        line += strspn(line, " ");
        log_error("Stage %s: %s cannot be run: the interpreter of its first line, %s, is not in the tree: add the package that has it",
                        o->name, script, line);
}

static void log_failed(const Output *o, const char *program, const char *script, int status) {
        _cleanup_free_ char *remedy =
                        o->complaint.missing ? complaint_remedy(o->complaint.missing) : NULL;

        if (did_not_begin(o) && script) {
                log_not_begun(o, script);
                return;
        }
        if (did_not_begin(o))
                log_error("Stage %s: %s is not in the tree, or may not be run: a package that has it is missing",
                                o->name, program);
        else
                log_error("Stage %s: %s ended with exit code %d%s%s; its last lines were", o->name,
                                program, status, remedy ? ": " : "", strempty(remedy));
        output_show(o);
}

/* The tree as the failing command saw it, with its mounts and its environment. What is changed
 * there goes with the stage. */
static void open_shell(const Output *o, const Sandbox *s) {
        static const char best[] = "command -v bash >/dev/null && exec bash; exec sh";
        const SpawnOptions spawn = { .stdin_inherit = true };
        _cleanup_strv_free_ char **env = strv_copy(s->env);
        Sandbox shell = *s;
        int r, status;

        if ((s->env && !env) || strv_extendf(&env, "debian_chroot=%s", o->name) < 0 ||
                        strv_extendf(&env, "PS1=(%s) # ", o->name) < 0) {
                log_oom();
                return;
        }
        shell.env = env;
        o->ctx->progress = progress_free(o->ctx->progress); /* the terminal is the shell's */
        log_notice("A shell in the tree as it was left%s%s; changes are thrown away, and its end ends the build",
                        s->script ? ": the script is /run/imgbuild/script, from " : "",
                        strempty(s->script));
        r = sandbox_run(&shell, &spawn, ARGV("/bin/sh", "-c", best), &status);
        if (r < 0)
                log_error_errno(r, "No shell can be had there");
}

int logged_command_status(Context *ctx, const char *name, const Sandbox *s,
                const SpawnOptions *options, char *const argv[], bool quiet, int *ret_status) {
        _cleanup_(limit_watch_done) LimitWatch watch = {};
        _cleanup_(output_done) Output output = {
                .ctx = ctx, .name = name, .caller = options, .secrets = s->secrets
        };
        SpawnOptions o = options ? *options : (SpawnOptions) {};
        const char *program = s->script ? s->script : argv[0];
        Sandbox limited = *s;
        int r, status;

        r = output_open(&output, argv);
        if (r < 0)
                return r;

        o.on_line = output_line;
        o.line_data = &output;
        if (s->limits) {
                limit_watch_begin(&watch, s->limits, store_path(ctx->store));
                limit_watch_cgroup(&watch, CGROUP_MOUNT, "/proc/self/cgroup");
                limited.cgroup = watch.cgroup.path;
                o.watch = limit_watch_look;
                o.watch_data = &watch;
                o.timeout_usec = watch.limits.time_usec;
        }
        r = sandbox_run(&limited, &o, argv, &status);
        fflush(output.log);
        if (s->limits && r != -EDQUOT && limit_watch_met(&watch) < 0)
                r = -EDQUOT;
        if (s->limits && (r == -EDQUOT || r == -ENOSPC || r == -ETIMEDOUT))
                return over_limit(&output, &watch, program, r);
        if (r == -ECANCELED || (interrupt_signal() && (r < 0 || status != 0)))
                return -ECANCELED; /* Ctrl-C reaches the command too, and it may end first */
        if (r < 0) {
                log_error_errno(r, "Stage %s: cannot run %s", name, program);
                if (output.n > 0) /* what the sandbox's child said before it became the command */
                        output_show(&output);
                return r;
        }

        if (status != 0 && !quiet) {
                log_failed(&output, program, s->script, status);
                if (ctx->error_shell)
                        open_shell(&output, s);
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
