/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan/plan.h"

extern const char *const plan_early_prefixes[]; /* NULL-terminated, relative to the image's root */

int plan_digest_stages(Plan *p); /* fills digest and locked of every stage; -ESTALE as plan_new() */
