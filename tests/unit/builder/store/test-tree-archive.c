/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What tar finds in such an archive; whole trees are test-pack's. */

#include "folder-fixture.h"

#include "shared/spawn.h"
#include "shared/strv.h"
#include "store/tree-archive.h"

#include <fcntl.h>

#define LATEST 1000000000

static void sh(const char *script) {
        int status;

        assert_int_equal(spawn_run(NULL, ARGV("sh", "-ec", (char *) script), &status), 0);
        if (status != 0)
                fail_msg("exit code %d: %s", status, script);
}

/* Of these names of the current folder, unpacked in out/. */
static void archive(char *const *names, const char *label) {
        _cleanup_close_ int fd = open("tar", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644),
                            here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_tree_archive_ TreeArchive a = {};

        assert_int_equal(tree_archive_open(&a, fd, ATTRIBUTES_LABELLED, LATEST, 0), 0);
        STRV_FOREACH (name, names)
                assert_int_equal(tree_archive_add(&a, here, *name, *name, label), 0);
        assert_int_equal(tree_archive_close(&a), 0);
        sh("mkdir out; tar -C out --warning=no-unknown-keyword --xattrs --xattrs-include='*' -xpf tar");
}

#define LABELLED "echo x >file; setfattr -n security.selinux -v 'host_t' file; "
#define LABEL "getfattr --only-values -n security.selinux out/file 2>/dev/null | tr -d '\\000'"

static void a_label_takes_the_place_of_the_hosts(void **state _unused_) {
        sh(LABELLED);
        archive(ARGV("file"), "system_u:object_r:etc_t:s0");
        sh("test \"$(" LABEL ")\" = system_u:object_r:etc_t:s0");
}

static void no_label_is_none_of_the_hosts_either(void **state _unused_) {
        sh(LABELLED);
        archive(ARGV("file"), "");
        sh("test -z \"$(" LABEL ")\"");
}

static void the_set_decides_where_nobody_says(void **state _unused_) {
        sh(LABELLED);
        archive(ARGV("file"), NULL);
        sh("test \"$(" LABEL ")\" = host_t");
}

static void nothing_is_younger_than_the_latest_time(void **state _unused_) {
        sh("touch old new; touch -d @900000000 old");
        archive(ARGV("old", "new"), NULL);
        sh("test $(stat -c %Y out/old) = 900000000; test $(stat -c %Y out/new) = 1000000000");
}

static void names_of_one_file_stay_one_file(void **state _unused_) {
        sh("echo x >one; ln one two; echo y >other");
        archive(ARGV("one", "other", "two"), NULL);
        sh("test $(stat -c %i out/one) = $(stat -c %i out/two); test $(stat -c %h out/other) = 1");
}

static void a_name_whose_other_names_stay_out_is_a_file(void **state _unused_) {
        sh("echo x >one; ln one two");
        archive(ARGV("two"), NULL);
        sh("cmp two out/two; test $(stat -c %h out/two) = 1");
}

static void a_socket_is_told(void **state _unused_) {
        _cleanup_close_ int fd = open("tar", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        _cleanup_tree_archive_ TreeArchive a = {};

        sh("python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"socket\")'");
        assert_int_equal(tree_archive_open(&a, fd, ATTRIBUTES_LABELLED, LATEST, 0), 0);
        assert_int_equal(tree_archive_add(&a, AT_FDCWD, "socket", "socket", NULL), -ENOTSUP);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_label_takes_the_place_of_the_hosts),
                TEST(no_label_is_none_of_the_hosts_either),
                TEST(the_set_decides_where_nobody_says),
                TEST(nothing_is_younger_than_the_latest_time),
                TEST(names_of_one_file_stay_one_file),
                TEST(a_name_whose_other_names_stay_out_is_a_file),
                TEST(a_socket_is_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
