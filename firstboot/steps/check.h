/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Steps as probes: what FIRSTBOOT_CHECK asks for, and a site's own program asked. */

#include "contract/step-file.h"
#include "steps/common/step.h"

/* 0 with what FIRSTBOOT_CHECK asks for (STEP_CHECK_NO where it is not set), -EINVAL for another
 * word: it must not come to a run of the step. */
int step_check_mode(StepCheck *ret);

/* Runs a site step's program with FIRSTBOOT_CHECK set (and the environment of site.h) and takes its
 * verdict: what it leaves in FIRSTBOOT_RESULT, else its exit code. The caller puts *ret. 0 or
 * negative errno. */
int site_check(const Step *s, json_object *document, json_object **ret);
