/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The report for people: nccl-tests' lines and columns, so that eyes and scripts carry over. Each
 * function prints one event (event.h). */

#include "ncclbench/event.h"
#include "ncclbench/options.h"

void table_about(FILE *out, const Options *options, json_object *about);
void table_rank(FILE *out, const Options *options, json_object *rank);
void table_columns(FILE *out, const Options *options, const char *label);
/* A line of load or runtime, which have no columns. */
void table_item(FILE *out, const char *event, json_object *item);

void table_row(FILE *out, const Options *options, json_object *row);

/* The last lines. `average` is NAN where there was no row. */
void table_verdict(
                FILE *out, const Options *options, int64_t wrong, double average, const Failure *f);

/* The verdict alone. */
void table_end(FILE *out, const Failure *f);
