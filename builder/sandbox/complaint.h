/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a command's output says of why it failed: the first line that speaks of an error, which may
 * be far above the last, and a program that was asked for and is not there. */

#include "shared/macro.h"

typedef struct Complaint {
        char *first;   /* the line without white space before it; NULL: none speaks of an error */
        uint64_t usec; /* when it came */
        size_t line;   /* how many came before it */
        char *missing; /* the program, as it was called; NULL: none is missed */
} Complaint;

/* Takes line number n (from 0). Where memory ends, less is known. */
void complaint_take(Complaint *c, const char *line, size_t n, uint64_t usec);
void complaint_done(Complaint *c);

/* The program that a shell, make or env did not find; NULL where the line is about something else.
 * The caller frees it. */
char *complaint_missing_program(const char *line);

/* Whether it is how make tells that it has failed and will end when its other jobs have. */
bool complaint_make_waits(const char *line);

/* "g++ is in no package of the tree; Debian's package g++ has it", for messages. NULL on out of
 * memory. */
char *complaint_remedy(const char *program);
