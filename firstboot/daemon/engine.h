/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A boot, from configuration to verdict. */

#include "shared/macro.h"

#include <systemd/sd-event.h>

typedef struct Engine Engine;

/* 0 or -errno. */
int engine_new(sd_event *event, Engine **ret);
Engine *engine_free(Engine *e);
DEFINE_CLEANUP(Engine *, engine_free);

/* Begins: the bus and the configuration, side by side. All else happens in the event loop. */
int engine_start(Engine *e);
