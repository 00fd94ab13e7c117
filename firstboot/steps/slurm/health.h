/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* `firstbootctl check` before the node gets jobs: before a drain is lifted, and whenever Slurm asks
 * (Prolog, Epilog, HealthCheckProgram: hook-main.c). */

#include "steps/slurm/state.h"

typedef enum Health {
        HEALTH_GOOD,
        HEALTH_BAD,
        HEALTH_UNKNOWN, /* could not look; that is no pass */
} Health;

/* Looks. Unless good, *ret_code and *ret_text say why; the caller frees them. Negative errno on out
 * of memory alone. */
int health_check(char **ret_code, char **ret_text);

/* 0 where the node is good, else the step's failure. */
int health_before_undrain(Slurm *s);
