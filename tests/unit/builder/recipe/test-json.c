/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recipe-fixture.h"

static void json_shows_the_merged_recipe(void **state) {
        _cleanup_json_ json_object *o = NULL;

        put_overlay("one", ", \"requires\": [\"two\"]");
        put_overlay("two", "");
        put_recipe("base", ", \"packages\": [\"vim\"], \"node\": {\"a\": 1}");
        put_file("images/x.json",
                        "{\"name\": \"x\", \"extends\": \"base\", \"overlays\": [\"one\"],"
                        "\"packages\": [\"htop\"], \"disk\": {\"size\": \"1G\"}}");
        assert_int_equal(recipe_to_json(load_good(*state, "images/x.json"), &o), 0);
        assert_string_equal(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN),
                        "{\"name\":\"x\",\"kind\":\"disk\",\"base\":{\"distro\":\"debian\",\"release\":\"trixie\","
                        "\"arch\":\"amd64\",\"components\":[\"main\"],\"packages\":[]},"
                        "\"kernel\":{\"package\":\"linux-image-amd64\",\"cmdline\":\"\"},"
                        "\"overlays\":[\"two\",\"one\"],\"packages\":[\"vim\",\"htop\"],"
                        "\"disk\":{\"size\":1073741824,\"filesystem\":\"ext4\",\"firmware\":[\"uefi\"],"
                        "\"formats\":[\"qcow2\"]},\"node\":{\"a\":1}}");
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
                TEST(json_shows_the_merged_recipe),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
