/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lock/internal.h"
#include "shared/file-util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <cmocka.h>

typedef struct World {
        char root[64];
} World;

static char *at(World *w, const char *name) {
        char *path = path_join(w->root, name);

        assert_non_null(path);
        return path;
}

static int setup(void **state) {
        static const char status[] = "Package: libc6\nStatus: install ok installed\nVersion: 1\n\n"
                                     "Package: libtsan2-extra\nVersion: 1\n\n";
        World *w = calloc(1, sizeof(*w));

        strcpy(w->root, "/tmp/test-assumed-XXXXXX");
        if (!mkdtemp(w->root))
                return -1;
        _cleanup_free_ char *path = at(w, "var/lib/dpkg/status"),
                            *info = at(w, "var/lib/dpkg/info");
        assert_int_equal(mkdir_p(info, 0755), 0);
        assert_int_equal(write_file_atomic(path, status, strlen(status), 0644), 0);
        *state = w;
        return 0;
}

static int teardown(void **state) {
        World *w = *state;

        rm_rf(w->root);
        free(w);
        return 0;
}

static char *status_with(World *w, char *const *names) {
        _cleanup_free_ char *path = at(w, "var/lib/dpkg/status");
        char *text = NULL;

        assert_int_equal(assumed_add(w->root, names, "amd64"), 0);
        assert_int_equal(read_file(path, 65536, &text, NULL), 0);
        return text;
}

static void a_package_is_added_behind_those_there_are(void **state) {
        char *names[] = { (char *) "libtsan2", NULL };
        _cleanup_free_ char *text = status_with(*state, names);

        assert_non_null(startswith(text, "Package: libc6\n"));
        assert_non_null(strstr(text, "\n\nPackage: libtsan2\nStatus: install ok installed\n"));
        assert_non_null(strstr(text, "\nArchitecture: amd64\nVersion: 9999:0\n"));
}

static void a_package_that_is_there_stays_as_it_is(void **state) {
        char *names[] = { (char *) "libc6", NULL };
        _cleanup_free_ char *text = status_with(*state, names);

        assert_null(strstr(text, "9999"));
}

static void one_whose_name_only_begins_so_does_not_count(void **state) {
        char *names[] = { (char *) "libtsan2", NULL };
        _cleanup_free_ char *text = status_with(*state, names);

        assert_non_null(strstr(text, "Package: libtsan2-extra\n"));
        assert_non_null(strstr(text, "Package: libtsan2\n"));
}

static void it_has_an_empty_list_of_files(void **state) {
        World *w = *state;
        char *names[] = { (char *) "libtsan2", NULL };
        _cleanup_free_ char *text = status_with(w, names), *list = NULL,
                            *path = at(w, "var/lib/dpkg/info/libtsan2.list");

        assert_int_equal(read_file(path, 10, &list, NULL), 0);
        assert_string_equal(list, "");
}

static void a_tree_without_dpkg_is_an_error(void **state) {
        World *w = *state;
        char *names[] = { (char *) "libtsan2", NULL };
        _cleanup_free_ char *var = at(w, "var");

        assert_int_equal(rm_rf(var), 0);
        assert_int_equal(assumed_add(w->root, names, "amd64"), -ENOENT);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* dpkg's folder is a package's to change. */
static void a_pipe_in_place_of_the_database_holds_nobody_up(void **state) {
        World *w = *state;
        char *names[] = { (char *) "libtsan2", NULL };
        _cleanup_free_ char *path = at(w, "var/lib/dpkg/status"),
                            *list = at(w, "var/lib/dpkg/info/libtsan2.list");

        alarm(10);
        assert_int_equal(mkfifo(list, 0600), 0);
        assert_int_equal(assumed_add(w->root, names, "amd64"), -ENXIO);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(mkfifo(path, 0600), 0);
        assert_int_equal(assumed_add(w->root, names, "amd64"), -EINVAL);
        alarm(0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_package_is_added_behind_those_there_are),
                TEST(a_package_that_is_there_stays_as_it_is),
                TEST(one_whose_name_only_begins_so_does_not_count),
                TEST(it_has_an_empty_list_of_files),
                TEST(a_pipe_in_place_of_the_database_holds_nobody_up),
                TEST(a_tree_without_dpkg_is_an_error),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
