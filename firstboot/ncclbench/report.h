/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Collects the child's events, has the table printed as they come, and ends with the verdict, also
 * where the child never got there. */

#include "ncclbench/event.h"
#include "ncclbench/launch.h"
#include "ncclbench/supervise.h"

typedef struct Report Report;

/* Both are borrowed. The table goes to `out` (NULL: no table, as in processes other than 0; then a
 * failure is logged instead). */
Report *report_new(const Options *options, const Launch *launch, FILE *out);
Report *report_free(Report *r);
DEFINE_CLEANUP(Report *, report_free);
#define _cleanup_report_ _cleanup_(report_freep)

/* One event. *deadline (deadline.h) is moved where a new phase begins. */
void report_line(Report *r, const char *line, uint64_t *deadline);

/* The child has ended so. Prints the verdict and, where asked for, writes the JSON. Returns the
 * exit status, 0 or 1. */
int report_finish(Report *r, ChildEnd end, int status);

/* The verdict after report_finish(). */
const Failure *report_failure(const Report *r);
json_object *report_document(const Report *r); /* borrowed */

/* Writes a document where --json and --output-file say, and logs what goes wrong. */
int report_write(const Options *o, json_object *document);
