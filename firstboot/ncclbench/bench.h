/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The measuring half of the program, which runs in a supervised child: libraries, GPUs,
 * rendezvous, communicators, then one row after the other. It says what it finds as events
 * (event.h). */

#include "ncclbench/report.h"

/* Runs it, with the table on `out` (see report_new()). Returns the exit status, 0 or 1, with
 * *ret_report (may be NULL) what was found; -errno where no child could be started. The caller has
 * called interrupt_install(). */
int bench_supervised(const Options *o, const Launch *launch, FILE *out, Report **ret_report);
