/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Reason codes that a step brings itself, in its step file:
 *   "codes": { "NAME.what": { "meaning": "why the node is refused", "remedy": "what to do next" } }
 * NAME is the step's. firstbootctl explain, the journal and the status show them as they show the
 * shipped ones (codes.h). */

#include "contract/step-file.h"

/* Adds each fault of the table (NULL: there is none) to *errors, beginning with the step's file. 0
 * or -ENOMEM. */
int step_codes_check(const Step *s, json_object *table, char ***errors);

/* Gives a verdict with a code of the step's table "meaning", and "remedy" where it brings none. */
void step_codes_explain(const Step *s, json_object *verdict);
