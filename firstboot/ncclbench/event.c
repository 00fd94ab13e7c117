/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes the events: one JSON object a line. */

#include "ncclbench/event.h"
#include "shared/file-util.h"
#include "shared/strv.h"

void event_send(const EventWriter *w, const char *event, json_object *taken) {
        _cleanup_json_ json_object *o = taken;
        _cleanup_free_ char *line = NULL;

        if (!o || json_set_string(o, "event", event) < 0)
                return;
        line = strf("%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
        if (line)
                (void) write_all(w->fd, line, strlen(line));
}

void event_phase(const EventWriter *w, const char *text, Reason if_stuck, double seconds) {
        json_object *o = json_object_new_object();

        if (!o)
                return;
        json_set_fields(o, JSON_STRING("text", text),
                        JSON_STRING("if_stuck", reason_table[if_stuck].code),
                        JSON_DOUBLE("seconds", seconds));
        event_send(w, "phase", o);
}

void event_failure(const EventWriter *w, const Failure *f) {
        json_object *o = json_object_new_object();

        if (!o)
                return;
        json_set_fields(o, JSON_STRING("reason", reason_table[f->reason].code),
                        JSON_STRING("text", strempty(f->text)));
        event_send(w, "failure", o);
}
