/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/internal.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void metadata_folders_name_their_version(void **state _unused_) {
        static const struct {
                const char *path, *name, *version;
        } cases[] = {
                { "/opt/ml/lib/python3.12/site-packages/torch-2.5.1+cu124.dist-info", "torch",
                                "2.5.1+cu124" },
                { "/usr/lib/python3/dist-packages/mpi4py-4.0.3.egg-info", "mpi4py", "4.0.3" },
                { "/x/torch-2.5.1.dist-info", "ray", NULL },
                { "/x/torchvision-0.20.1.dist-info", "torch", NULL },
                { "/x/ray-cpp.dist-info", "ray", NULL },
                { "/x/torch-2.5.1", "torch", NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *version = inspect_python_version(cases[i].path, cases[i].name);

                assert_true(streq_ptr(version, cases[i].version));
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(metadata_folders_name_their_version),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
