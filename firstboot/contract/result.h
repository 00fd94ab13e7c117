/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The verdict of one attempt. A step leaves it as JSON in /run/firstboot/results/NAME.json:
 *   status     "done", "degraded", "skipped" or "failed"
 *   code       reason code of what is wrong
 *   message    one sentence with the names and figures that matter
 *   remedy     what to do, where the code's own text does not say it all
 *   transient  whether trying again may help
 *   figures    an object, free
 * A program that leaves none is judged by its exit code: 0 done, 75 (EX_TEMPFAIL) failed for
 * now, anything else failed. */

#include "shared/json-util.h"

#define EXIT_TRANSIENT 75

/* Reads and removes the result file of a step; NULL in *ret where there is none or it makes no
 * sense. */
int result_take(const char *step, json_object **ret);
bool result_exists(const char *step);
int result_remove(const char *step);
