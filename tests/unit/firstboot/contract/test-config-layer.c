/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A file of the configuration: which are read, and what is said of the others. */

#include "root-fixture.h"
#include "contract/config-layer.h"

#include <sys/stat.h>

#define FOLDER "/etc/firstboot/conf.d"
#define FILE_OF_IT FOLDER "/50-site.json"

static int setup(void **state) {
        if (root_setup(state) < 0)
                return -1;
        root_put(FOLDER "/README", "");
        return 0;
}

/* It is not read, for this reason; line 0: the file as a whole. */
static void assert_refused(int error, unsigned line, const char *message) {
        _cleanup_json_ json_object *o = NULL;
        JsonError e = { .line = 99 };

        assert_int_equal(config_layer_load(FILE_OF_IT, &e, &o), error);
        assert_null(o);
        assert_int_equal(e.line, line);
        assert_non_null(strstr(e.message, message));
}

static void assert_read(void) {
        _cleanup_json_ json_object *o = NULL;
        JsonError e = {};

        assert_return_code(config_layer_load(FILE_OF_IT, &e, &o), 0);
        assert_string_equal(json_get_string(json_get(o, "scratch"), "label"), "a");
}

static void a_regular_file_is_read(void **state) {
        (void) state;
        root_put(FILE_OF_IT, "{ \"scratch\": { \"label\": \"a\" } } // ours\n");
        assert_read();
}

static void a_link_to_one_is_followed(void **state) {
        _cleanup_free_ char *link = fb_path(FILE_OF_IT);

        (void) state;
        root_put("/srv/site.json", "{ \"scratch\": { \"label\": \"a\" } }");
        assert_return_code(symlink("../../../srv/site.json", link), 0);
        assert_read();
}

static void one_that_is_not_there_is_told_apart(void **state) {
        _cleanup_free_ char *link = fb_path(FILE_OF_IT);

        (void) state;
        assert_refused(-ENOENT, 0, "cannot read it");
        assert_return_code(symlink("nowhere.json", link), 0);
        assert_refused(-ENOENT, 0, "cannot read it");
}

static void a_named_pipe_is_not_waited_for(void **state) {
        _cleanup_free_ char *pipe_path = fb_path(FILE_OF_IT);

        (void) state;
        assert_return_code(mkfifo(pipe_path, 0600), 0);
        assert_refused(-EINVAL, 0, "no regular file");
}

static void a_link_to_a_named_pipe_is_not_waited_for(void **state) {
        _cleanup_free_ char *link = fb_path(FILE_OF_IT), *pipe_path = fb_path(FOLDER "/pipe");

        (void) state;
        assert_return_code(mkfifo(pipe_path, 0600), 0);
        assert_return_code(symlink("pipe", link), 0);
        assert_refused(-EINVAL, 0, "no regular file");
}

static void a_folder_is_no_file(void **state) {
        _cleanup_free_ char *folder = fb_path(FILE_OF_IT);

        (void) state;
        assert_return_code(mkdir(folder, 0755), 0);
        assert_refused(-EINVAL, 0, "no regular file");
}

static void one_byte_too_many_is_too_large(void **state) {
        static const char text[] = "{ \"scratch\": { \"label\": \"a\" } }";
        _cleanup_free_ char *large = malloc(CONFIG_LAYER_MAX + 2);

        (void) state;
        assert_non_null(large);
        memset(large, ' ', CONFIG_LAYER_MAX + 1);
        memcpy(large, text, sizeof(text) - 1);
        large[CONFIG_LAYER_MAX + 1] = '\0';
        root_put(FILE_OF_IT, large);
        assert_refused(-EFBIG, 0, "larger than the 1024 KiB");
        large[CONFIG_LAYER_MAX] = '\0';
        root_put(FILE_OF_IT, large);
        assert_read();
}

static void what_is_not_json_is_named_with_its_line(void **state) {
        (void) state;
        root_put(FILE_OF_IT, "{\n  broken\n}\n");
        assert_refused(-EINVAL, 2, "");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, root_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_regular_file_is_read),
                TEST(a_link_to_one_is_followed),
                TEST(one_that_is_not_there_is_told_apart),
                TEST(a_named_pipe_is_not_waited_for),
                TEST(a_link_to_a_named_pipe_is_not_waited_for),
                TEST(a_folder_is_no_file),
                TEST(one_byte_too_many_is_too_large),
                TEST(what_is_not_json_is_named_with_its_line),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
