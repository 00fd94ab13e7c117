/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Gathers the layers of the node configuration, weakest first:
 *   1. defaults (config-schema.c)
 *   2. /etc/firstboot/node.json                  the image
 *   3. instance metadata, key "firstboot"        the cloud
 *   4. cloud-config, key "firstboot"             cloud-init's user data
 *   5. /etc/firstboot/conf.d/ *.json, by name    the admin, or cloud-init's write_files
 *   6. credentials "firstboot.PATH"              secrets, through systemd */

#include "contract/config.h"

/* Fills c, errors included; free_sections as config_finish() has it. Returns -ENOMEM or 0. */
int config_load(Config *c, char *const *free_sections);

/* The same from files alone, for checking an image: no metadata, no cloud-init, no credentials. */
int config_load_files(Config *c, char *const *free_sections);
