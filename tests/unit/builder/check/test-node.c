/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* node.sysctl: settings that the image's kernel does not have, by a made kernel packed as real ones
 * are. */

#include "check-fixture.h"
#include "shared/json-util.h"

#include <endian.h>

#define PIECE (256 * 1024) /* what is read at once: the word below lies across two pieces */

/* A kernel's file: loader, header, and what is packed behind it. */
static void put_kernel(const char *path, int filter) {
        _cleanup_free_ char *plain = calloc(1, PIECE + 4096), *packed = NULL;
        uint8_t loader[5 * 512 + 16] = {};
        uint32_t place[2];
        size_t size;
        FILE *f;

        assert_non_null(plain);
        memset(plain, 'x', PIECE + 4096);
        memcpy(plain + 100, "\0swappiness", 12);
        memcpy(plain + PIECE - 4, "\0somaxconn", 11);
        memcpy(plain + PIECE + 1000, "\0nf_log", 8);
        f = fopen("plain", "we");
        assert_non_null(f);
        assert_int_equal(fwrite(plain, 1, PIECE + 4096, f), PIECE + 4096);
        assert_int_equal(fclose(f), 0);
        compress_file("plain", "packed", filter);
        assert_int_equal(read_file("packed", 1 << 20, &packed, &size), 0);

        loader[0x1f1] = 4;
        memcpy(loader + 0x202, "HdrS", 4);
        place[0] = htole32(16);
        place[1] = htole32((uint32_t) size);
        memcpy(loader + 0x248, place, sizeof(place));
        f = fopen(path, "we");
        assert_non_null(f);
        assert_int_equal(fwrite(loader, sizeof(loader), 1, f), 1);
        assert_int_equal(fwrite(packed, 1, size, f), size);
        assert_int_equal(fwrite("signature", 9, 1, f), 1);
        assert_int_equal(fclose(f), 0);
        unlink("plain");
        unlink("packed");
}

typedef struct Asked {
        Overlay overlay;
        Overlay *list[1];
        Recipe recipe;
} Asked;

/* An overlay asks for one thing, the recipe for both. */
static void ask(CheckFixture *f, Asked *a, const char *overlay, const char *all) {
        JsonError e;

        *a = (Asked) { .overlay.file = (char *) "overlays/tune/overlay.json",
                .recipe.path = (char *) "images/x.json",
                .recipe.kernel.cmdline = (char *) "",
                .recipe.n_overlays = 1 };
        a->overlay.name = (char *) "tune";
        a->list[0] = &a->overlay;
        a->recipe.overlays = a->list;
        assert_int_equal(json_parse(overlay, strlen(overlay), &e, &a->overlay.node), 0);
        assert_int_equal(json_parse(all, strlen(all), &e, &a->recipe.node), 0);
        f->recipe = &a->recipe;
}

static void forget(Asked *a) {
        json_object_put(a->overlay.node);
        json_object_put(a->recipe.node);
}

static void test_what_the_kernel_has(void **state) {
        static const int filters[] = { ARCHIVE_FILTER_GZIP, ARCHIVE_FILTER_XZ, ARCHIVE_FILTER_ZSTD,
                ARCHIVE_FILTER_LZ4 };
        CheckFixture *f = *state;
        Asked a;

        ask(f, &a, "{}",
                        "{\"host\":{\"sysctl\":{\"vm.swappiness\":1,\"net/core/somaxconn\":4096,\"net.netfilter.nf_log.2\":\"NONE\"}}}");
        for (size_t i = 0; i < ELEMENTSOF(filters); i++) {
                put_kernel("boot/vmlinuz-" KERNEL, filters[i]);
                assert_found(f, NULL, NULL);
        }
        forget(&a);
}

static void test_what_a_module_has(void **state) {
        CheckFixture *f = *state;
        Asked a;

        put_kernel("boot/vmlinuz-" KERNEL, ARCHIVE_FILTER_XZ);
        ask(f, &a, "{}", "{\"host\":{\"sysctl\":{\"net.bridge.bridge-nf-call-iptables\":1}}}");
        assert_found(f, "node.sysctl", "no setting net.bridge.bridge-nf-call-iptables");
        put_elf("module", ".rodata", "\0bridge-nf-call-iptables", 25);
        assert_int_equal(mkdir_p(MODULES "kernel/net/bridge", 0755), 0);
        compress_file("module", MODULES "kernel/net/bridge/br_netfilter.ko.xz", ARCHIVE_FILTER_XZ);
        unlink("module");
        assert_found(f, NULL, NULL);
        forget(&a);
}

static void test_a_misspelt_one_is_named_with_its_file(void **state) {
        CheckFixture *f = *state;
        Asked a;

        put_kernel("boot/vmlinuz-" KERNEL, ARCHIVE_FILTER_ZSTD);
        ask(f, &a, "{\"host\":{\"sysctl\":{\"vm.swapiness\":1}}}",
                        "{\"host\":{\"sysctl\":{\"vm.swapiness\":1}}}");
        assert_found(f, "node.sysctl",
                        "overlays/tune/overlay.json: host.sysctl: kernel " KERNEL
                        " has no setting vm.swapiness");
        forget(&a);
        ask(f, &a, "{}", "{\"host\":{\"sysctl\":{\"vm.swapiness\":1}}}");
        assert_found(f, "node.sysctl", "images/x.json: host.sysctl:");
        forget(&a);
        /* null takes a default back. */
        ask(f, &a, "{}", "{\"host\":{\"sysctl\":{\"vm.swapiness\":null}}}");
        assert_found(f, NULL, NULL);
        forget(&a);
        /* The beginning of a word is none. */
        ask(f, &a, "{}", "{\"host\":{\"sysctl\":{\"vm.swap\":1}}}");
        assert_found(f, "node.sysctl", "\"swap\" is neither in it");
        forget(&a);
}

static void test_a_dropin_of_the_tree(void **state) {
        CheckFixture *f = *state;

        put_kernel("boot/vmlinuz-" KERNEL, ARCHIVE_FILTER_ZSTD);
        put("etc/firstboot/conf.d/50-tune.json", "{\"host\":{\"sysctl\":{\"vm.swappiness\":1}}}");
        put("etc/firstboot/conf.d/60-faulty.json", "{");
        assert_found(f, NULL, NULL);
        put("etc/firstboot/conf.d/50-tune.json", "{\"host\":{\"sysctl\":{\"vm.nonsense\":1}}}");
        assert_found(f, "node.sysctl", "/etc/firstboot/conf.d/50-tune.json: host.sysctl:");
}

static void test_a_kernel_that_is_none(void **state) {
        static const char *const kernels[] = { "", "kernel" };
        CheckFixture *f = *state;
        Asked a;

        ask(f, &a, "{}", "{\"host\":{\"sysctl\":{\"vm.swappiness\":1}}}");
        for (size_t i = 0; i < ELEMENTSOF(kernels); i++) {
                put("boot/vmlinuz-" KERNEL, kernels[i]);
                assert_found(f, "node.sysctl", "no kernel that could be looked into");
        }
        forget(&a);
        /* Nobody asks: nobody looks. */
        ask(f, &a, "{}", "{\"host\":{\"timezone\":\"Etc/UTC\"}}");
        assert_found(f, NULL, NULL);
        forget(&a);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TREE(test_what_the_kernel_has),
                TREE(test_what_a_module_has),
                TREE(test_a_misspelt_one_is_named_with_its_file),
                TREE(test_a_dropin_of_the_tree),
                TREE(test_a_kernel_that_is_none),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
