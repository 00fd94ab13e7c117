/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* An empty folder for each test, which is the current one meanwhile. Include before cmocka.h. */

#include "shared/file-util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

static inline int setup(void **state) {
        char folder[] = "/tmp/imgbuild-test.XXXXXX";

        assert_non_null(mkdtemp(folder));
        assert_int_equal(chdir(folder), 0);
        *state = strdup(folder);
        return 0;
}

static inline int teardown(void **state) {
        assert_int_equal(chdir("/"), 0);
        rm_rf(*state);
        free(*state);
        return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
