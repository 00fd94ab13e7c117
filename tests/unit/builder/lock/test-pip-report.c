/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lock/python.h"
#include "shared/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ITEM(url, archive, metadata)                                             \
        "{ \"install\": [ { \"download_info\": { \"url\": \"" url "\", " archive \
        " }, \"metadata\": { " metadata " } } ] }"
#define HASHED "\"archive_info\": { \"hashes\": { \"sha256\": \"" SHA "\" } }"
#define NAMED "\"name\": \"Typing_Extensions\", \"version\": \"4.1\""

static int read_text(const char *text, PipWheels *ret) {
        _cleanup_json_ json_object *o = NULL;
        JsonError error;

        assert_int_equal(json_parse(text, strlen(text), &error, &o), 0);
        return pip_read_report(o, ret);
}

static void a_wheel_is_read(void **state) {
        _cleanup_pip_wheels_ PipWheels w = {};

        (void) state;
        assert_int_equal(
                        read_text(ITEM("https://x.example/a/typing_extensions-4.1-py3-none-any.whl#sha256=1",
                                                  HASHED, NAMED ", \"license\": \"PSF\""),
                                        &w),
                        0);
        assert_int_equal(w.n, 1);
        assert_string_equal(w.list[0].wheel.name, "typing-extensions");
        assert_string_equal(w.list[0].wheel.version, "4.1");
        assert_string_equal(w.list[0].wheel.file, "typing_extensions-4.1-py3-none-any.whl");
        assert_string_equal(w.list[0].wheel.sha256, SHA);
        assert_string_equal(w.list[0].wheel.licence, "PSF");
}

static void an_encoded_file_name_is_decoded(void **state) {
        _cleanup_pip_wheels_ PipWheels w = {};

        (void) state;
        assert_int_equal(
                        read_text(ITEM("https://x.example/torch-2.6.0%2Bcpu-cp313-cp313-linux_x86_64.whl",
                                                  HASHED,
                                                  "\"name\": \"torch\", \"version\": \"2.6.0+cpu\""),
                                        &w),
                        0);
        assert_string_equal(w.list[0].wheel.file, "torch-2.6.0+cpu-cp313-cp313-linux_x86_64.whl");
}

static void a_file_name_that_leads_elsewhere_is_refused(void **state) {
        _cleanup_pip_wheels_ PipWheels w = {};

        (void) state;
        assert_int_equal(read_text(ITEM("https://x.example/..%2F..%2Fx.whl", HASHED, NAMED), &w),
                        -EBADMSG);
        assert_int_equal(read_text(ITEM("https://x.example/x-1.tar.gz", HASHED, NAMED), &w),
                        -EBADMSG);
}

static void quiet(int level, const char *line, void *userdata) {
        (void) level, (void) line, (void) userdata;
}

/* Or the lock would name what is installed wrongly, and one name twice. */
static void a_wheel_that_calls_itself_otherwise_is_refused(void **state) {
        _cleanup_pip_wheels_ PipWheels w = {};

        (void) state;
        log_set_writer(quiet, NULL);
        assert_int_equal(read_text(ITEM("https://x.example/other-4.1-py3-none-any.whl", HASHED,
                                                   NAMED),
                                         &w),
                        -EREMOTEIO);
        log_set_writer(NULL, NULL);
}

static void a_folder_of_this_host_is_no_wheel(void **state) {
        _cleanup_pip_wheels_ PipWheels w = {};

        (void) state;
        assert_int_equal(read_text(ITEM("file:///src/x-1-py3-none-any.whl", "\"dir_info\": {}",
                                                   NAMED),
                                         &w),
                        -EBADMSG);
}

static void an_index_without_digests_gives_none(void **state) {
        _cleanup_pip_wheels_ PipWheels w = {};

        (void) state;
        assert_int_equal(read_text(ITEM("https://x.example/typing_extensions-4.1-py3-none-any.whl",
                                                   "\"archive_info\": {}", NAMED),
                                         &w),
                        0);
        assert_null(w.list[0].wheel.sha256);
}

static void a_licence_text_gives_way_to_the_classifier(void **state) {
        _cleanup_pip_wheels_ PipWheels w = {};

        (void) state;
        assert_int_equal(
                        read_text(ITEM("https://x.example/typing_extensions-4.1-py3-none-any.whl",
                                                  HASHED,
                                                  NAMED
                                                  ", \"license\": \"Copyright\\nAll\", \"classifier\": [\"Topic :: X\", "
                                                  "\"License :: OSI Approved :: MIT License\"]"),
                                        &w),
                        0);
        assert_string_equal(w.list[0].wheel.licence, "MIT License");
}

static void a_requirement_begins_with_its_name(void **state) {
        const char *const all[][2] = { { "NumPy>=2", "numpy" },
                { "zope.interface", "zope-interface" }, { "a__b[extra] ~= 1", "a-b" },
                { "x; python_version < '3'", "x" } };

        (void) state;
        for (size_t i = 0; i < ELEMENTSOF(all); i++) {
                _cleanup_free_ char *name = pip_name(all[i][0]);

                assert_string_equal(name, all[i][1]);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_wheel_is_read),
                cmocka_unit_test(an_encoded_file_name_is_decoded),
                cmocka_unit_test(a_file_name_that_leads_elsewhere_is_refused),
                cmocka_unit_test(a_wheel_that_calls_itself_otherwise_is_refused),
                cmocka_unit_test(a_folder_of_this_host_is_no_wheel),
                cmocka_unit_test(an_index_without_digests_gives_none),
                cmocka_unit_test(a_licence_text_gives_way_to_the_classifier),
                cmocka_unit_test(a_requirement_begins_with_its_name),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
