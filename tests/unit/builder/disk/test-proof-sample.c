/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "disk/proof-sample.h"
#include "store/store.h"
#include "shared/file-util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <cmocka.h>

/* A store with one layer: what a kernel and a distribution always have, and 300 files. */
typedef struct World {
        char folder[64];
        char *layer, *layers[2];
        Store *store;
        Recipe recipe;
        Plan plan;
        Lock lock;
} World;

static void put(World *w, const char *name, const char *text, mode_t mode) {
        _cleanup_free_ char *path = path_join(w->layer, name);

        assert_int_equal(mkdir_parents(path, 0755), 0);
        assert_int_equal(write_file_atomic(path, text, strlen(text), mode), 0);
}

static int setup(void **state) {
        World *w = calloc(1, sizeof(*w));
        _cleanup_free_ char *store = NULL, *link = NULL;

        if (geteuid() != 0) { /* overlay mounts are root's, or a user namespace's */
                free(w);
                return 0;
        }
        strcpy(w->folder, "/tmp/test-proof-XXXXXX");
        if (!mkdtemp(w->folder))
                return -1;
        w->layer = path_join(w->folder, "layer");
        w->layers[0] = w->layer;
        w->lock.epoch = 1000000000;
        w->plan = (Plan) { .recipe = &w->recipe, .kernel = "1.0", .lock = &w->lock };
        store = path_join(w->folder, "store");
        link = path_join(w->layer, "etc/os-release");
        put(w, "boot/vmlinuz-1.0", "kernel", 0644);
        put(w, "boot/initrd.img-1.0", "initramfs", 0600);
        put(w, "usr/lib/os-release", "ID=x\n", 0644);
        put(w, "usr/bin/su", "su", 04755);
        put(w, "etc/fstab", "x", 0644);
        for (int i = 0; i < 300; i++) {
                _cleanup_free_ char *name = strf("usr/share/x/%d", i);
                put(w, name, name, 0644);
        }
        if (symlink("../usr/lib/os-release", link) < 0 || store_open(store, &w->store) < 0)
                return -1;
        *state = w;
        return 0;
}

static int teardown(void **state) {
        World *w = *state;

        if (!w)
                return 0;
        store_free(w->store);
        rm_rf(w->folder);
        free(w->layer);
        free(w);
        return 0;
}

static const Sample *find(const Samples *s, const char *path) {
        for (size_t i = 0; i < s->n; i++)
                if (streq(s->samples[i].path, path))
                        return s->samples + i;
        return NULL;
}

static World *world(void **state) {
        if (!*state)
                skip();
        return *state;
}

static Samples take(World *w) {
        char *left_out[] = { (char *) "/etc/fstab", NULL };
        Samples s;

        assert_int_equal(samples_take(w->store, &w->plan, w->layers, left_out, &s), 0);
        return s;
}

static void what_boots_is_always_in_the_sample(void **state) {
        _cleanup_samples_ Samples s = take(world(state));

        assert_non_null(find(&s, "/boot/vmlinuz-1.0"));
        assert_non_null(find(&s, "/usr/lib/os-release"));
        assert_string_equal(find(&s, "/etc/os-release")->target, "../usr/lib/os-release");
        assert_int_equal(find(&s, "/boot/initrd.img-1.0")->mode, S_IFREG | 0600);
        assert_int_equal(find(&s, "/boot/initrd.img-1.0")->size, strlen("initramfs"));
}

static void times_are_clamped_to_the_epoch(void **state) {
        _cleanup_samples_ Samples s = take(world(state));

        assert_int_equal(find(&s, "/boot/vmlinuz-1.0")->mtime, 1000000000);
}

static void files_with_rights_are_always_in_the_sample(void **state) {
        _cleanup_samples_ Samples s = take(world(state));

        assert_int_equal(find(&s, "/usr/bin/su")->mode, S_IFREG | 04755);
}

/* For its owner, a user 4321, its group, the mask and all others, as the kernel has it. */
static const unsigned char access_list[] = { 2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 4, 0,
        0xe1, 0x10, 0, 0, 4, 0, 4, 0, 255, 255, 255, 255, 16, 0, 4, 0, 255, 255, 255, 255, 32, 0, 4,
        0, 255, 255, 255, 255 };

static void give_access_list(World *w) {
        _cleanup_free_ char *path = path_join(w->layer, "usr/share/x/7");

        if (lsetxattr(path, "system.posix_acl_access", access_list, sizeof(access_list), 0) < 0)
                skip(); /* the file system of /tmp has none */
}

static void access_lists_are_always_in_the_sample(void **state) {
        World *w = world(state);

        give_access_list(w);
        _cleanup_samples_ Samples s = take(w);
        const Sample *file = find(&s, "/usr/share/x/7");

        assert_non_null(file);
        assert_true(startswith(file->rights, "system.posix_acl_access=020000000100"));
}

static void on_xfs_only_capabilities_are(void **state) {
        World *w = world(state);
        char filesystem[] = "xfs";

        give_access_list(w);
        w->recipe.disk.filesystem = filesystem;
        _cleanup_samples_ Samples s = take(w);
        w->recipe.disk.filesystem = NULL;
        const Sample *file = find(&s, "/usr/share/x/7");

        assert_true(!file || !file->rights);
}

static void the_sample_has_its_size_and_no_file_of_the_disk(void **state) {
        _cleanup_samples_ Samples s = take(world(state));

        assert_in_range(s.n, PROOF_SAMPLE, PROOF_SAMPLE + 8);
        assert_null(find(&s, "/etc/fstab"));
}

static void two_samples_are_the_same(void **state) {
        _cleanup_samples_ Samples a = take(world(state)), b = take(world(state));

        assert_int_equal(a.n, b.n);
        for (size_t i = 0; i < a.n; i++) {
                assert_string_equal(a.samples[i].path, b.samples[i].path);
                assert_string_equal(a.samples[i].sha256, b.samples[i].sha256);
        }
}

static void a_tree_without_its_kernel_is_an_error(void **state) {
        World *w = world(state);
        Plan plan = { .recipe = &w->recipe, .kernel = "2.0", .lock = &w->lock };
        Samples s = {};

        assert_int_equal(samples_take(w->store, &plan, w->layers, NULL, &s), -ENOENT);
        assert_null(s.samples);
}

static void ranks_spread_neighbours(void **state _unused_) {
        uint64_t a = sample_rank("/usr/share/x/1"), b = sample_rank("/usr/share/x/2");

        assert_true(a != b);
        assert_true((a >> 56) != (b >> 56));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_boots_is_always_in_the_sample),
                cmocka_unit_test(times_are_clamped_to_the_epoch),
                cmocka_unit_test(files_with_rights_are_always_in_the_sample),
                cmocka_unit_test(access_lists_are_always_in_the_sample),
                cmocka_unit_test(on_xfs_only_capabilities_are),
                cmocka_unit_test(the_sample_has_its_size_and_no_file_of_the_disk),
                cmocka_unit_test(two_samples_are_the_same),
                cmocka_unit_test(a_tree_without_its_kernel_is_an_error),
                cmocka_unit_test(ranks_spread_neighbours),
        };
        return cmocka_run_group_tests(tests, setup, teardown);
}
