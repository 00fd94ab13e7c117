/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The distribution's firewall service, and whether the kernel then does what it stands for. */

#include "steps/common/step.h"
#include <systemd/sd-bus.h>

/* What the kernel does with packets that come in. */
typedef enum Filtering {
        FILTERING_UNKNOWN, /* nobody could be asked */
        FILTERING_NONE,    /* everything is let in */
        FILTERING_SOME,    /* some packets are dropped */
        FILTERING_ALL,     /* what no rule lets in is dropped */
} Filtering;

/* Reads what `nft -j list ruleset` says. */
Filtering filtering_of(json_object *ruleset);

/* On: the first service that is installed of firewalld, ufw and nftables is enabled and started.
 * Off: all of them are disabled and stopped. Then the kernel's rules are looked at. 0 or the step's
 * failure. */
int switch_firewall(StepContext *c, sd_bus *bus, bool on);
