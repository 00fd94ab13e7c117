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

/* Looks at everything that one of the verbs needs (NULL: all verbs). store_path: where the store
 * is to be. */
int doctor_examine(char *const *verbs, const char *store_path, DoctorReport *ret);
void doctor_report_done(DoctorReport *r);
bool doctor_lacks_something(const DoctorReport *r);

/* The parts that host.c's and programs' checks share with tests. */
char *doctor_find_version(const char *text); /* the first "1.2…" of a program's output; NULL */

int doctor_add(DoctorReport *r, const char *what, const char *verbs, DoctorState state,
                const char *found, const char *remedy);
int doctor_check_host(DoctorReport *r, const char *store_path); /* doctor-host.c */
