/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Gathers the configuration through firstboot-helper, a process of its own: it may wait for a
 * metadata service, and it needs libcurl, neither of which the daemon should. */

#include "shared/json-util.h"

#include <systemd/sd-event.h>

typedef struct Configure Configure;

/* Receives each document that was gathered (takes it), one with an error in it where the helper
 * gave none. Negative errno ends the daemon. */
typedef int (*configure_done_t)(json_object *document, void *userdata);

/* 0 or -ENOMEM. */
int configure_new(sd_event *event, configure_done_t done, void *userdata, Configure **ret);
Configure *configure_free(Configure *c);

/* Starts firstboot-helper, unless it runs. A document that asks for it is gathered again, after a
 * pause. 0 or -errno. */
int configure_start(Configure *c);

/* The same, and tries are counted afresh. */
int configure_start_over(Configure *c);

/* When a document that asks for it is gathered again, CLOCK_MONOTONIC in µs; 0: it is not. */
uint64_t configure_retry_usec(const Configure *c);

bool configure_is_running(const Configure *c);
unsigned configure_tries(const Configure *c); /* that have ended */
