/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Where a sandbox mounts: never through a link of the tree's, and without a trace in the layer. The
 * host's devices keep their modes. */

#include "sandbox-fixture.h"

static void the_hosts_device_nodes_keep_their_modes(void **state _unused_) {
        requires_namespaces();
        struct stat before, after;

        assert_int_equal(stat("/dev/full", &before), 0);
        int r = sh(&f.sandbox, "chmod 0600 /dev/full", NULL);
        assert_int_equal(stat("/dev/full", &after), 0);
        chmod("/dev/full", before.st_mode & 07777);
        assert_int_not_equal(r, 0);
        assert_int_equal(after.st_mode, before.st_mode);
        /* Standard input is /dev/null, opened on the host. To the mode that it has: no harm
         * done. */
        assert_int_not_equal(sh(&f.sandbox, "chmod 0666 /proc/self/fd/0", NULL), 0);
        assert_int_equal(sh(&f.sandbox, "echo >/dev/null && head -c1 /dev/zero >/dev/null", NULL),
                        0);
}

static void a_bound_device_works_and_keeps_its_mode(void **state _unused_) {
        requires_namespaces();
        SandboxBind binds[] = { f.usr, { "/dev/zero", "/dev/disk0", false, true } };
        Sandbox s = f.sandbox;

        s.binds = binds;
        s.n_binds = ELEMENTSOF(binds);
        assert_int_equal(
                        sh(&s, "test $(head -c 5 /dev/disk0 | wc -c) = 5 && echo >/dev/disk0 && ! chmod 0666 /dev/disk0",
                                        NULL),
                        0);
}

static void binds_leave_no_mount_point_in_the_layer(void **state _unused_) {
        requires_namespaces();
        _cleanup_free_ char *source = path_join(f.path, "source"),
                            *file = path_join(f.path, "source/x"),
                            *left = path_join(f.upper, "opt");
        put(f.path, "source/x", "bound\n");
        SandboxBind binds[] = { f.usr, { source, "/opt/deep/folder", false },
                { file, "/opt/file", false }, { source, "/run/imgbuild/src", true } };
        Sandbox s = f.sandbox;

        s.binds = binds;
        s.n_binds = ELEMENTSOF(binds);
        assert_int_equal(
                        sh(&s,
                                        "grep -q bound /opt/deep/folder/x /opt/file && ! (: > /opt/file) 2>/dev/null && "
                                        "echo changed > /run/imgbuild/src/x",
                                        NULL),
                        0);
        assert_int_equal(access(left, F_OK), -1);
        _cleanup_free_ char *text = NULL;
        assert_int_equal(read_file(file, 100, &text, NULL), 0);
        assert_string_equal(text, "changed\n");
}

/* In place of a folder of the tree: where bubblewrap would find the test's own folder "host". */
static void link_out(const char *name) {
        _cleanup_free_ char *path = path_join(f.lower, name), *host = path_join(f.path, "host"),
                            *target = strf("/../oldroot%s", host);

        assert_int_equal(mkdir_p(host, 0755), 0);
        (void) rmdir(path);
        assert_int_equal(symlink(target, path), 0);
}

static bool host_is_empty(void) {
        _cleanup_free_ char *host = path_join(f.path, "host");

        return rmdir(host) == 0;
}

static void nothing_is_bound_through_a_link(void **state _unused_) {
        requires_namespaces();
        SandboxBind binds[] = { f.usr, { "/etc/passwd", "/opt/made", false } };
        Sandbox s = f.sandbox;

        s.binds = binds;
        s.n_binds = ELEMENTSOF(binds);
        link_out("opt");
        assert_int_equal(sh(&s, "true", NULL), -ELOOP);
        assert_true(host_is_empty());
}

static void nothing_of_its_own_is_mounted_through_a_link(void **state _unused_) {
        requires_namespaces();
        link_out("tmp");
        assert_int_equal(sh(&f.sandbox, "true", NULL), -ELOOP);
        assert_true(host_is_empty());
}

static void the_resolvers_link_is_followed_inside(void **state _unused_) {
        requires_namespaces();
        Sandbox s = f.sandbox;
        _cleanup_free_ char *link = path_join(f.lower, "etc/resolv.conf");

        if (access("/etc/resolv.conf", F_OK) < 0)
                skip();
        s.network = true;
        link_out("etc/resolv.conf");
        assert_int_equal(sh(&s, "test -e /etc/resolv.conf", NULL), 0);
        assert_true(host_is_empty());

        assert_int_equal(unlink(link), 0);
        assert_int_equal(symlink("../run/systemd/resolve/stub-resolv.conf", link), 0);
        assert_int_equal(
                        sh(&s, "test -e /etc/resolv.conf && test -e /run/systemd/resolve/stub-resolv.conf",
                                        NULL),
                        0);
}

static void the_resolvers_folder_is_no_link(void **state _unused_) {
        requires_namespaces();
        Sandbox s = f.sandbox;
        _cleanup_free_ char *below = path_join(f.lower, "etc/below");

        if (access("/etc/resolv.conf", F_OK) < 0)
                skip();
        s.network = true;
        assert_int_equal(unlink(below), 0);
        link_out("etc");
        assert_int_equal(sh(&s, "true", NULL), -ELOOP);
        assert_true(host_is_empty());
}

int main(int argc, char *argv[]) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(
                                the_hosts_device_nodes_keep_their_modes, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                a_bound_device_works_and_keeps_its_mode, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                binds_leave_no_mount_point_in_the_layer, setup, teardown),
                cmocka_unit_test_setup_teardown(nothing_is_bound_through_a_link, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                nothing_of_its_own_is_mounted_through_a_link, setup, teardown),
                cmocka_unit_test_setup_teardown(
                                the_resolvers_link_is_followed_inside, setup, teardown),
                cmocka_unit_test_setup_teardown(the_resolvers_folder_is_no_link, setup, teardown),
        };

        if (geteuid() != 0 && userns_enter(argc, argv) < 0) {
                print_message("needs root or a user namespace\n");
                return 77;
        }
        return cmocka_run_group_tests(tests, NULL, NULL);
}
