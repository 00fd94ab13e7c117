/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Between JSON lists of strings and arrays of strings. */

#include "shared/json-util.h"

/* NULL on out of memory; the caller puts it. */
json_object *json_from_strv(char *const *l);

/* What is not a list has no strings; an item that is no string is taken in JSON's notation. 0 or
 * -ENOMEM; the caller frees *ret, which is NULL for none. */
int json_to_strv(json_object *list, char ***ret);

/* Appends the strings of list o[key] to *l, as json_to_strv() takes them. 0 or -ENOMEM. */
int json_get_strings(json_object *o, const char *key, char ***l);
