/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Who may call what: root may, anybody else where polkit lets them. */

#include "shared/macro.h"

#include <systemd/sd-bus.h>

/* Does what was asked for, and answers. Returns what a method's handler returns. */
typedef int (*authorized_t)(sd_bus_message *m, void *userdata);

typedef struct Authorizer {
        unsigned pending; /* questions to polkit without an answer yet */
} Authorizer;

/* Calls then(m, userdata), now or once polkit has answered, or refuses. What has been read of the
 * message is to be read again. a and userdata must outlive the bus. */
int authorize(Authorizer *a, sd_bus_message *m, const char *action, authorized_t then,
                void *userdata);
