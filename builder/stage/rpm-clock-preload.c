/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* No part of imgbuild: a library of its own, which a tree's rpm is started with (rpm-clock.h). The
 * tree's C library is what it finds at run time, so it is linked with none, and takes nothing that
 * is younger than 2002. What rpm starts has its own time again. */

#include <stdlib.h>
#include <time.h>

static time_t epoch;

__attribute__((constructor)) static void begin(void) {
        const char *text = getenv("SOURCE_DATE_EPOCH");

        epoch = text ? strtol(text, NULL, 10) : 0;
        unsetenv("LD_PRELOAD");
}

time_t time(time_t *t) {
        if (t)
                *t = epoch;
        return epoch;
}
