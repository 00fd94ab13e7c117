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
                        "  \"node\": { \"licence\": { \"seats\": 64 } } }\n");
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
        assert_int_equal(json_get_int(json_get(r->node, "licence"), "seats", 0), 64);
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

static void paths_are_absolute(void **state) {
        _cleanup_free_ char *here = NULL;

        put_overlay("one", "");
        put_recipe("base", "");
        put_file("images/x.json",
                        "{\"name\": \"x\", \"extends\": \"base\", \"overlays\": [\"one\"]}");
        Recipe *r = load_good(*state, "images/x.json");

        here = realpath(".", NULL);
        const char *const expected[] = { "images/base.json", "images/x.json",
                "overlays/one/overlay.json" };
        assert_int_equal(strv_length(r->sources), ELEMENTSOF(expected));
        for (size_t i = 0; i < ELEMENTSOF(expected); i++) {
                _cleanup_free_ char *path = path_join(here, expected[i]);
                assert_string_equal(r->sources[i], path);
        }
        assert_string_equal(r->path, r->sources[1]);
        assert_true(startswith(r->lock_path, here) &&
                        endswith(r->lock_path, "/images/x.lock.json"));
        assert_true(startswith(r->overlays[0]->path, here) &&
                        endswith(r->overlays[0]->path, "/overlays/one"));
}

static void a_tree_needs_no_kernel(void **state) {
        put_file("images/tools.json",
                        "{\"name\": \"tools\", \"kind\": \"tree\",\"base\": {\"distro\": \"debian\", \"release\": \"trixie\"}}");
        Recipe *r = load_good(*state, "images/tools.json");

        assert_int_equal(r->kind, RECIPE_TREE);
        assert_null(r->kernel.package);
}

static void a_tree_has_no_disk(void **state) {
        put_file("images/t.json", "{\"name\": \"t\", \"kind\": \"tree\", \"disk\": {},"
                                  "\"base\": {\"distro\": \"debian\", \"release\": \"trixie\"}}");
        assert_refused(*state, "images/t.json",
                        "images/t.json: $.disk: a tree (\"kind\") has no disk");
}

static void a_tree_has_no_kernel_for_others(void **state) {
        put_overlay("one", ", \"packages\": {\"debian\": [\"linux-headers-${kernel}\"]}");
        put_file("images/t.json", "{\"name\": \"t\", \"kind\": \"tree\", \"overlays\": [\"one\"],"
                                  "\"base\": {\"distro\": \"debian\", \"release\": \"trixie\"}}");
        assert_refused(*state, "images/t.json",
                        "images/t.json: $.overlays: overlay \"one\" needs a kernel (\"${kernel}\"), and a tree has none");
}

static void a_compile_on_python_needs_an_environment(void **state) {
        put_script("overlays/two/build.sh");
        put_overlay("two", ", \"compile\": [{\"script\": \"build.sh\", \"on\": \"python\"}]");
        put_overlay("one",
                        ", \"python\": {\"environment\": \"/opt/x\", \"requirements\": [\"x\"]}");
        put_file("images/t.json",
                        "{\"name\": \"t\", \"kind\": \"tree\", \"overlays\": [\"one\", \"two\"],"
                        "\"base\": {\"distro\": \"debian\", \"release\": \"trixie\"}}");
        assert_refused(*state, "images/t.json",
                        "images/t.json: $.overlays: overlay \"two\" compiles on a Python environment, and neither it nor what it requires has one: name that overlay in its \"requires\"");
        put_overlay("two",
                        ", \"requires\": [\"one\"], \"compile\": [{\"script\": \"build.sh\", \"on\": \"python\"}]");
        assert_int_equal(load_good(*state, "images/t.json")->overlays[1]->compile[0].on,
                        COMPILE_ON_PYTHON);
}

