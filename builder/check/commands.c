/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The rules that run a program of the tree: systemd-analyze, and what overlays bring along. They
 * run in a sandbox without network, read-only, within the limits of a stage's commands. */

#include "check/internal.h"

#include "common/rpm-list.h"
#include "sandbox/logged-command.h"
#include "shared/log.h"

#define OUTPUT_MAX (1024u * 1024)         /* no honest report reaches it */
#define TIME_DEFAULT (120 * USEC_PER_SEC) /* a check looks at a tree, and makes nothing */

/* What a command said; its text is NULL where it said nothing. */
typedef struct Said {
        char *text;
        size_t size;
        bool cut; /* it said more */
} Said;

static void said_done(Said *s) {
        free(s->text);
}

static void take_line(const char *line, void *userdata) {
        Said *s = userdata;
        size_t n = strlen(line);
        char *grown = s->size + n > OUTPUT_MAX ? NULL : realloc(s->text, s->size + n + 2);

        if (!grown) {
                s->cut = true;
                return;
        }
        s->text = grown;
        memcpy(s->text + s->size, line, n);
        s->size += n;
        s->text[s->size++] = '\n';
        s->text[s->size] = '\0';
}

static const char *last_line(Said *s) {
        char *newline;

        if (s->size == 0)
                return "";
        s->text[--s->size] = '\0'; /* the newline behind it */
        newline = strrchr(s->text, '\n');
        return newline ? newline + 1 : s->text;
}

/* What the command sees besides the tree, and which overlay's it is; nothing where both are NULL.
 * What it writes, unless it may not, is thrown away. */
typedef struct Question {
        const Overlay *overlay;
        const char *script; /* on the host */
        bool may_write, cgroups;
} Question;

#define INSIDE "/run/imgbuild/check"

static int run_command(Context *ctx, const Plan *plan, char *const *layers, const Question *q,
                char *const argv[], Said *said, int *ret_status) {
        const Limits ours = { .time_usec = TIME_DEFAULT };
        Limits limits = limits_over(&plan->recipe->limits, &ours);
        const SandboxBind bind = { .source = q->script, .target = INSIDE };
        const SpawnOptions options = { .on_line = take_line, .line_data = said };
        const Sandbox sandbox = {
                .store = ctx->store,
                .layers = layers,
                .read_only = !q->may_write,
                .cgroups = q->cgroups,
                .env = ARGV("SYSTEMD_LOG_COLOR=0"),
                .epoch = plan->lock ? plan->lock->epoch : 0,
                .binds = &bind,
                .n_binds = q->script ? 1 : 0,
                .limits = &limits,
                .script = q->script,
        };

        if (q->overlay)
                limits = limits_over(&q->overlay->limits, &limits);
        return logged_command_status(ctx, "checks", &sandbox, &options, argv, true, ret_status);
}

/* SQLite, in which rpm keeps its database, wants to write beside it even for a reader. A tree
 * without rpm has no packages that anybody could know. */
int check_rpms(Context *ctx, const Plan *plan, char *const *layers, char **ret) {
        static char script[] = "! command -v rpm >/dev/null || "
                               "exec rpm --query --all --queryformat "
                               "'" RPM_LIST_FORMAT "\\n'";
        _cleanup_(said_done) Said said = {};
        int r, status;

        *ret = NULL;
        if (plan->recipe->family != FAMILY_EL)
                return 0;
        r = run_command(ctx, plan, layers, &(const Question) { .may_write = true },
                        ARGV("/bin/sh", "-c", script), &said, &status);
        if (r < 0)
                return r;
        if (status != 0 || said.cut)
                return log_error_return(-EBADMSG,
                                "The checks need the tree's packages, and its rpm lists them not (%s): 'imgbuild shell RECIPE -- rpm -qa' shows why",
                                said.cut ? "it said more than a megabyte" : last_line(&said));
        *ret = said.text ? TAKE_PTR(said.text) : strdup("");
        return *ret ? 0 : log_oom();
}

/* `errors`: the option that takes warnings of the units themselves for errors, as well. */
static int verify_units(Context *ctx, const Plan *plan, char *const *layers, char *const *units,
                const char *errors, Said *said, int *ret_status) {
        _cleanup_strv_free_ char **argv = NULL;
        int r;

        r = strv_extend_strv(&argv, ARGV("/usr/bin/systemd-analyze", "verify", "--man=no"));
        if (r < 0)
                return r;
        r = errors ? strv_extend(&argv, errors) : 0;
        if (r < 0)
                return r;
        r = strv_extend_strv(&argv, units);
        if (r < 0)
                return r;
        return run_command(ctx, plan, layers, &(const Question) { .cgroups = !errors }, argv, said,
                        ret_status);
}

/* Takes out what a systemd says of keys and values that are younger than it, and ignores. */
static int leave_unknown(Said *said) {
        _cleanup_strv_free_ char **lines = strv_split(strempty(said->text), "\n"), **kept = NULL;
        char *text;

        if (!lines)
                return -ENOMEM;
        STRV_FOREACH (line, lines)
                if (!strstr(*line, "ignoring") && !strstr(*line, "Unknown lvalue") &&
                                strv_extend(&kept, *line) < 0)
                        return -ENOMEM;
        text = kept ? strv_join(kept, "\n") : strdup("");
        if (!text)
                return -ENOMEM;
        free(said->text);
        said->text = text;
        said->size = strlen(text);
        return 0;
}

int check_services_verify(Context *ctx, const Plan *plan, char *const *layers, char *const *units,
                Findings *f) {
        static const char rule[] = "services.verify", errors[] = "--recursive-errors=one",
                          unknown[] = "unrecognized option '--recursive-errors";
        _cleanup_(said_done) Said said = {}, again = {};
        int r, status;

        if (!units)
                return 0;
        r = verify_units(ctx, plan, layers, units, errors, &said, &status);
        if (r < 0)
                return r;
        if (status == 0 || !strstr(strempty(said.text), unknown))
                return verify_findings(rule, strempty(said.text), status, f);

        /* systemd before 250: what it does not know in a unit is none of its errors, and without a
         * cgroup it looks at nothing. */
        r = verify_units(ctx, plan, layers, units, NULL, &again, &status);
        if (r < 0 || status == 0)
                return r;
        r = leave_unknown(&again);
        return r < 0 ? r : verify_findings(rule, strempty(again.text), status, f);
}

/* Any exit code but 0 is a finding, the script's last line says what. */
static int check_script(Context *ctx, const Plan *plan, char *const *layers, const Overlay *overlay,
                const char *script, Findings *f) {
        static const char rule[] = "overlay.check";
        const Question question = { .overlay = overlay, .script = script };
        _cleanup_(said_done) Said said = {};
        const char *last;
        int r, status;

        r = run_command(ctx, plan, layers, &question, ARGV(INSIDE), &said, &status);
        if (r < 0)
                return r;
        if (status == 0)
                return 0;

        last = last_line(&said);
        return finding_add(f, rule,
                        strf("overlay %s: %s", overlay->name,
                                        isempty(last) ? "its check failed without a word" : last),
                        strf("see %s (exit code %d)", script, status));
}

int check_overlay_scripts(Context *ctx, const Plan *plan, char *const *layers, Findings *f) {
        const Recipe *recipe = plan->recipe;

        for (size_t i = 0; i < recipe->n_overlays; i++) {
                const Overlay *overlay = recipe->overlays[i];

                STRV_FOREACH (script, overlay->checks) {
                        int r = check_script(ctx, plan, layers, overlay, *script, f);
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}
