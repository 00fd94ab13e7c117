/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Files that give rights to who runs or opens them are listed, and no others. */

#include "check-fixture.h"

#include <linux/capability.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

static json_object *entry(CheckFixture *f, const char *path) {
        json_object *list;

        findings_done(&f->findings);
        assert_int_equal(rules_run(f->folder, NULL, NULL, &f->findings, NULL), 0);
        list = f->findings.privileged;
        for (size_t i = 0; list && i < json_object_array_length(list); i++) {
                json_object *o = json_object_array_get_idx(list, i);

                if (streq(json_get_string(o, "path"), path))
                        return o;
        }
        return NULL;
}

static void program(const char *path, mode_t mode) {
        put(path, "x");
        assert_int_equal(chmod(path, mode), 0);
}

static void a_plain_tree_has_none(void **state) {
        program("usr/bin/plain", 0755);
        assert_null(entry(*state, "/usr/bin/plain"));
        assert_null(((CheckFixture *) *state)->findings.privileged);
}

static void set_uid_programs_are_listed(void **state) {
        json_object *o;

        program("usr/bin/su", 04755);
        o = entry(*state, "/usr/bin/su");
        assert_non_null(o);
        assert_string_equal(json_get_string(o, "mode"), "4755");
        assert_int_equal(json_get_int(o, "uid", -1), geteuid());
}

static void set_gid_programs_are_listed(void **state) {
        program("opt/deep/down/write", 02755);
        assert_non_null(entry(*state, "/opt/deep/down/write"));
}

static void a_set_gid_folder_gives_nobody_rights(void **state) {
        assert_int_equal(mkdir("srv", 0755), 0);
        assert_int_equal(chmod("srv", 02775), 0);
        assert_null(entry(*state, "/srv"));
}

static void a_link_is_not_followed_out(void **state) {
        put_link("usr/bin/out", "/usr/bin/su");
        assert_null(entry(*state, "/usr/bin/out"));
}

static void capabilities_are_named(void **state) {
        const struct vfs_cap_data data = {
                .magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
                .data = { { .permitted = 1u << 13 | 1u << 12 }, { .permitted = 1u << (39 - 32) } },
        };
        json_object *o;

        program("usr/bin/ping", 0755);
        if (setxattr("usr/bin/ping", "security.capability", &data, sizeof(data), 0) < 0) {
                print_message("file capabilities need root and a file system that has them\n");
                skip();
        }
        o = entry(*state, "/usr/bin/ping");
        assert_non_null(o);
        assert_string_equal(
                        json_get_string(o, "capabilities"), "cap_net_admin,cap_net_raw,cap_bpf");
}

static void devices_are_listed(void **state) {
        json_object *o;

        if (mknod("usr/disk", S_IFBLK | 0600, makedev(8, 1)) < 0) {
                print_message("device nodes need root\n");
                skip();
        }
        o = entry(*state, "/usr/disk");
        assert_non_null(o);
        assert_string_equal(json_get_string(o, "device"), "block 8:1");
}

/* A file's owner and mode, and what one more user and group may do. */
static const uint8_t acl[] = { 2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 6, 0, 0xe8, 3, 0,
        0, 4, 0, 4, 0, 255, 255, 255, 255, 8, 0, 5, 0, 7, 0, 0, 0, 0x10, 0, 7, 0, 255, 255, 255,
        255, 0x20, 0, 0, 0, 255, 255, 255, 255 };

static bool set_acl(const char *path, const char *name, const void *value, size_t size) {
        return setxattr(path, name, value, size, 0) >= 0;
}

static void access_lists_that_name_somebody_are_listed(void **state) {
        json_object *o;

        put("etc/shadow", "x");
        if (!set_acl("etc/shadow", "system.posix_acl_access", acl, sizeof(acl))) {
                print_message("access lists need a file system that has them\n");
                skip();
        }
        o = entry(*state, "/etc/shadow");
        assert_non_null(o);
        assert_string_equal(json_get_string(o, "acl"), "user 1000 rw-, group 7 r-x");
}

static void a_folders_default_list_is_listed(void **state) {
        json_object *o;

        assert_int_equal(mkdir("srv", 0755), 0);
        if (!set_acl("srv", "system.posix_acl_default", acl, sizeof(acl))) {
                print_message("access lists need a file system that has them\n");
                skip();
        }
        o = entry(*state, "/srv");
        assert_non_null(o);
        assert_string_equal(
                        json_get_string(o, "acl"), "default user 1000 rw-, default group 7 r-x");
}

static void a_list_without_names_is_a_mode(void **state) {
        static const uint8_t plain[] = { 2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 4, 0, 4, 0,
                255, 255, 255, 255, 0x20, 0, 0, 0, 255, 255, 255, 255 };

        assert_int_equal(mkdir("srv", 0755), 0);
        (void) set_acl("srv", "system.posix_acl_default", plain, sizeof(plain));
        assert_null(entry(*state, "/srv"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TREE(a_plain_tree_has_none),
                TREE(set_uid_programs_are_listed),
                TREE(set_gid_programs_are_listed),
                TREE(a_set_gid_folder_gives_nobody_rights),
                TREE(a_link_is_not_followed_out),
                TREE(capabilities_are_named),
                TREE(devices_are_listed),
                TREE(access_lists_that_name_somebody_are_listed),
                TREE(a_folders_default_list_is_listed),
                TREE(a_list_without_names_is_a_mode),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
