/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the measuring child tells its supervisor: one JSON object a line. report.c reads them. */

#include "shared/json-util.h"
#include "ncclbench/reason.h"

typedef struct EventWriter {
        int fd;
} EventWriter;

/* Sends the object, which it takes. A supervisor that is gone takes us with it, so errors are not
 * looked at. */
void event_send(const EventWriter *w, const char *event, json_object *taken);

/* "From now on I do this; if I am not heard of again within `seconds`, the reason is this." */
void event_phase(const EventWriter *w, const char *text, Reason if_stuck, double seconds);

void event_failure(const EventWriter *w, const Failure *f);