/* Of one family a framework is packages, of the other wheels. */
static void a_compile_may_be_on_python_in_the_other_family_alone(void **state) {
        put_script("overlays/one/build.sh");
        put_overlay("one",
                        ", \"python\": {\"environment\": \"/opt/x\", \"requirements\": {\"debian\": [], \"el\": [\"x\"]}},"
                        "\"compile\": [{\"script\": \"build.sh\", \"on\": {\"el\": \"python\"}}]");
        put_file("images/t.json", "{\"name\": \"t\", \"kind\": \"tree\", \"overlays\": [\"one\"],"
                                  "\"base\": {\"distro\": \"debian\", \"release\": \"trixie\"}}");
        assert_int_equal(load_good(*state, "images/t.json")->overlays[0]->compile[0].on,
                        COMPILE_ON_PACKAGES);
}

static void an_environment_is_of_one_python(void **state) {
        static const char environment[] =
                        ", \"python\": {\"environment\": \"/opt/x\", \"requirements\": [\"x\"]%s}";
        _cleanup_free_ char *plain = strf(environment, ""),
                            *newer = strf(environment, ", \"interpreter\": \"python3.12\""),
                            *other = strf(environment, ", \"interpreter\": \"python3.11\"");
        Recipe *r;

        put_overlay("one", plain);
        put_overlay("two", newer);
        put_file("images/t.json",
                        "{\"name\": \"t\", \"kind\": \"tree\", \"overlays\": [\"one\", \"two\"],"
                        "\"base\": {\"distro\": \"debian\", \"release\": \"trixie\"}}");
        r = load_good(*state, "images/t.json");
        assert_string_equal(recipe_interpreter(r, "/opt/x"), "python3.12");
        assert_string_equal(recipe_interpreter(r, "/opt/y"), "python3");
        put_overlay("one", other);
        assert_refused(*state, "images/t.json",
                        "images/t.json: $.overlays: overlay \"two\" has python3.12 for the environment /opt/x, and another one has python3.11: say one of them in both, or give one of them an environment of its own");
}

static void an_unknown_key_is_refused_with_the_nearest(void **state) {
        put_recipe("x", ", \"pacakges\": []");
        assert_refused(*state, "images/x.json",
                        "images/x.json: $.pacakges: unknown key; did you mean \"packages\"?");
}

static void a_key_in_the_wrong_place_is_told_its_place(void **state) {
        put_recipe("x", ", \"cmdline\": \"quiet\"");
        assert_refused(*state, "images/x.json",
                        "images/x.json: $.cmdline: unknown key here; did you mean $.kernel.cmdline?");
}

static void a_key_like_no_other_lists_what_there_is(void **state) {
        put_recipe("x", ", \"disk\": {\"zebra\": 1}");
        assert_refused(*state, "images/x.json",
                        "images/x.json: $.disk.zebra: unknown key; known are size, layout, filesystem, firmware, formats");
}

static void a_syntax_error_says_line_and_column(void **state) {
        put_file("images/x.json", "{\n  \"name\": \"x\",\n  \"disk\" {}\n}");
        assert_refused(*state, "images/x.json",
                        "images/x.json:3:10: object property name separator ':' expected");
}

