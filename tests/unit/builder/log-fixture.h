/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What is logged between log_begin() and log_end(), a line each. Include cmocka.h before. */

#include "shared/log.h"
#include "shared/macro.h"
#include "shared/strv.h"

static char **lines;

static void keep_line(int level _unused_, const char *line, void *userdata _unused_) {
        assert_int_equal(strv_extend(&lines, line), 0);
}

static void log_begin(void) {
        log_set_writer(keep_line, NULL);
}

/* The lines stay. */
static void log_end(void) {
        log_set_writer(NULL, NULL);
}
