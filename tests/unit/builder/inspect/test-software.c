/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/internal.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void library_names_have_versions(void **state _unused_) {
        static const struct {
                const char *path, *version;
        } cases[] = {
                { "/usr/lib/libnccl.so.2.21.5", "2.21.5" },
                { "/usr/lib/libcuda.so.550.163.01", "550.163.01" },
                { "/usr/lib/libnccl.so", NULL },
                { "/usr/lib/libnccl.so.2.debug", NULL },
                { "/usr/bin/enroot", NULL },
                { "/usr/lib/x.so.", NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                assert_true(streq_ptr(inspect_library_version(cases[i].path), cases[i].version));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(library_names_have_versions),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
