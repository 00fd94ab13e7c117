/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* firstboot-check@quick.service and @full.service: `firstbootctl check` outside of firstbootd's own
 * sandbox, which does not let CUDA run and hides /home. */

#include "shared/json-util.h"

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

/* report: what `check --json` printed, or NULL where nobody could look; borrowed. */
typedef void (*watch_check_done_t)(const char *mode, json_object *report, void *userdata);

typedef struct WatchCheck WatchCheck;

int watch_check_new(sd_event *event, watch_check_done_t done, void *userdata, WatchCheck **ret);
WatchCheck *watch_check_free(WatchCheck *c);

bool watch_check_is_running(const WatchCheck *c);

/* mode: "quick" or "full". 0 or negative errno, where it cannot be asked for. */
int watch_check_start(WatchCheck *c, sd_bus *bus, const char *mode);

/* systemd's JobRemoved. */
void watch_check_removed(WatchCheck *c, const char *unit);

/* The bus is gone, and what runs goes on unheard. */
void watch_check_forget(WatchCheck *c);
