/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* "only_if" of a step file: what must be there for the step to have anything to do. Judged here,
 * in the daemon, so that a step with nothing to do costs no unit and no process. */

#include "contract/step-file.h"

/* Whether word is a condition: "configured", "enabled", or "pci:VENDOR" with four hexadecimal
 * digits. */
bool condition_is_valid(const char *word);

/* 1: a condition of the step's holds, it has none, or it could not be judged (then the step itself
 * is to find out); 0: none holds, *ret_why says so (caller frees); -ENOMEM. */
int condition_holds(const Step *s, json_object *config, char **ret_why);
