/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lock/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* Values of each kind that a lock may have, and that it may not; each list ends with NULL. */
static const struct {
        const char *name;
        bool (*valid)(const char *s);
        const char *good[5], *bad[9];
} kinds[] = {
        { "name", lock_name_valid,
                        { "bash", "libstdc++6", "g++", "linux-image-6.12.57+deb13-amd64" },
                        { "", "-x", "+a", "a/b", "a b", "a:amd64", "a;b", "..", "ä" } },
        { "version", lock_version_valid, { "1", "1:2.0~rc1-3+b1" },
                        { "", "-1", "1 2", "1/2", "$(id)", "1\n" } },
        { "id", lock_id_valid, { "base", "packages:a", "compile:a/0" },
                        { "", "/a", "a b", "a\n" } },
        { "text", lock_text_valid, { "a", "ä" }, { "", "a b", "a\n", "\033[1m", "a\177" } },
        { "path", lock_path_valid, { "pool/a.deb", "a", "a..b/c", "./a" },
                        { "", "/a", "../a", "a/..", "a/../b", "..", "a b" } },
        { "URL", lock_url_valid, { "https://a/b", "file:///a" }, { "", "a/b", "https://a b" } },
        { "base64", lock_base64_valid, { "QUJD", "QUI=", "QQ==" },
                        { "", "QUI", "Q===", "QU!D", "=QUI" } },
        { "environment", lock_environment_valid, { "/opt/x", "/opt/a-b/c_1.2" },
                        { "", "/opt", "/usr/x", "/opt/../etc", "/opt/x y", "opt/x" } },
        { "wheel", lock_wheel_valid, { "x-1-py3-none-any.whl", "a+b-1!2.whl" },
                        { "", ".whl", "x.whl/../y", "../x.whl", "x.tar.gz", "-x.whl" } },
        { "PEP 440", lock_pep440_valid, { "1.0", "2!1.0+local", "1.0rc1" },
                        { "", "-1", "1 0", "1/0" } },
        { "line", lock_line_valid, { "a b", "ä" }, { "", "a\nb", "\t", "\033" } },
        { "role", lock_role_valid, { "installer" }, { "", "Installer", "x" } },
};

static void what_may_stand_in_a_lock_is_told_from_what_may_not(void **state _unused_) {
        for (size_t i = 0; i < ELEMENTSOF(kinds); i++) {
                for (size_t k = 0; k < ELEMENTSOF(kinds[i].good) && kinds[i].good[k]; k++)
                        if (!kinds[i].valid(kinds[i].good[k]))
                                fail_msg("%s \"%s\" is refused", kinds[i].name, kinds[i].good[k]);
                for (size_t k = 0; k < ELEMENTSOF(kinds[i].bad) && kinds[i].bad[k]; k++)
                        if (kinds[i].valid(kinds[i].bad[k]))
                                fail_msg("%s \"%s\" passes", kinds[i].name, kinds[i].bad[k]);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_may_stand_in_a_lock_is_told_from_what_may_not),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
