/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Prints for people what diff_sides() and file_list_compare() found. */

#include "shared/json-util.h"

/* On standard output; `all`: every file, not only the first of each kind. */
void diff_print(json_object *d, bool all);
