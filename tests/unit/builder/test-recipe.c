/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recipe-fixture.h"

static void reads_a_whole_recipe(void **state) {
        put_overlay("one", "");
        put_file("images/full.json",
                        "// what a person writes\n"
                        "{ \"name\": \"full\",\n"
                        "  \"base\": { \"distro\": \"debian\", \"release\": \"trixie\", \"components\": [\"main\", \"non-free\"],\n"
                        "            \"mirror\": \"http://mirror.example/debian\", \"packages\": [\"systemd-sysv\"] },\n"
                        "  \"kernel\": { \"package\": \"linux-image-amd64\", \"cmdline\": \"console=ttyS0,115200n8 quiet\" },\n"
                        "  \"overlays\": [\"one\"], \"packages\": [\"vim-tiny\", \"htop\"],\n"
                        "  \"disk\": { \"size\": \"8G\", \"filesystem\": \"xfs\", \"firmware\": [\"uefi\", \"bios\"],\n"
                        "            \"formats\": [\"raw\"] }, /* a node */\n"
                        "  \"node\": { \"scratch\": { \"stripe_kib\": 64 } } }\n");
        Recipe *r = load_good(*state, "images/full.json");

        assert_string_equal(r->name, "full");
        assert_int_equal(r->kind, RECIPE_DISK);
        assert_int_equal(r->family, FAMILY_DEBIAN);
        assert_string_equal(r->base.arch, "amd64");
        assert_string_equal(r->base.components[1], "non-free");
        assert_string_equal(r->base.mirror, "http://mirror.example/debian");
        assert_string_equal(r->base.packages[0], "systemd-sysv");
        assert_string_equal(r->kernel.cmdline, "console=ttyS0,115200n8 quiet");
        assert_int_equal(r->n_overlays, 1);
        assert_string_equal(r->packages[1], "htop");
        assert_int_equal(r->disk.size, UINT64_C(8) << 30);
        assert_string_equal(r->disk.filesystem, "xfs");
        assert_int_equal(strv_length(r->disk.firmware), 2);
        assert_string_equal(r->disk.formats[0], "raw");
        assert_int_equal(json_get_int(json_get(r->node, "scratch"), "stripe_kib", 0), 64);
}

static void fills_in_what_a_short_recipe_leaves_out(void **state) {
        put_recipe("short", "");
        Recipe *r = load_good(*state, "images/short.json");

        assert_string_equal(r->base.components[0], "main");
        assert_null(r->base.mirror);
        assert_string_equal(r->kernel.cmdline, "");
        assert_int_equal(r->disk.size, 0);
        assert_string_equal(r->disk.filesystem, "ext4");
        assert_string_equal(r->disk.firmware[0], "uefi");
        assert_string_equal(r->disk.formats[0], "qcow2");
        assert_null(r->node);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
                TEST(reads_a_whole_recipe),
                TEST(fills_in_what_a_short_recipe_leaves_out),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
