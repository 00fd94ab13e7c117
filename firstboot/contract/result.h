/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The verdict of one attempt, a file in /run/firstboot/results, which is root's alone. Each attempt
 * has an id of its own, in NAME.attempt, and leaves its verdict as NAME.ID.json: what another
 * attempt, another boot or somebody else leaves bears another name, and does not count. JSON:
 *   status     "done", "degraded", "skipped" or "failed"
 *   code       reason code of what is wrong
 *   message    one sentence with the names and figures that matter
 *   meaning    why the node is refused, where the code is none of firstboot's
 *   remedy     what to do, where the code's own text does not say it all
 *   transient  whether trying again may help
 *   figures    an object, free
 * A program that leaves none is judged by its exit code: 0 done, 75 (EX_TEMPFAIL) failed for
 * now, anything else failed. */

#include "shared/json-util.h"

#define EXIT_TRANSIENT 75

/* Clears what lies there under the step's name and gives its new attempt an id. *ret_left_over: the
 * names of verdicts that were there, NULL for none; the caller frees them. 0 or -errno. */
int result_begin(const char *step, char ***ret_left_over);

/* Where the attempt leaves its verdict; without an id (the step was started by hand) NAME.json.
 * NULL on out of memory; the caller frees it. */
char *result_path(const char *step);

/* Whether the attempt has left a verdict, or what stands in its place. */
bool result_exists(const char *step);

/* Takes the attempt's verdict, and ends the attempt: all that has the step's name is removed. NULL,
 * with the verdict in *ret (NULL: it left none); or the code of what is wrong with it, with
 * *ret_message, and in *ret what can be told of it all the same, or NULL. The caller frees both. */
const char *result_take(const char *step, json_object **ret, char **ret_message);

/* A verdict that is none of an attempt's, in a folder that is ours alone: as result_take(), and
 * nothing is removed. */
const char *result_read(
                const char *folder, const char *name, json_object **ret, char **ret_message);

/* The attempt is over without its verdict being asked for. */
void result_discard(const char *step);

/* Whether there is a verdict of the step that no attempt under way can have left. */
bool result_is_left_over(const char *step);

/* A verdict in a few words: "failed" [CODE]: MESSAGE. NULL on out of memory; the caller frees
 * it. */
char *result_words(json_object *verdict);

/* "done", "degraded", "skipped" or "failed". */
bool result_status_is_known(const char *status);

/* At most 63 letters, digits, '.', '-' and '_'. */
bool result_code_is_valid(const char *code);

/* A verdict as it came: NULL with *ret where it can be counted on; else as result_take(). */
const char *result_parse(const char *text, size_t size, json_object **ret, char **ret_message);
