/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "shared/json-util.h"

/* A difference as diff_sides() and file_list_compare() have it, on standard output; `all`: every file,
 * not only the first of each kind. */
void diff_print(json_object *d, bool all);
