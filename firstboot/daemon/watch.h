/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The gate stands for life: from its verdict on, the node is watched. What is wrong for longer than
 * a calm time ends "ready"; what has been well for long enough, and passes a full check, brings it
 * back.
 *
 *   kernel log ───┐
 *   units ────────┤                   firm
 *   counters ─────┼── conditions ─────────────── bad, changed()
 *   quick check ──┘                                 │
 *                        well for long: full check ─┘ */

#include "shared/json-util.h"

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

typedef struct Watch Watch;

typedef struct WatchOps {
        /* What watch_code() says has changed. */
        void (*changed)(void *userdata);
} WatchOps;

/* ops must outlive the watch. 0 or -ENOMEM. */
int watch_new(sd_event *event, const WatchOps *ops, void *userdata, Watch **ret);
Watch *watch_free(Watch *w);

/* Watches by this configuration (again); events of the kernel log count from from_usec on. code:
 * what was wrong before firstbootd was restarted, NULL: nothing. Does nothing where it watches
 * already. */
int watch_begin(Watch *w, json_object *config, uint64_t from_usec, const char *code,
                const char *text);
void watch_end(Watch *w);

/* What is wrong, a reason code, or NULL; and its sentence. */
const char *watch_code(const Watch *w);
const char *watch_text(const Watch *w);

/* The bus has come or (NULL) gone. */
void watch_set_bus(Watch *w, sd_bus *bus);

/* systemd's JobRemoved. */
void watch_job_removed(Watch *w, const char *unit);
