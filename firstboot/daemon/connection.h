/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The system bus: connected, named, subscribed to systemd; and all of that again when the bus was
 * restarted, without losing sight of steps that run meanwhile. */

#include <stdbool.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

typedef struct Connection Connection;

/* Whom the connection tells; all are given. */
typedef struct ConnectionOps {
        /* There is a bus, not yet ready: objects are put on it now. 0 or -errno. */
        int (*opened)(sd_bus *bus, void *userdata);

        /* Our name is ours and systemd's signals come; or systemd has come back, and what it did
         * meanwhile was not heard of. */
        void (*ready)(void *userdata);

        /* systemd's JobRemoved. */
        void (*job_removed)(const char *unit, const char *job, const char *result, void *userdata);

        /* The bus is about to be closed; calls on it will not be answered. */
        void (*closed)(void *userdata);
} ConnectionOps;

/* ops must outlive the connection. 0 or -ENOMEM. */
int connection_new(sd_event *event, const ConnectionOps *ops, void *userdata, Connection **ret);
Connection *connection_free(Connection *c);

/* Connects, now or, where the bus is not there yet, later. */
int connection_open(Connection *c);

/* Whether steps may be started: between `ready` and the loss of the bus. */
bool connection_is_ready(const Connection *c);

/* Whether READY=1 was sent: our name was ours once. */
bool connection_is_announced(const Connection *c);
