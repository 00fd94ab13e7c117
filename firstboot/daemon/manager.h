/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What firstbootd asks of systemd's manager about a unit. No call waits: answers come to the
 * handler, none comes where that is NULL. */

#include "shared/macro.h"

#include <systemd/sd-bus.h>

/* Calls a method of the manager that takes a unit and a mode: "StartUnit", "StopUnit". *ret_slot
 * (may be NULL) is the call's; 0 or -errno where it cannot be sent. */
int manager_call(sd_bus *bus, sd_bus_slot **ret_slot, const char *method, const char *unit,
                sd_bus_message_handler_t handler, void *userdata);
int manager_kill(sd_bus *bus, const char *unit);
int manager_set_cpu_weight(sd_bus *bus, const char *unit, uint64_t weight);

/* How a unit stands. */
typedef struct UnitFacts {
        char active_state[32], result[32]; /* as systemd has them: "activating", "exit-code" */
        int32_t exit_code;   /* as waitid() has it: CLD_EXITED, CLD_KILLED …; 0: not known */
        int32_t exit_status; /* exit code or signal */
        uint64_t exit_usec;  /* CLOCK_MONOTONIC; 0: it has not ended */
} UnitFacts;

/* Asks for all properties of the unit object; manager_read_facts() reads the answer. */
int manager_ask(sd_bus *bus, sd_bus_slot **ret_slot, const char *object,
                sd_bus_message_handler_t handler, void *userdata);
int manager_read_facts(sd_bus_message *m, UnitFacts *ret);

/* Asks for the ActiveState of the unit object alone: a variant of a string. */
int manager_ask_state(sd_bus *bus, sd_bus_slot **ret_slot, const char *object,
                sd_bus_message_handler_t handler, void *userdata);

/* Whether the error tells of the bus, or of systemd's being away, and nothing of the unit. */
bool bus_is_in_trouble(const sd_bus_error *error);
