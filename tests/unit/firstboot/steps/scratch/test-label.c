/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A label of SELinux's for a scratch volume: when restorecon is called. */

#include "root-fixture.h"
#include "steps/scratch/label.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define DOUBLE "#!/bin/sh\necho \"$@\" >\"$FIRSTBOOT_ROOT/called\"\n"

/* A scratch volume that is a folder, on PATH a double of restorecon alone. The caller frees. */
static char *machine(void) {
        char *volume = fb_path("/scratch");
        _cleanup_free_ char *program = fb_path("/bin/restorecon"), *bin = fb_path("/bin");

        root_put("/bin/restorecon", DOUBLE);
        assert_return_code(chmod(program, 0755), 0);
        assert_return_code(mkdir(volume, 0755), 0);
        assert_return_code(setenv("PATH", bin, 1), 0);
        return volume;
}

static bool is_called(void) {
        _cleanup_free_ char *called = fb_path("/called");

        return access(called, F_OK) == 0;
}

static void a_new_file_system_gets_a_label(void **state) {
        _cleanup_free_ char *volume = machine(), *called = fb_path("/called"), *text = NULL;
        _cleanup_free_ char *wanted = NULL;

        (void) state;
        if (getxattr(volume, "security.selinux", NULL, 0) >= 0 || errno != ENODATA)
                skip(); /* this host has SELinux on, or a /tmp without labels */
        root_put("/sys/fs/selinux/enforce", "1");
        scratch_label(volume);
        assert_return_code(read_file(called, 4096, &text, NULL), 0);
        assert_return_code(asprintf(&wanted, "%s\n", volume), 0);
        assert_string_equal(text, wanted);
}

/* Whether restorecon is called for a volume whose label is this one. */
static bool is_relabelled(const char *label) {
        _cleanup_free_ char *volume = machine();

        if (setxattr(volume, "security.selinux", label, strlen(label) + 1, 0) < 0)
                skip(); /* a /tmp without labels, or not root */
        root_put("/sys/fs/selinux/enforce", "1");
        scratch_label(volume);
        return is_called();
}

static void one_with_a_label_keeps_it(void **state) {
        (void) state;
        assert_false(is_relabelled("system_u:object_r:tmp_t:s0"));
}

static void what_the_kernel_calls_unlabelled_gets_one(void **state) {
        (void) state;
        assert_true(is_relabelled("system_u:object_r:unlabeled_t:s0"));
}

static void so_does_what_it_has_no_words_for(void **state) {
        (void) state;
        assert_true(is_relabelled("unlabeled"));
}

static void without_selinux_nothing_is_called(void **state) {
        _cleanup_free_ char *volume = machine();

        (void) state;
        scratch_label(volume);
        assert_false(is_called());
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, root_setup, root_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_new_file_system_gets_a_label),
                TEST(one_with_a_label_keeps_it),
                TEST(what_the_kernel_calls_unlabelled_gets_one),
                TEST(so_does_what_it_has_no_words_for),
                TEST(without_selinux_nothing_is_called),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