static void wrong_types_are_named(void **state) {
        static const struct {
                const char *keys, *message;
        } cases[] = {
                { ", \"packages\": \"vim\"",
                                "$.packages: must be a list, not a string; write [\"vim\"]" },
                { ", \"packages\": {}", "$.packages: must be a list, not an object" },
                { ", \"packages\": [1]", "$.packages[0]: must be a string, not a number" },
                { ", \"packages\": [[]]", "$.packages[0]: must be a string, not a list" },
                { ", \"disk\": null",
                                "$.disk: must be an object, not null; its keys are size, layout, filesystem, firmware, formats" },
                { ", \"disk\": {\"size\": 8}", "$.disk.size: must be a string, not a number" },
                { ", \"kind\": true", "$.kind: must be a string, not true or false" },
                { ", \"node\": []", "$.node: must be an object, not a list" },
                { ", \"extends\": 1.5",
                                "$.extends: must be a string, not a number with a fraction" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *message = strf("images/x.json: %s", cases[i].message);
                put_recipe("x", cases[i].keys);
                assert_refused(*state, "images/x.json", message);
        }
}

static void wrong_values_are_named(void **state) {
        static const struct {
                const char *keys, *message;
        } cases[] = {
                { ", \"disk\": {\"size\": \"8\"}",
                                "$.disk.size: \"8\" is not a disk size (from 256M to 64T, as \"8G\" or \"20480M\"; binary units)" },
                { ", \"disk\": {\"filesystem\": \"ext5\"}",
                                "$.disk.filesystem: \"ext5\" is not one of ext4, xfs; did you mean \"ext4\"?" },
                { ", \"disk\": {\"firmware\": [\"efi\"]}",
                                "$.disk.firmware[0]: \"efi\" is not one of uefi, bios; did you mean \"uefi\"?" },
                { ", \"disk\": {\"formats\": [\"vdi\"]}",
                                "$.disk.formats[0]: \"vdi\" is not one of qcow2, raw" },
                { ", \"disk\": {\"formats\": []}",
                                "$.disk.formats: is empty: there would be no image" },
                { ", \"disk\": {\"firmware\": []}",
                                "$.disk.firmware: is empty: nothing could boot it" },
                { ", \"kind\": \"disc\"",
                                "$.kind: \"disc\" is not one of disk, tree; did you mean \"disk\"?" },
                { ", \"packages\": [\"Vim\"]",
                                "$.packages[0]: \"Vim\" is not a package (lower-case letters, digits, + . -; then :arch or =version)" },
                { ", \"packages\": [\"vim\", \"gcc\", \"vim\"]",
                                "$.packages[2]: \"vim\" is given twice" },
                { ", \"overlays\": [\"../../etc\"]",
                                "$.overlays[0]: \"../../etc\" is not an overlay's name (lower-case letters, digits, dot and minus)" },
                { ", \"base\": {\"distro\": \"debian\", \"release\": \"trixie\", \"components\": []}",
                                "$.base.components: is empty: there would be no packages" },
                { ", \"base\": {\"distro\": \"debian\", \"release\": \"trixie\", \"packages\": [\"x-${kernel}\"]}",
                                "$.base.packages[0]: \"x-${kernel}\" depends on the kernel, which comes after the base" },
                { ", \"base\": {\"distro\": \"debian\", \"release\": \"trixie\", \"root\": \"/dev/sda2\"}",
                                "$.base: \"sha256\", \"signature\" and \"root\" go with \"image\"" },
                { ", \"base\": {\"image\": \"a.qcow2\", \"distro\": \"debian\"}",
                                "$.base.distro: is read from the image: leave it out" },
                { ", \"base\": {\"image\": \"a.qcow2\", \"packages\": [\"vim\"]}",
                                "$.base.packages: an image has its packages already; what is to be added goes in $.packages" },
                { ", \"base\": {\"image\": \"http://x.example/a.qcow2\"}",
                                "$.base.sha256: missing: over plain http anybody on the way could change the image" },
                { ", \"base\": {\"image\": \"nbd://x.example/a\"}",
                                "$.base.image: \"nbd://x.example/a\" is not a URL (https://…, http://… or file:///…)" },
                { ", \"base\": {\"image\": \"json:{}\"}",
                                "$.base.image: \"json:{}\" is neither a path (without a colon) nor a URL" },
                { ", \"base\": {\"image\": \"a.qcow2\", \"root\": \"sda2\"}",
                                "$.base.root: \"sda2\" is not a device (as /dev/sda2, the first disk's second partition)" },
                { ", \"disk\": {\"layout\": \"keep\"}",
                                "$.disk.layout: \"keep\" keeps the disk of a vendor's image, and there is no base.image" },
                { ", \"base\": {\"image\": \"a.qcow2\"}, \"disk\": {\"layout\": \"keep\"}",
                                "$.kernel.package: the vendor's boot loader starts the image's own kernel: leave it out, or \"layout\": \"keep\"" },
                { ", \"packages\": [\"-vim\"]",
                                "$.packages[0]: \"-vim\" takes something away, but this recipe extends none" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *message = strf("images/x.json: %s", cases[i].message);
                if (strstr(cases[i].keys, "\"base\"")) {
                        _cleanup_free_ char *text = strf(
                                        "{\"name\": \"x\", \"kernel\": {\"package\": \"linux\"}%s}",
                                        cases[i].keys);
                        put_file("images/x.json", text);
                } else
                        put_recipe("x", cases[i].keys);
                assert_refused(*state, "images/x.json", message);
        }
}

static void the_name_is_the_files(void **state) {
        put_recipe("x", "");
        assert_int_equal(rename("images/x.json", "images/y.json"), 0);
        assert_refused(*state, "images/y.json",
                        "images/y.json: $.name: \"x\" differs from the file's name; write \"y\"");
        put_file("images/z",
                        "{\"name\": \"z\", \"base\": {\"distro\": \"debian\", \"release\": \"trixie\"},"
                        "\"kernel\": {\"package\": \"linux-image-amd64\"}}");
        assert_refused(*state, "images/z", "images/z: a recipe's file name ends in .json");
}

static void what_is_missing_is_named(void **state) {
        Fixture *f = *state;

        put_file("images/x.json", "{}");
        assert_int_equal(load(f, "images/x.json"), -EINVAL);
        assert_int_equal(strv_length(f->lines), 4);
        assert_true(was_logged(f, "images/x.json: $.name: missing"));
        assert_true(was_logged(f,
                        "images/x.json: $.base.distro: missing: debian, ubuntu, oracle, rhel, rocky or alma"));
        assert_true(was_logged(f, "images/x.json: $.base.release: missing: a release"));
        assert_true(was_logged(
                        f, "images/x.json: $.kernel.package: missing: the package of the kernel"));
}

static void what_is_wrong_is_not_called_missing_too(void **state) {
        put_file("images/x.json",
                        "{\"name\": \"x\", \"base\": [], \"kernel\": {\"package\": \"linux-image-amd64\"}}");
        assert_refused(*state, "images/x.json",
                        "images/x.json: $.base: must be an object, not a list; its keys are distro, release, arch, "
                        "components, mirror, repositories, packages, image, sha256, signature, root");
        put_file("images/x.json",
                        "{\"name\": \"x\", \"base\": {\"distro\": \"debain\", \"release\": \"trixie\"},"
                        "\"kernel\": {\"package\": \"linux-image-amd64\"}}");
        assert_refused(*state, "images/x.json",
                        "images/x.json: $.base.distro: \"debain\" is not one of debian, ubuntu, oracle, rhel, rocky, alma; "
                        "did you mean \"debian\"?");
}

static void all_errors_come_in_one_go(void **state) {
        Fixture *f = *state;

        put_overlay("one", ", \"zebra\": 1, \"run\": [\"none.sh\"]");
        put_file("images/base.json",
                        "{\"name\": \"base\", \"base\": {\"distro\": \"debian\", \"release\": \"trixie\", \"arch\": \"vax\"}}");
        put_file("images/x.json",
                        "{\"name\": \"x\", \"extends\": \"base\", \"overlays\": [\"one\", \"tow\"],\"disk\": {\"size\": \"big\"}}");
        assert_int_equal(load(f, "images/x.json"), -EINVAL);
        assert_int_equal(strv_length(f->lines), 6);
        assert_true(was_logged(f, "images/x.json: $.disk.size: \"big\""));
        assert_true(was_logged(f, "images/base.json: $.base.arch: \"vax\""));
        assert_true(was_logged(f, "images/x.json: $.kernel.package: missing"));
        assert_true(was_logged(f, "overlays/one/overlay.json: $.zebra: unknown key"));
        assert_true(was_logged(f, "overlays/one/overlay.json: $.run[0]: there is no \"none.sh\""));
        assert_true(was_logged(f, "images/x.json: $.overlays[1]: there is no overlay \"tow\""));
}

static void very_many_errors_are_counted(void **state) {
        Fixture *f = *state;
        _cleanup_strv_free_ char **keys = NULL;

        for (int i = 0; i < 3000; i++)
                assert_int_equal(strv_extendf(&keys, ", \"key%d\": 1", i), 0);
        _cleanup_free_ char *text = strv_join(keys, "");
        put_recipe("x", text);
        assert_int_equal(load(f, "images/x.json"), -EINVAL);
        assert_int_equal(strv_length(f->lines), 101);
        assert_string_equal(f->lines[100], "error: … and 2900 more errors");
}

static void a_missing_recipe_suggests_its_neighbour(void **state) {
        put_recipe("debian-13-gpu", "");
        put_file("images/debian-13-cpu.lock.json", "{}");
        assert_refused(*state, "images/debian-13-gpo.json",
                        "images/debian-13-gpo.json: there is no such recipe; did you mean \"debian-13-gpu\"?");
}

static void what_is_no_json_file_gets_one_message(void **state) {
        Fixture *f = *state;

        put_file("images/empty.json", "");
        assert_refused(f, "images/empty.json", "images/empty.json:1:1: the file is empty");
        put_file("images/list.json", "[]");
        assert_refused(f, "images/list.json",
                        "images/list.json: must be an object, { … }, not a list");
        put_file("images/null.json", "null");
        assert_refused(f, "images/null.json",
                        "images/null.json: must be an object, { … }, not null");
        assert_int_equal(mkdir("images/folder.json", 0755), 0);
        assert_refused(f, "images/folder.json", "images/folder.json: is a folder, not a file");
        assert_int_equal(mkfifo("images/fifo.json", 0644), 0);
        assert_refused(f, "images/fifo.json",
                        "images/fifo.json: is a device, FIFO or socket, not a file");
        put_file("images/big.json", "");
        assert_int_equal(truncate("images/big.json", 100 * 1024 * 1024), 0);
        assert_refused(f, "images/big.json",
                        "images/big.json: larger than the 1024 KiB such a file may have");
}

static void a_recipe_without_permission_is_one_message(void **state) {
        Fixture *f = *state;
        bool root = geteuid() == 0;

        put_recipe("x", "");
        assert_int_equal(chmod("images/x.json", 0), 0);
        assert_int_equal(chmod(f->folder, 0755), 0);
        if (root) /* who could read it */
                assert_int_equal(seteuid(65534), 0);
        int r = load(f, "images/x.json");
        if (root)
                assert_int_equal(seteuid(0), 0);
        assert_int_equal(r, -EACCES);
        assert_int_equal(strv_length(f->lines), 1);
        assert_string_equal(f->lines[0], "error: images/x.json: cannot read it: Permission denied");
}

static void control_characters_stay_off_the_terminal(void **state) {
        put_recipe("x", ", \"\\u001b[2Jkey\": 1");
        assert_refused(*state, "images/x.json",
                        "images/x.json: $[\"?[2Jkey\"]: unknown key; known are name, extends, kind, base, kernel, overlays, "
                        "packages, disk, secrets, support, limits, node");
}

static void messages_name_paths_as_they_were_given(void **state) {
        Fixture *f = *state;
        _cleanup_free_ char *path = strf("%s/images/x.json", f->folder);
        _cleanup_free_ char *message = strf("%s: $.zebra: unknown key;", path);

        put_recipe("x", ", \"zebra\": 1");
        assert_int_equal(load(f, path), -EINVAL);
        assert_true(was_logged(f, message));
        assert_int_equal(load(f, "./images//x.json"), -EINVAL);
        assert_true(was_logged(f, "error: ./images//x.json: $.zebra: unknown key;"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
                TEST(reads_a_whole_recipe),
                TEST(fills_in_what_a_short_recipe_leaves_out),
                TEST(paths_are_absolute),
                TEST(a_tree_needs_no_kernel),
                TEST(a_tree_has_no_disk),
                TEST(a_tree_has_no_kernel_for_others),
                TEST(a_compile_on_python_needs_an_environment),
                TEST(a_compile_may_be_on_python_in_the_other_family_alone),
                TEST(an_environment_is_of_one_python),
                TEST(an_unknown_key_is_refused_with_the_nearest),
                TEST(a_key_in_the_wrong_place_is_told_its_place),
                TEST(a_key_like_no_other_lists_what_there_is),
                TEST(a_syntax_error_says_line_and_column),
                TEST(wrong_types_are_named),
                TEST(wrong_values_are_named),
                TEST(the_name_is_the_files),
                TEST(what_is_missing_is_named),
                TEST(what_is_wrong_is_not_called_missing_too),
                TEST(all_errors_come_in_one_go),
                TEST(very_many_errors_are_counted),
                TEST(a_missing_recipe_suggests_its_neighbour),
                TEST(what_is_no_json_file_gets_one_message),
                TEST(a_recipe_without_permission_is_one_message),
                TEST(control_characters_stay_off_the_terminal),
                TEST(messages_name_paths_as_they_were_given),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
