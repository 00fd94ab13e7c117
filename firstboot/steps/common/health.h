/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* `firstbootctl check` before a node gets work: before a hold of ours (a drain, a cordon) is
 * lifted, and whenever Slurm asks (Prolog, Epilog, HealthCheckProgram: slurm/hook-main.c). */

#include "steps/common/step.h"

typedef enum Health {
        HEALTH_GOOD,
        HEALTH_BAD,
        HEALTH_UNKNOWN, /* could not look; that is no pass */
} Health;

/* The reason codes of who asks. */
typedef struct HealthCodes {
        const char *failed;      /* a fault, where the check names no code of its own */
        const char *unavailable; /* no answer */
} HealthCodes;

/* Looks. Unless good, *ret_code and *ret_text say why; the caller frees them. Negative errno on out
 * of memory alone. */
int health_check(const HealthCodes *own, char **ret_code, char **ret_text);

/* 0 where the node is good, else the step's failure; what: "the drain of gpu0". */
int health_before_lift(StepContext *c, const HealthCodes *own, const char *what);
