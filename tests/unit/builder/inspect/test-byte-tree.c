/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/byte-tree.h"
#include "inspect/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>

#include <cmocka.h>

static void add(FileList *l, const char *path, uint64_t size, const char *content) {
        assert_int_equal(file_list_add(l, path, S_IFREG | 0644, 0, 0, size, content), 0);
}

static const ByteTree *child(const ByteTree *t, const char *name) {
        for (size_t i = 0; i < t->n; i++)
                if (streq(t->children[i].name, name))
                        return t->children + i;
        fail_msg("%s has no %s", t->name, name);
        return NULL;
}

#define assert_bytes(t, b, a, c)                     \
        do {                                         \
                assert_int_equal((t)->before, (b));  \
                assert_int_equal((t)->after, (a));   \
                assert_int_equal((t)->changed, (c)); \
        } while (0)

static void folders_have_what_is_in_them(void **state _unused_) {
        _cleanup_file_list_free_ FileList *a = file_list_new(), *b = file_list_new();
        _cleanup_byte_tree_ ByteTree *t = NULL;

        add(a, "usr/bin/same", 100, "s");
        add(b, "usr/bin/same", 100, "s");
        add(a, "usr/bin/grown", 10, "x");
        add(b, "usr/bin/grown", 30, "y");
        add(a, "usr/bin/other", 7, "x");
        add(b, "usr/bin/other", 7, "y");
        add(a, "usr/bin-gone", 5, "x");
        add(b, "usr/lib/new", 1000, "x");
        add(b, "empty", 0, "x");
        assert_int_equal(file_list_add(b, "usr", S_IFDIR | 0755, 0, 0, 4096, NULL), 0);
        assert_int_equal(byte_tree_new(a, b, &t), 0);

        assert_bytes(t, 122, 1137, 1037);
        assert_int_equal(t->n, 1);
        const ByteTree *usr = child(t, "usr"), *bin = child(usr, "bin");
        assert_int_equal(usr->n, 3);
        assert_string_equal(usr->children[0].name, "lib"); /* the largest first */
        assert_bytes(bin, 117, 137, 37);
        assert_bytes(child(bin, "same"), 100, 100, 0);
        assert_bytes(child(bin, "grown"), 10, 30, 30);
        assert_bytes(child(bin, "other"), 7, 7, 7);
        assert_bytes(child(usr, "bin-gone"), 5, 0, 0);
        assert_bytes(child(child(usr, "lib"), "new"), 0, 1000, 1000);
}

static void a_file_may_have_become_a_folder(void **state _unused_) {
        _cleanup_file_list_free_ FileList *a = file_list_new(), *b = file_list_new();
        _cleanup_byte_tree_ ByteTree *t = NULL;

        add(a, "opt/x", 3, "x");
        add(b, "opt/x/y", 4, "y");
        add(b, "opt/x-y", 5, "y");
        assert_int_equal(byte_tree_new(a, b, &t), 0);
        const ByteTree *x = child(child(t, "opt"), "x");
        assert_bytes(x, 3, 4, 4);
        assert_int_equal(x->n, 1);
        assert_bytes(t, 3, 9, 9);
}

static void nothing_is_a_tree_too(void **state _unused_) {
        _cleanup_file_list_free_ FileList *a = file_list_new(), *b = file_list_new();
        _cleanup_byte_tree_ ByteTree *t = NULL;

        assert_int_equal(byte_tree_new(a, b, &t), 0);
        assert_bytes(t, 0, 0, 0);
        assert_int_equal(t->n, 0);
}

/* A path as deep as somebody likes it is no deep recursion. */
static void depth_has_a_limit(void **state _unused_) {
        _cleanup_file_list_free_ FileList *a = file_list_new(), *b = file_list_new();
        _cleanup_free_ char *path = calloc(1, 200001);
        _cleanup_byte_tree_ ByteTree *t = NULL;
        unsigned depth = 0;

        for (size_t i = 0; i < 200000; i++)
                path[i] = i % 2 ? '/' : 'd';
        path[199999] = 'f';
        add(b, path, 7, "x");
        assert_int_equal(byte_tree_new(a, b, &t), 0);
        assert_bytes(t, 0, 7, 7);
        for (const ByteTree *c = t; c->n > 0; c = c->children)
                depth++;
        assert_in_range(depth, 10, 100);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(folders_have_what_is_in_them),
                cmocka_unit_test(a_file_may_have_become_a_folder),
                cmocka_unit_test(nothing_is_a_tree_too),
                cmocka_unit_test(depth_has_a_limit),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
