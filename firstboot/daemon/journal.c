/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One entry of the journal: code, text, and how loud it is. */

#include "daemon/journal.h"
#include "contract/codes.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <stdarg.h>

#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

static int priority_of(const Code *c) {
        /* What is neither an error nor mere news. */
        char *const *warnings = ARGV("event.step-retry", "event.step-slow-retry",
                        "event.step-degraded", "event.degraded", "scratch.fewer", "slurm.drained",
                        "kubernetes.cordoned", "watch.slow");

        if (strv_contains(warnings, c->code))
                return LOG_WARNING;
        if (code_is_reason(c) || streq(c->code, "event.failed"))
                return LOG_ERR;
        return streq(c->code, "event.ready") ? LOG_NOTICE : LOG_INFO;
}

typedef struct Entry {
        const char *code, *step, *text, *meaning, *remedy;
        unsigned attempt;
        uint64_t duration_usec;
} Entry;

static void send(const Entry *e) {
        const Code *c = code_find(e->code);
        const char *colon = e->step ? ": " : "";

        if (!c)
                c = code_find("step.own-reason");

        /* Without the journal (in a container, say) standard error is what there is. */
        if (access("/run/systemd/journal/socket", W_OK) < 0) {
                log_full(priority_of(c), 0, "%s%s%s [%s]", strempty(e->step), colon, e->text,
                                e->code);
                return;
        }
        (void) sd_journal_send("MESSAGE=%s%s%s", strempty(e->step), colon, e->text, "MESSAGE_ID=%s",
                        c->id, "PRIORITY=%i", priority_of(c), "CODE=%s", e->code, "STEP=%s",
                        e->step ? e->step : "node", "TEXT=%s", e->text, "ATTEMPT=%u", e->attempt,
                        "DURATION_USEC=%llu", (unsigned long long) e->duration_usec, "MEANING=%s",
                        isempty(e->meaning) ? c->meaning : e->meaning, "REMEDY=%s",
                        isempty(e->remedy) ? c->remedy : e->remedy, NULL);
}

void journal_event(const char *code, const char *step, unsigned attempt, uint64_t duration_usec,
                const char *format, ...) {
        _cleanup_free_ char *text = NULL;
        va_list ap;

        va_start(ap, format);
        text = vstrf(format, ap);
        va_end(ap);
        if (!text)
                return;
        send(&(Entry) { .code = code,
                        .step = step,
                        .text = text,
                        .attempt = attempt,
                        .duration_usec = duration_usec });
}

void journal_reason(const char *code, const char *step, unsigned attempt, uint64_t duration_usec,
                json_object *verdict) {
        send(&(Entry) { .code = code,
                        .step = step,
                        .text = strempty(json_get_string(verdict, "message")),
                        .meaning = json_get_string(verdict, "meaning"),
                        .remedy = json_get_string(verdict, "remedy"),
                        .attempt = attempt,
                        .duration_usec = duration_usec });
}
