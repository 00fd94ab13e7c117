/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* An empty machine for one test: a folder of its own that fb_path() takes for the root. Include
 * before cmocka.h. */

#include "shared/file-util.h"
#include "contract/paths.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static inline int root_setup(void **state) {
        char folder[] = "/tmp/firstboot-test.XXXXXX";

        (void) state;
        return mkdtemp(folder) ? setenv("FIRSTBOOT_ROOT", folder, 1) : -1;
}

static inline int root_teardown(void **state) {
        _cleanup_free_ char *folder = strdup(getenv("FIRSTBOOT_ROOT"));

        (void) state;
        return folder && unsetenv("FIRSTBOOT_ROOT") == 0 ? rm_rf(folder) : -1;
}

/* A file of the machine, with its folders. */
static inline void root_put(const char *name, const char *text) {
        _cleanup_free_ char *path = fb_path(name);

        assert_return_code(mkdir_parents(path, 0755), 0);
        assert_return_code(write_file_atomic(path, text, strlen(text), 0644), 0);
}
