/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Messages with a MESSAGE_ID, for which the catalog has an explanation. */

#include "shared/macro.h"

#include "shared/json-util.h"

/* Sends one entry with MESSAGE_ID of the code, CODE=, and where given STEP=, ATTEMPT= and
 * DURATION_USEC=. Codes of a site's own steps go out as step.own-reason with their own CODE=. */
void journal_event(const char *code, const char *step, unsigned attempt, uint64_t duration_usec,
                const char *format, ...) _printf_(5, 6);

/* The reason that a verdict gives, in its own words; a site's code with MEANING= and REMEDY= as the
 * verdict has them (contract/step-codes.h). */
void journal_reason(const char *code, const char *step, unsigned attempt, uint64_t duration_usec,
                json_object *verdict);
