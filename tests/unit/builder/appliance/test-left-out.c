/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "appliance/left-out.h"
#include "recipe-fixture.h"

#include "shared/spawn.h"

/* Each is a file, or the folder of one. */
static const struct {
        const char *path;
        bool stays;
} paths[] = {
        { "dev/null", true },
        { "devices/null", false },
        { "srv/dev/null", false },
        { "run/a/b", true },
        { "tmp/x", true },
        { "var/tmp/x", false },
        { "proc/1", true },
        { "sys/x", true },
        { "lost+found/x", true },
        { "srv/deep/lost+found/x", true },
        { "srv/lost+found.txt", false },
        { "boot/loader/entries/a.conf", true },
        { "boot/loader/loader.conf", false },
        { "var/lib/rpm/__db.001", true },
        { "var/lib/rpm/Packages", false },
        { "srv/var/lib/rpm/__db.001", false },
};

/* As both readers go through a tree: what lies below something that is left out is not looked
 * at. */
static bool stays(const char *path) {
        _cleanup_free_ char *part = strdup(path);

        for (size_t i = 0; part[i]; i++)
                if (part[i] == '/') {
                        part[i] = '\0';
                        if (left_out(part))
                                return true;
                        part[i] = '/';
                }
        return left_out(path);
}

static void it_stays_behind_or_comes(void **state _unused_) {
        for (size_t i = 0; i < ELEMENTSOF(paths); i++)
                if (stays(paths[i].path) != paths[i].stays)
                        fail_msg("%s", paths[i].path);
}

static void tar_leaves_out_the_same(void **state _unused_) {
        _cleanup_free_ char *options = left_out_options(), *script = NULL, *list = NULL;
        int status;

        for (size_t i = 0; i < ELEMENTSOF(paths); i++) {
                _cleanup_free_ char *path = strf("tree/%s", paths[i].path);

                put_file(path, "");
        }
        script = strf("cd tree && tar --create --anchored %s . | tar --list", options);
        assert_int_equal(spawn_capture(NULL, ARGV("sh", "-c", script), &list, &status), 0);
        assert_int_equal(status, 0);
        for (size_t i = 0; i < ELEMENTSOF(paths); i++) {
                _cleanup_free_ char *line = strf("./%s\n", paths[i].path);

                if (!strstr(list, line) != paths[i].stays)
                        fail_msg("%s", paths[i].path);
        }
        assert_non_null(strstr(list, "./dev/\n"));
        assert_non_null(strstr(list, "./boot/loader/entries/\n"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
                TEST(it_stays_behind_or_comes),
                TEST(tar_leaves_out_the_same),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
