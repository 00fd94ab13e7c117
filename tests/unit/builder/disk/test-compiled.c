/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check-fixture.h"

#include "disk/disk.h"
#include "store/store.h"

#define DIGEST_OF(digit) digit digit digit digit digit digit digit digit
#define A DIGEST_OF("aaaaaaaa")
#define B DIGEST_OF("bbbbbbbb")
#define OF_TEXT "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1"

static void put_layer(Store *s, const char *digest, void (*fill)(const char *upper)) {
        _cleanup_layer_draft_free_ LayerDraft *d = NULL;

        assert_int_equal(store_begin_layer(s, digest, &d), 0);
        fill(layer_draft_upper(d));
        assert_int_equal(store_commit_layer(d, 1700000000, NULL), 0);
}

static void fill_base(const char *upper) {
        _cleanup_free_ char *path = path_join(upper, "usr/bin/of-a-package");

        put(path, "text");
}

static void fill_compiled(const char *upper) {
        _cleanup_free_ char *program = path_join(upper, "usr/sbin/agent"),
                            *module = path_join(upper, "usr/lib/modules/6.12/nvidia.ko"),
                            *fake = path_join(upper, "usr/share/not-really.ko"),
                            *link = path_join(upper, "usr/sbin/alias");

        put(program, "text");
        put(fake, "text");
        assert_int_equal(mkdir_parents(module, 0755), 0);
        put_module(module, "nvidia", DRIVER, MAGIC);
        assert_int_equal(symlink("/etc/passwd", link), 0);
}

static void test_what_compile_stages_made_is_listed(void **state _unused_) {
        Stage stages[] = { { .id = (char *) "base", .kind = STAGE_BASE, .digest = A },
                { .id = (char *) "compile:driver/0", .kind = STAGE_COMPILE, .digest = B } };
        const Plan plan = { .stages = stages, .n_stages = 2 };
        _cleanup_store_free_ Store *s = NULL;
        _cleanup_json_ json_object *list = NULL;
        json_object *module, *program, *fake;
        Context ctx = {};

        assert_int_equal(store_open("store", &s), 0);
        ctx.store = s;
        put_layer(s, A, fill_base);
        put_layer(s, B, fill_compiled);
        assert_int_equal(disk_list_compiled(&ctx, &plan, &list), 0);

        assert_int_equal(json_object_array_length(list), 3);
        module = json_object_array_get_idx(list, 0);
        program = json_object_array_get_idx(list, 1);
        fake = json_object_array_get_idx(list, 2);
        assert_string_equal(json_get_string(module, "path"), "/usr/lib/modules/6.12/nvidia.ko");
        assert_string_equal(json_get_string(module, "module"), "nvidia");
        assert_string_equal(json_get_string(module, "version"), DRIVER);
        assert_string_equal(json_get_string(program, "path"), "/usr/sbin/agent");
        assert_string_equal(json_get_string(program, "stage"), "compile:driver/0");
        assert_string_equal(json_get_string(program, "sha256"), OF_TEXT);
        assert_int_equal(json_get_int(program, "size", 0), 4);
        assert_string_equal(json_get_string(fake, "path"), "/usr/share/not-really.ko");
        assert_null(json_get(fake, "module"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, check_setup, check_teardown)
                TEST(what_compile_stages_made_is_listed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
