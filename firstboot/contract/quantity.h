/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Sizes and times as the configuration has them: plain numbers, or text with a unit. */

#include "shared/json-util.h"

/* Bytes: 65536, "65536", "64K"; units K, M, G, T. 0; -EINVAL where it is no size; -ERANGE. */
int parse_size(json_object *value, uint64_t *ret_bytes);

/* Seconds: 30, "30"; or "500ms", "90s", "5min", "2h". 0; -EINVAL where it is no time; -ERANGE. */
int parse_duration(json_object *value, uint64_t *ret_usec);
int parse_duration_text(const char *text, uint64_t *ret_usec);

/* The same with a default, for values that passed validation. */
uint64_t config_size(json_object *section, const char *key, uint64_t fallback);
uint64_t config_duration(json_object *section, const char *key, uint64_t fallback_usec);
