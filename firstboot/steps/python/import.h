/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* One module imported by an environment's own Python, in a process of its own: a crash takes nobody
 * along. */

#include "shared/json-util.h"

typedef enum ImportEnd {
        IMPORT_OK,
        IMPORT_NO_PYTHON, /* the environment, or its Python, is not there */
        IMPORT_FAILED,    /* Python said why */
        IMPORT_DIED,      /* killed by a signal, or it ended without a word */
        IMPORT_TIMEOUT,
} ImportEnd;

typedef struct Import {
        ImportEnd end;
        char *text;        /* why, for people; NULL where it went well */
        char *version;     /* the module's; NULL: it has none */
        double seconds;    /* of the import */
        int torch_devices; /* torch's count of GPUs; -1: not asked, or no answer */
        int nvml_devices;  /* NVML's; the same */
        char *gpu_text;    /* why one of the two gave no answer; NULL: they did */
} Import;

void import_done(Import *i);

/* Imports `module` by ENVIRONMENT/bin/python; with count_gpus, torch and NVML are asked how many
 * GPUs they see. Nothing is written, byte-code neither. 0 or negative errno of ours; how it ended
 * is in *ret. */
int python_import(const char *environment, const char *module, bool count_gpus,
                uint64_t timeout_usec, Import *ret);

/* What the program said in its last line, taken over into *i. False: it is no such line. */
bool import_parse(const char *line, Import *i);
