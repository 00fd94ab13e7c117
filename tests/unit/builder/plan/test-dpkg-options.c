/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/internal.h"
#include "shared/file-util.h"
#include "shared/strv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <cmocka.h>

typedef struct World {
        char folder[64];
        Overlay first, second, *overlays[3];
        Recipe recipe;
} World;

static void put(World *w, const char *name, const char *text) {
        _cleanup_free_ char *path = path_join(w->folder, name);

        assert_int_equal(mkdir_parents(path, 0755), 0);
        assert_int_equal(write_file_atomic(path, text, strlen(text), 0644), 0);
}

static int setup(void **state) {
        World *w = calloc(1, sizeof(*w));

        strcpy(w->folder, "/tmp/test-dpkg-options-XXXXXX");
        if (!mkdtemp(w->folder))
                return -1;
        w->first = (Overlay) { .name = (char *) "first", .path = path_join(w->folder, "first") };
        w->second = (Overlay) { .name = (char *) "second", .path = path_join(w->folder, "second") };
        w->overlays[0] = &w->first;
        w->overlays[1] = &w->second;
        w->recipe = (Recipe) { .overlays = w->overlays, .n_overlays = 2 };
        *state = w;
        return 0;
}

static int teardown(void **state) {
        World *w = *state;

        rm_rf(w->folder);
        free(w->first.path);
        free(w->second.path);
        free(w);
        return 0;
}

static char *options(World *w) {
        _cleanup_strv_free_ char **l = NULL;

        assert_int_equal(dpkg_options_load(&w->recipe, &l), 0);
        return l ? strv_join(l, " ") : strdup("");
}

static void overlays_without_configuration_give_none(void **state) {
        _cleanup_free_ char *o = options(*state);

        assert_string_equal(o, "");
}

static void lines_become_options(void **state) {
        put(*state, "first/files/etc/dpkg/dpkg.cfg.d/slim",
                        "# a comment\n\npath-exclude=/usr/share/man/*\n"
                        "  path-include /usr/share/man/man1/*  \nno-debsig\n");
        _cleanup_free_ char *o = options(*state);

        assert_string_equal(o,
                        "--path-exclude=/usr/share/man/* --path-include=/usr/share/man/man1/* --no-debsig");
}

static void files_count_in_the_order_of_their_names(void **state) {
        put(*state, "first/files/etc/dpkg/dpkg.cfg.d/20-b", "path-include=/b\n");
        put(*state, "second/files/etc/dpkg/dpkg.cfg.d/10-a", "path-exclude=/*\n");
        _cleanup_free_ char *o = options(*state);

        assert_string_equal(o, "--path-exclude=/* --path-include=/b");
}

static void a_later_overlays_file_replaces_one_of_its_name(void **state) {
        put(*state, "first/files/etc/dpkg/dpkg.cfg.d/slim", "path-exclude=/a\n");
        put(*state, "second/files/etc/dpkg/dpkg.cfg.d/slim", "path-exclude=/b\n");
        _cleanup_free_ char *o = options(*state);

        assert_string_equal(o, "--path-exclude=/b");
}

static void files_that_dpkg_does_not_read_do_not_count(void **state) {
        put(*state, "first/files/etc/dpkg/dpkg.cfg.d/slim.disabled", "path-exclude=/a\n");
        _cleanup_free_ char *o = options(*state);

        assert_string_equal(o, "");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(
                                overlays_without_configuration_give_none, setup, teardown),
                cmocka_unit_test_setup_teardown(lines_become_options, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                files_count_in_the_order_of_their_names, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                a_later_overlays_file_replaces_one_of_its_name, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                files_that_dpkg_does_not_read_do_not_count, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
