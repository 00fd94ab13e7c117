/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What this host has and lacks, for which verb. */

#include "shared/strv.h"

typedef enum DoctorState {
        DOCTOR_OK,
        DOCTOR_SLOWER,  /* works, but not as well as it could */
        DOCTOR_MISSING, /* a verb cannot work */
} DoctorState;

typedef struct DoctorItem {
        char *what;
        const char *verbs; /* that need it, separated by spaces */
        DoctorState state;
        char *found;  /* a version, a figure, or what is wrong; may be NULL */
        char *remedy; /* NULL where it is fine */
} DoctorItem;

typedef struct DoctorReport {
        DoctorItem *items;
        size_t n;
} DoctorReport;

void doctor_report_done(DoctorReport *r);

/* Appends an item; found and remedy may be NULL. -ENOMEM. */
int doctor_add(DoctorReport *r, const char *what, const char *verbs, DoctorState state,
                const char *found, const char *remedy);

/* Whether one of `verbs` (none: any verb) is in the list `needed_by`, separated by spaces. */
bool doctor_needed_by(const char *needed_by, char *const *verbs);
void doctor_keep(DoctorReport *r, char *const *verbs); /* drops what none of them needs */
bool doctor_lacks_something(const DoctorReport *r);

/* Looks at everything that one of the verbs needs (none named: all verbs), in doctor.c. */
int doctor_examine(char *const *verbs, const char *store_path, DoctorReport *ret);

/* The parts of the examination. store_path: where the store is to be. */
int doctor_check_programs(DoctorReport *r, char *const *verbs); /* doctor-programs.c */
int doctor_check_host(DoctorReport *r, const char *store_path); /* doctor-host.c */

char *doctor_find_version(const char *text); /* the first "1.2…" of a program's output; NULL */
