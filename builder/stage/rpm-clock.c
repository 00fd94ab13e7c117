/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The library itself, as the Makefile compiles it of rpm-clock-preload.c. */

#include "stage/rpm-clock.h"

__asm__(".pushsection .rodata\n"
        "rpm_clock_begin:\n"
        ".incbin \"" RPM_CLOCK_FILE "\"\n"
        "rpm_clock_end:\n"
        ".popsection\n");

extern const char rpm_clock_begin[] __attribute__((visibility("hidden"))),
                rpm_clock_end[] __attribute__((visibility("hidden")));

const void *rpm_clock(size_t *ret_size) {
        *ret_size = (size_t) (rpm_clock_end - rpm_clock_begin);
        return rpm_clock_begin;
}
