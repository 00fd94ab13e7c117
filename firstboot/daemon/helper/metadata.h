/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The clouds' instance metadata services: who this machine is, and configuration put there for
 * it. */

#include "contract/config.h"

/* Which provider the firmware names: "oci", "aws", "gcp" or NULL. */
const char *metadata_detect(void);

/* Asks the provider and fills c->instance; configuration found there (OCI: metadata key
 * "firstboot"; AWS: instance tag "firstboot"; GCP: attribute "firstboot") is handed out as
 * *ret_layer (NULL where there is none; caller puts it). Retries within timeout_usec, with pauses
 * by seed. Returns 0;
 * -EBADMSG where what came makes no sense; else why there was no answer, with *ret_detail. */
int metadata_fetch(Config *c, const char *provider, uint64_t timeout_usec, uint64_t seed,
                json_object **ret_layer, char **ret_detail);
