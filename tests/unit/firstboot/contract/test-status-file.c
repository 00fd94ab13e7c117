/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "root-fixture.h"
#include "contract/status-file.h"

#define THIS "00000000000000000000000000000001"
#define OTHER "00000000000000000000000000000002"
#define STATUS(node, boot) "{\"node\":\"" node "\",\"boot_id\":\"" boot "\"}"

static int setup(void **state) {
        return setenv("FIRSTBOOT_BOOT_ID", THIS, 1) == 0 ? root_setup(state) : -1;
}

static void make_folder(const char *name) {
        _cleanup_free_ char *path = fb_path(name);

        assert_return_code(mkdir_p(path, 0755), 0);
}

static bool is_there(const char *name) {
        _cleanup_free_ char *path = fb_path(name);

        return access(path, F_OK) >= 0;
}

/* What the reader is told: the node's state, and where that lies. */
static void assert_read(const char *node, const char *where) {
        _cleanup_free_ char *path = NULL, *expected = fb_path(where);
        _cleanup_json_ json_object *o = NULL;
        JsonError e = {};

        assert_return_code(status_file_load(&e, &o, &path), 0);
        assert_string_equal(json_get_string(o, "node"), node);
        assert_string_equal(path, expected);
}

static void assert_nothing_read(void) {
        _cleanup_json_ json_object *o = NULL;
        JsonError e = {};

        assert_int_equal(status_file_load(&e, &o, NULL), -ENOENT);
        assert_null(o);
}

static void it_lies_in_run(void **state _unused_) {
        make_folder("/run/firstboot");
        make_folder("/var/lib/firstboot");
        assert_int_equal(status_file_save(STATUS("ready", THIS)), 0);
        assert_read("ready", PATH_RUN_STATUS);
        assert_false(is_there(PATH_SPARE_STATUS));
}

/* The folder in /run is not there: nothing can be written. */
static void without_room_in_run_it_lies_on_the_disk(void **state _unused_) {
        make_folder("/var/lib/firstboot");
        assert_int_equal(status_file_save(STATUS("failed", THIS)), 1);
        assert_read("failed", PATH_SPARE_STATUS);
}

static void with_room_again_run_has_it_alone(void **state _unused_) {
        make_folder("/var/lib/firstboot");
        assert_int_equal(status_file_save(STATUS("failed", THIS)), 1);
        make_folder("/run/firstboot");
        assert_int_equal(status_file_save(STATUS("ready", THIS)), 0);
        assert_read("ready", PATH_RUN_STATUS);
        assert_false(is_there(PATH_SPARE_STATUS));
}

static void the_disks_is_not_read_beside_one_in_run(void **state _unused_) {
        root_put(PATH_RUN_STATUS, STATUS("ready", THIS));
        root_put(PATH_SPARE_STATUS, STATUS("failed", THIS));
        assert_read("ready", PATH_RUN_STATUS);
}

static void one_of_another_boot_is_none(void **state _unused_) {
        root_put(PATH_SPARE_STATUS, STATUS("ready", OTHER));
        assert_nothing_read();
}

static void half_a_one_on_the_disk_is_none(void **state _unused_) {
        root_put(PATH_SPARE_STATUS, "{\"node\":\"ready\",\"boot_id\":\"" THIS);
        assert_nothing_read();
}

static void without_room_anywhere_it_is_an_error(void **state _unused_) {
        assert_true(status_file_save(STATUS("failed", THIS)) < 0);
        assert_nothing_read();
}

/* Damage in /run is told as such, and not hidden by an older file. */
static void damage_in_run_is_told(void **state _unused_) {
        _cleanup_json_ json_object *o = NULL;
        JsonError e = {};

        root_put(PATH_RUN_STATUS, "{\"node\":");
        root_put(PATH_SPARE_STATUS, STATUS("ready", THIS));
        assert_int_equal(status_file_load(&e, &o, NULL), -EINVAL);
        assert_true(e.message[0]);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, root_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(it_lies_in_run),
                TEST(without_room_in_run_it_lies_on_the_disk),
                TEST(with_room_again_run_has_it_alone),
                TEST(the_disks_is_not_read_beside_one_in_run),
                TEST(one_of_another_boot_is_none),
                TEST(half_a_one_on_the_disk_is_none),
                TEST(without_room_anywhere_it_is_an_error),
                TEST(damage_in_run_is_told),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
