/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is packed is read by a small reader of the test's own. */

#include "disk/qcow2-pack.h"
#include "qcow2-fixture.h"

static void pack_to(const char *path, size_t turn, size_t step) {
        _cleanup_close_ int from = make_image("unordered", turn, step),
                            to = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_int_equal(qcow2_pack(from, to), 0);
}

static char *whole_file(const char *path, size_t *ret_size) {
        char *text = NULL;

        assert_int_equal(read_file(path, 64 * 1024 * 1024, &text, ret_size), 0);
        return text;
}

static void any_order_packs_to_the_same_bytes(void **state _unused_) {
        static const size_t steps[] = { 1, 5, 7, 11 }; /* prime to the number of clusters */
        _cleanup_free_ char *first = NULL;
        size_t size;

        pack_to("first", 0, 1);
        first = whole_file("first", &size);
        for (size_t i = 0; i < ELEMENTSOF(steps); i++) {
                _cleanup_free_ char *other = NULL;
                size_t n;

                pack_to("other", i + 1, steps[i]);
                other = whole_file("other", &n);
                assert_int_equal(n, size);
                assert_memory_equal(other, first, size);
        }
}

static uint64_t number_at(const char *image, uint64_t offset) {
        uint64_t v;

        memcpy(&v, image + offset, sizeof(v));
        return be64toh(v);
}

static uint64_t entry_of(const char *image, const Qcow2Header *h, unsigned number) {
        uint64_t table = number_at(image, be64toh(h->l1_table_offset) + number / QCOW2_ENTRIES * 8);

        assert_true(table & QCOW2_COPIED);
        return number_at(image, (table & QCOW2_OFFSET) + number % QCOW2_ENTRIES * 8);
}

static void check_cluster(const char *image, uint64_t entry, unsigned number) {
        static unsigned char found[QCOW2_CLUSTER];
        uint64_t at = entry & QCOW2_BYTE_OFFSET,
                 sectors = 1 + ((entry >> QCOW2_SECTORS_SHIFT) & QCOW2_SECTORS_MASK);

        fill(number);
        if (!(entry & QCOW2_COMPRESSED)) {
                assert_memory_equal(image + (entry & QCOW2_OFFSET), cluster, QCOW2_CLUSTER);
                return;
        }
        size_t n = ZSTD_findFrameCompressedSize(
                        image + at, sectors * QCOW2_SECTOR - at % QCOW2_SECTOR);
        assert_false(ZSTD_isError(n));
        assert_int_equal(ZSTD_decompress(found, sizeof(found), image + at, n), sizeof(found));
        assert_memory_equal(found, cluster, sizeof(found));
}

static void the_guest_sees_the_same_disk(void **state _unused_) {
        _cleanup_free_ char *image = NULL;
        size_t size, next = 0;
        Qcow2Header h;

        pack_to("packed", 3, 5);
        image = whole_file("packed", &size);
        memcpy(&h, image, sizeof(h));
        assert_int_equal(be64toh(h.size), (uint64_t) GUEST_CLUSTERS * QCOW2_CLUSTER);
        for (unsigned i = 0; i < GUEST_CLUSTERS; i++) {
                uint64_t entry = entry_of(image, &h, i);

                if (next < ELEMENTSOF(used) && used[next] == i) {
                        next++;
                        check_cluster(image, entry, i);
                } else
                        assert_int_equal(entry, 0);
        }
        assert_int_equal(next, ELEMENTSOF(used));
}

