/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The services that the node needs, as systemd tells of them: those of the table that the
 * configuration asks for and that were active when the watch began. */

#include "daemon/conditions.h"
#include "daemon/manager.h"
#include "shared/json-util.h"

typedef struct WatchUnits WatchUnits;

WatchUnits *watch_units_free(WatchUnits *w);

/* 0 or -ENOMEM. */
int watch_units_new(json_object *config, WatchUnits **ret);

/* The bus is (again) there: listens, and asks how they are. With NULL it is away, and what is known
 * stays. */
void watch_units_set_bus(WatchUnits *w, sd_bus *bus);

/* Sets the conditions. */
void watch_units_look(WatchUnits *w, Conditions *l, uint64_t now);
