/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A difference as diff_sides() and file_list_compare() have it, for people. */

#include "shared/json-util.h"

/* On standard output; `all`: every file, not only the first of each kind. */
void diff_print(json_object *d, bool all);
