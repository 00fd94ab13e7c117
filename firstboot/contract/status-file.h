/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The status document, as firstbootd leaves it for steps, the helper and firstbootctl: in /run, or,
 * while there is no room, on the disk beside the state. What keeps work away from a node goes by
 * it, so that a /run which somebody fills for ever must not hide it. */

#include "shared/json-util.h"

#include <systemd/sd-id128.h>

/* The kernel's id of this boot. Negative errno. */
int boot_id_read(char ret[SD_ID128_STRING_MAX]);

/* The latest one. *ret_path (may be NULL) is where it lies, for the caller to free. -ENOENT: there
 * is none; other negative errno where it cannot be read. *error says why. */
int status_file_load(JsonError *error, json_object **ret, char **ret_path);

/* Leaves the text. 0: in /run; 1: only on the disk, and /run's is gone. Negative errno: nowhere,
 * and nobody reads an older one. */
int status_file_save(const char *text);
