/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One table of the options, from which getopt, the help text and the completion come. */

#include "ncclbench/options.h"
#include "shared/completion.h"

typedef struct OptionInfo OptionInfo;
struct OptionInfo {
        OptionSpec spec; /* its id is 0 where there is no letter: see option_id() */

        /* Takes the argument over; 0, or an error where it is no such thing. */
        int (*read)(Options *o, const OptionInfo *info, const char *text);
        size_t field;    /* where in Options the value goes */
        double min, max; /* of a number */
};

extern const OptionInfo option_table[];
extern const size_t option_count;

#define OPTION_COUNT_MAX 64

/* What getopt returns for an option: its letter, or a number beyond all letters. */
int option_id(const OptionInfo *info);
const OptionInfo *option_find(int id); /* NULL: unknown */
