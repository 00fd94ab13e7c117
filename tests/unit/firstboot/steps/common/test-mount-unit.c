/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Mount units as systemd names them. */

#include "steps/common/mount-unit.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void names_of_mount_units_are_escaped(void **state) {
        static const char *const table[][2] = {
                { "/mnt/localdisk", "mnt-localdisk.mount" },
                { "/mnt/a-b/", "mnt-a\\x2db.mount" },
                { "/home", "home.mount" },
                { "/.x/y.z", "\\x2ex-y.z.mount" },
        };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                _cleanup_free_ char *name = mount_unit_name(table[i][0]);
                assert_string_equal(name, table[i][1]);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(names_of_mount_units_are_escaped),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
