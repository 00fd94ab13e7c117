/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/rpm-database.h"
#include "recipe-fixture.h"

/* What is made of a line of rpm's: "NAME VERSION ARCH SOURCE SOURCE-VERSION MODULE", "-" for what
 * is not there; packages with commas between them. */
static void assert_parsed(const char *text, const char *wanted) {
        static const char *const keys[] = { "name", "version", "arch", "source", "source_version",
                "module" };
        _cleanup_json_ json_object *list = NULL;
        _cleanup_strv_free_ char **packages = NULL;
        _cleanup_free_ char *got = NULL;

        assert_int_equal(rpm_database_parse(text, &list), 0);
        for (size_t i = 0; i < json_array_length(list); i++) {
                _cleanup_strv_free_ char **words = NULL;
                _cleanup_free_ char *package = NULL;

                for (size_t k = 0; k < ELEMENTSOF(keys); k++) {
                        const char *value = json_get_string(
                                        json_object_array_get_idx(list, i), keys[k]);

                        assert_int_equal(strv_extend(&words, value ? value : "-"), 0);
                }
                package = strv_join(words, " ");
                assert_int_equal(strv_extend(&packages, package), 0);
        }
        got = strv_join(packages, ", ");
        assert_string_equal(strempty(got), wanted);
}

static void a_source_is_taken_apart_and_has_no_epoch(void **state _unused_) {
        assert_parsed("openssl-libs\t1:3.0.7-25.el9\tx86_64\topenssl-3.0.7-25.el9.src.rpm\t\n",
                        "openssl-libs 1:3.0.7-25.el9 x86_64 openssl 3.0.7-25.el9 -");
        assert_parsed("kernel-core\t5.14.0-427.el9\tx86_64\tkernel-5.14.0-427.el9.nosrc.rpm\t\n",
                        "kernel-core 5.14.0-427.el9 x86_64 kernel 5.14.0-427.el9 -");
}

static void one_that_is_its_own_is_not_said(void **state _unused_) {
        assert_parsed("bash\t5.1.8-9.el9\tx86_64\tbash-5.1.8-9.el9.src.rpm\t\n",
                        "bash 5.1.8-9.el9 x86_64 - - -");
        assert_parsed("openssl\t1:3.0.7-25.el9\tx86_64\topenssl-3.0.7-25.el9.src.rpm\t\n",
                        "openssl 1:3.0.7-25.el9 x86_64 - - -");
}

static void a_module_is_its_name_and_stream(void **state _unused_) {
        assert_parsed("npm\t1:10-1.module+el9\tx86_64\tnodejs-20-1.module+el9.src.rpm\tnodejs:20:9040020240:rhel9\n",
                        "npm 1:10-1.module+el9 x86_64 nodejs 20-1.module+el9 nodejs:20");
}

static void they_are_sorted_and_keys_are_none(void **state _unused_) {
        assert_parsed("warning: something\n"
                      "gpg-pubkey\t350d275d-6279464b\t(none)\t(none)\t\n"
                      "b\t1-1\tnoarch\t\t\n"
                      "a\t1-1\tnoarch\t\t\n"
                      "cut\t1-1\tnoarch",
                        "a 1-1 noarch - - -, b 1-1 noarch - - -");
}

static void what_is_no_source_is_none(void **state _unused_) {
        static const char *const sources[] = { "(none)", ".src.rpm", "-1-2.src.rpm", "a.src.rpm",
                "a-1.src.rpm", "a-1-1.rpm" };

        for (size_t i = 0; i < ELEMENTSOF(sources); i++) {
                _cleanup_free_ char *line = strf("b\t1-1\tnoarch\t%s\tx\n", sources[i]);

                assert_parsed(line, "b 1-1 noarch - - -");
        }
}

static void bytes_that_are_no_text_are_made_one(void **state _unused_) {
        assert_parsed("\xff\xfe\t1-1\tnoarch\t\t\n", "?? 1-1 noarch - - -");
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
                TEST(a_source_is_taken_apart_and_has_no_epoch),
                TEST(one_that_is_its_own_is_not_said),
                TEST(a_module_is_its_name_and_stream),
                TEST(they_are_sorted_and_keys_are_none),
                TEST(what_is_no_source_is_none),
                TEST(bytes_that_are_no_text_are_made_one),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
