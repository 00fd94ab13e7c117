/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstbootd's words, out of the guest's journal. Its messages have CODE=: "event.…" for what goes
 * on, else a reason; the names are those of firstboot/contract/codes.c. */

#include "boot/node-report.h"
#include "shared/strv.h"

static const char *verdict_of(const char *code) {
        static const char *const events[][2] = {
                { "event.ready", "ready" },
                { "event.degraded", "degraded" },
                { "event.failed", "failed" },
        };

        for (size_t i = 0; i < ELEMENTSOF(events); i++)
                if (streq(code, events[i][0]))
                        return events[i][1];
        return NULL;
}

static int take_verdict(NodeReport *n, const char *verdict, const char *message) {
        _cleanup_free_ char *v = strdup(verdict), *m = strdup(strempty(message));

        if (!v || !m)
                return -ENOMEM;
        free(n->verdict);
        free(n->message);
        n->verdict = TAKE_PTR(v);
        n->message = TAKE_PTR(m);
        return 1;
}

/* "scratch: No disk is left" says the step twice. */
static const char *without_step(const char *message, const char *step) {
        const char *rest = startswith(message, step);

        return rest && startswith(rest, ": ") ? rest + 2 : message;
}

static int take_reason(NodeReport *n, const JournalEntry *e) {
        _cleanup_json_ json_object *reason = json_object_new_object();

        if (!n->steps)
                n->steps = json_object_new_object();
        if (!n->steps || !reason)
                return -ENOMEM;
        if (json_set_fields(reason, JSON_STRING("code", e->code),
                            JSON_STRING("message", without_step(strempty(e->message), e->step))) <
                        0)
                return -ENOMEM;
        return json_set(n->steps, e->step, TAKE_PTR(reason));
}

int node_report_take(NodeReport *n, const JournalEntry *e) {
        const char *verdict;

        if (!e->code || !streq_ptr(e->systemd_unit, "firstbootd.service"))
                return 0;
        verdict = verdict_of(e->code);
        if (verdict)
                return take_verdict(n, verdict, e->message);
        if (!e->step || streq(e->step, "node"))
                return 0;
        if (!startswith(e->code, "event."))
                return take_reason(n, e);
        if (n->steps && strv_contains(ARGV("event.step-done", "event.step-skipped"), e->code))
                json_object_object_del(n->steps, e->step);
        return 0;
}

json_object *node_report_to_json(const NodeReport *n) {
        _cleanup_json_ json_object *o = NULL;

        if (!n->verdict && !n->steps)
                return NULL;
        o = json_object_new_object();
        if (!o || json_set_fields(o, JSON_STRING("verdict", n->verdict),
                                  JSON_STRING("message", n->message)) < 0)
                return NULL;
        if (n->steps && json_set(o, "steps", json_object_get(n->steps)) < 0)
                return NULL;
        return TAKE_PTR(o);
}

void node_report_done(NodeReport *n) {
        free(n->verdict);
        free(n->message);
        json_object_put(n->steps);
        *n = (NodeReport) {};
}
