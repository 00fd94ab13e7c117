/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The CUDA runtime (libcudart) that programs of this system get: runtime-find.c finds it the ways
 * that they do, runtime-call.c calls it as a program made by nvcc does, runtime.c judges. */

#include "ncclbench/worker.h"

typedef struct RuntimeLibrary {
        char *soname;       /* libcudart.so.12 */
        char *path, *real;  /* as it was found, and the file itself; real NULL: it is not there */
        const char *source; /* "ldconfig", "module" or "LD_LIBRARY_PATH" */
} RuntimeLibrary;

typedef struct RuntimeFound {
        RuntimeLibrary *items; /* each file once, but for doubled ones */
        size_t n;
        char *installed; /* what says that there must be one: a file or a package; NULL: nothing */
} RuntimeFound;

void runtime_found_done(RuntimeFound *f);

/* Asks the linker's cache, LD_LIBRARY_PATH and the module "cuda", below root (NULL: this system).
 * 0 or -ENOMEM. */
int runtime_find(const char *root, RuntimeFound *ret);

/* Two different files of one name in one source; false where there are none. */
bool runtime_find_doubled(const RuntimeFound *f, const RuntimeLibrary **ret_first,
                const RuntimeLibrary **ret_second);

/* What a library says of itself: 12040 is 12.4. */
typedef struct RuntimeVersions {
        int runtime, driver;
        int devices;
} RuntimeVersions;

/* Loads the library, and on every device allocates, copies there, launches a kernel and copies
 * back. 0, or -EIO with the failure set. */
int runtime_call(const char *library, RuntimeVersions *ret, Failure *f);