/* What qemu-img check counts: each cluster's references, of which none are too many or missing. */
static void every_reference_is_counted(void **state _unused_) {
        _cleanup_free_ char *image = NULL;
        _cleanup_free_ unsigned *count = NULL;
        uint64_t table, block;
        Qcow2Header h;
        size_t size, n;

        pack_to("packed", 2, 7);
        image = whole_file("packed", &size);
        n = size / QCOW2_CLUSTER;
        assert_int_equal(size % QCOW2_CLUSTER, 0);
        memcpy(&h, image, sizeof(h));
        table = be64toh(h.refcount_table_offset);
        block = number_at(image, table);
        count = calloc(n, sizeof(*count));
        assert_non_null(count);

        count[0]++;
        count[be64toh(h.l1_table_offset) / QCOW2_CLUSTER]++;
        count[table / QCOW2_CLUSTER]++;
        count[block / QCOW2_CLUSTER]++;
        for (unsigned i = 0; i < 2; i++)
                count[(number_at(image, be64toh(h.l1_table_offset) + i * 8) & QCOW2_OFFSET) /
                                QCOW2_CLUSTER]++;
        for (size_t i = 0; i < ELEMENTSOF(used); i++) {
                uint64_t entry = entry_of(image, &h, used[i]), at = entry & QCOW2_BYTE_OFFSET,
                         end = at / QCOW2_SECTOR + 1 +
                               ((entry >> QCOW2_SECTORS_SHIFT) & QCOW2_SECTORS_MASK);

                if (!(entry & QCOW2_COMPRESSED)) {
                        count[(entry & QCOW2_OFFSET) / QCOW2_CLUSTER]++;
                        continue;
                }
                for (uint64_t c = at / QCOW2_CLUSTER; c * QCOW2_CLUSTER < end * QCOW2_SECTOR; c++)
                        count[c]++;
        }
        for (size_t i = 0; i < n; i++) {
                unsigned char *c = (unsigned char *) image + block + 2 * i;
                assert_int_equal(c[0] << 8 | c[1], count[i]);
        }
}

static void without_gaps_it_is_no_larger_than_what_it_holds(void **state _unused_) {
        const size_t others = 7; /* header, two L2, L1, two of counts, a frame's last cluster */
        struct stat st;

        pack_to("packed", 5, 11);
        assert_int_equal(stat("packed", &st), 0);
        size_t frames = 0, n_whole = 0;
        for (size_t i = 0; i < ELEMENTSOF(used); i++) {
                fill(used[i]);
                if (compresses(used[i]))
                        frames += ZSTD_compress(frame, sizeof(frame), cluster, sizeof(cluster), 3);
                else
                        n_whole++;
        }
        assert_true((size_t) st.st_size <= (n_whole + others) * QCOW2_CLUSTER + 2 * frames);
}

static int pack_changed(const void *data, size_t size, uint64_t offset) {
        _cleanup_close_ int from = make_image("changed", 0, 1),
                            to = open("out", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        put(from, data, size, offset);
        return qcow2_pack(from, to);
}

static void what_qemu_img_would_not_have_written_is_refused(void **state _unused_) {
        Qcow2Header h = header();
        uint64_t far = htobe64((UINT64_C(1) << 40) | QCOW2_COPIED);

        assert_int_equal(pack_changed(&h, sizeof(h), 0), 0);
        h.backing_file_offset = htobe64(512);
        assert_int_equal(pack_changed(&h, sizeof(h), 0), -EBADMSG);
        h = header();
        h.compression_type = 0;
        assert_int_equal(pack_changed(&h, sizeof(h), 0), -EBADMSG);
        h = header();
        h.l1_size = htobe32(UINT32_MAX);
        assert_int_equal(pack_changed(&h, sizeof(h), 0), -EBADMSG);
        assert_int_equal(pack_changed(&far, sizeof(far), L1_AT), -EBADMSG);
        assert_int_equal(pack_changed("\0\0\0\0", 4, DATA_AT), -EBADMSG); /* of a frame */
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
                TEST(any_order_packs_to_the_same_bytes),
                TEST(the_guest_sees_the_same_disk),
                TEST(every_reference_is_counted),
                TEST(without_gaps_it_is_no_larger_than_what_it_holds),
                TEST(what_qemu_img_would_not_have_written_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
