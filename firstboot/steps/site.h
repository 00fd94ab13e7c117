/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the program of a site's own step finds in its environment. */

#include "contract/graph.h"
#include "shared/json-util.h"

/* Sets, for the program of the step name:
 *   FIRSTBOOT_STEP     its name
 *   FIRSTBOOT_RESULT   where it may leave its verdict: result
 *   FIRSTBOOT_CONFIG   the document of this boot; the node configuration is its key "config"
 *   FIRSTBOOT_SECTION  the section of the configuration that has the step's name, {} without one:
 *                      the file section, which is written and only root reads
 * 0 or -errno. */
int site_environment(
                const char *name, json_object *document, const char *result, const char *section);

/* Why the step's program could not be run, as `error` has it, and what would help: for its verdict.
 * NULL on out of memory; the caller frees it. */
char *site_why_not(const Step *s, int error);
