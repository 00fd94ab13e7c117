/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The verdict of a step as it grows, and the programs that steps run. */

#include "steps/common/step.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <stdarg.h>

/* In the order in which one outweighs the other. */
typedef enum Rank {
        RANK_NONE = -1, /* no verdict yet */
        RANK_SKIPPED,
        RANK_DONE,
        RANK_DEGRADED,
        RANK_FAILED,
} Rank;

static Rank rank_of(const char *status) {
        static const char *const order[] = {
                [RANK_SKIPPED] = "skipped",
                [RANK_DONE] = "done",
                [RANK_DEGRADED] = "degraded",
                [RANK_FAILED] = "failed",
        };

        for (size_t i = 0; i < ELEMENTSOF(order); i++)
                if (streq_ptr(order[i], status))
                        return (Rank) i;
        return RANK_NONE;
}

static void record(StepContext *c, const char *status, const char *code, bool transient,
                const char *format, va_list ap) {
        _cleanup_free_ char *text = vstrf(format, ap);
        Rank before = rank_of(json_get_string(c->result, "status")), now = rank_of(status);

        if (!text)
                return;
        log_full(now == RANK_FAILED            ? LOG_ERR
                        : now == RANK_DEGRADED ? LOG_WARNING
                                               : LOG_INFO,
                        0, "%s", text);

        /* Of two failures the first is the cause. */
        if (before > now || (before == RANK_FAILED && now == RANK_FAILED))
                return;
        json_object_object_del(c->result, "code");
        (void) json_set_fields(c->result, JSON_STRING("status", status),
                        JSON_STRING("message", text), JSON_STRING("code", code),
                        JSON_BOOL("transient", transient));
}

#define RECORD(status, code, transient)                         \
        do {                                                    \
                va_list ap;                                     \
                va_start(ap, format);                           \
                record(c, status, code, transient, format, ap); \
                va_end(ap);                                     \
        } while (0)

int step_fail(StepContext *c, const char *code, const char *format, ...) {
        RECORD("failed", code, false);
        return -EPROTO;
}

int step_fail_later(StepContext *c, const char *code, const char *format, ...) {
        RECORD("failed", code, true);
        return -EAGAIN;
}

int step_degrade(StepContext *c, const char *code, const char *format, ...) {
        RECORD("degraded", code, false);
        return 0;
}

int step_degrade_for_now(StepContext *c, const char *code, const char *format, ...) {
        RECORD("degraded", code, true);
        return 0;
}

int step_done(StepContext *c, const char *format, ...) {
        RECORD("done", NULL, false);
        return 0;
}

int step_skip(StepContext *c, const char *format, ...) {
        RECORD("skipped", NULL, false);
        return 0;
}

const char *step_source(const StepContext *c, const char *key) {
        _cleanup_free_ char *path = strf("%s.%s", c->name, key);
        const char *source = path ? json_get_string(c->sources, path) : NULL;

        return source ? source : "the configuration";
}

void step_remedy(StepContext *c, const char *format, ...) {
        _cleanup_free_ char *text = NULL;
        va_list ap;

        va_start(ap, format);
        text = vstrf(format, ap);
        va_end(ap);
        (void) json_set_string(c->result, "remedy", text); /* a NULL one is left out */
}

void step_figure(StepContext *c, const char *name, json_object *value) {
        json_object *figures = json_get(c->result, "figures");

        if (!figures && json_set(c->result, "figures", figures = json_object_new_object()) < 0) {
                json_object_put(value);
                return;
        }
        (void) json_set(figures, name, value);
}

bool step_has_failed(const StepContext *c) {
        return streq_ptr(json_get_string(c->result, "status"), "failed");
}

static void on_line(const char *line, void *userdata) {
        char **last = userdata;

        log_info("  %s", line);
        if (last && line[strspn(line, " \t")]) {
                free(*last);
                *last = strdup(line);
        }
}

int step_command(char *const argv[], uint64_t timeout_usec, char **ret_last) {
        _cleanup_free_ char *text = strv_join(argv, " "), *last = NULL;
        SpawnOptions o = { .on_line = on_line, .line_data = &last, .timeout_usec = timeout_usec };
        int r, status = 0;

        log_info("Running %s", strempty(text));
        r = spawn_run(&o, argv, &status);
        if (ret_last)
                *ret_last = last ? TAKE_PTR(last) : strdup(r < 0 ? strerror(-r) : "");
        return r < 0 ? r : status;
}

char *step_command_failure(const char *program, int r, const char *last) {
        if (r == -ENOENT)
                return strf("%s is not installed", program);
        if (r == -ETIMEDOUT)
                return strf("%s did not end in time and was killed", program);
        if (r < 0)
                return strf("%s cannot be run: %s", program, strerror(-r));
        if (isempty(last))
                return strf("%s ended with exit code %d and said nothing", program, r);
        return strf("%s: %s", program, last);
}
