/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One entry of the journal: code, text, and how loud it is. */

#include "daemon/journal.h"
#include "daemon/journal-socket.h"
#include "contract/codes.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <stdarg.h>

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
        char priority[16], attempt[16], duration[24];
        _cleanup_free_ char *message = NULL;

        if (!c)
                c = code_find("step.own-reason");

        snprintf(priority, sizeof(priority), "%i", priority_of(c));
        snprintf(attempt, sizeof(attempt), "%u", e->attempt);
        snprintf(duration, sizeof(duration), "%llu", (unsigned long long) e->duration_usec);
        message = strf("%s%s%s", strempty(e->step), colon, e->text);
        const JournalField fields[] = {
                { "MESSAGE", strempty(message) },
                { "MESSAGE_ID", c->id },
                { "PRIORITY", priority },
                { "SYSLOG_IDENTIFIER", program_invocation_short_name },
                { "CODE", e->code },
                { "STEP", e->step ? e->step : "node" },
                { "TEXT", e->text },
                { "ATTEMPT", attempt },
                { "DURATION_USEC", duration },
                { "MEANING", isempty(e->meaning) ? c->meaning : e->meaning },
                { "REMEDY", isempty(e->remedy) ? c->remedy : e->remedy },
        };
        if (message && journal_socket_send(fields, ELEMENTSOF(fields)) >= 0)
                return;
        /* Without the journal (in a container, say), and where it takes nothing, standard error is
         * what there is. */
        log_full(priority_of(c), 0, "%s%s%s [%s]", strempty(e->step), colon, e->text, e->code);
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
