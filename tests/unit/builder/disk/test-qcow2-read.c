/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "disk/qcow2-read.h"
#include "qcow2-fixture.h"

static unsigned char found[QCOW2_CLUSTER];

static Qcow2Reader *reader(int fd) {
        Qcow2Reader *q = NULL;

        assert_int_equal(qcow2_reader_new(fd, &q), 0);
        return q;
}

static bool is_used(unsigned number) {
        for (size_t i = 0; i < ELEMENTSOF(used); i++)
                if (used[i] == number)
                        return true;
        return false;
}

static void every_cluster_is_what_the_guest_sees(void **state _unused_) {
        _cleanup_close_ int fd = make_image("image", 3, 5);
        _cleanup_qcow2_reader_ Qcow2Reader *q = reader(fd);

        assert_int_equal(qcow2_reader_size(q), (uint64_t) GUEST_CLUSTERS * QCOW2_CLUSTER);
        for (unsigned i = GUEST_CLUSTERS; i-- > 0;) {
                assert_int_equal(qcow2_reader_read(q, found, sizeof(found),
                                                 (uint64_t) i * QCOW2_CLUSTER),
                                0);
                if (is_used(i))
                        fill(i);
                else
                        memset(cluster, 0, sizeof(cluster));
                assert_memory_equal(found, cluster, sizeof(found));
        }
}

static void a_read_may_cross_clusters_but_not_the_end(void **state _unused_) {
        _cleanup_close_ int fd = make_image("image", 0, 1);
        _cleanup_qcow2_reader_ Qcow2Reader *q = reader(fd);
        const uint64_t end = qcow2_reader_size(q);

        assert_int_equal(qcow2_reader_read(q, found, 1000, QCOW2_CLUSTER - 400), 0);
        fill(0);
        assert_memory_equal(found, cluster + QCOW2_CLUSTER - 400, 400);
        fill(1);
        assert_memory_equal(found + 400, cluster, 600);
        assert_int_equal(qcow2_reader_read(q, found, 1, end), -EINVAL);
        assert_int_equal(qcow2_reader_read(q, found, 2, end - 1), -EINVAL);
        assert_int_equal(qcow2_reader_read(q, found, 2, UINT64_MAX), -EINVAL);
        assert_int_equal(qcow2_reader_read(q, found, 0, end), 0);
}

/* What reading the first cluster says once these bytes are there; or opening it. */
static int read_changed(const void *data, size_t size, uint64_t offset) {
        _cleanup_close_ int fd = make_image("image", 0, 1);
        _cleanup_qcow2_reader_ Qcow2Reader *q = NULL;
        int r;

        put(fd, data, size, offset);
        r = qcow2_reader_new(fd, &q);
        return r < 0 ? r : qcow2_reader_read(q, found, sizeof(found), 0);
}

static void what_is_damaged_or_of_another_kind_is_refused(void **state _unused_) {
        const uint64_t far = htobe64((UINT64_C(1) << 40) | QCOW2_COPIED),
                       nowhere = htobe64(QCOW2_COPIED),
                       frame_far = htobe64(QCOW2_COMPRESSED | UINT64_C(1) << 50);
        Qcow2Header h = header();

        assert_int_equal(read_changed(&h, sizeof(h), 0), 0);
        h.size = htobe64(UINT64_MAX);
        assert_int_equal(read_changed(&h, sizeof(h), 0), -EBADMSG);
        h = header();
        h.l1_table_offset = htobe64(UINT64_MAX - 100);
        assert_true(read_changed(&h, sizeof(h), 0) < 0);
        h = header();
        h.incompatible_features = 0;
        assert_int_equal(read_changed(&h, sizeof(h), 0), -EBADMSG);
        assert_int_equal(read_changed(&far, sizeof(far), L1_AT), -EBADMSG);
        assert_int_equal(read_changed(&far, sizeof(far), TABLES_AT), -EBADMSG);
        assert_int_equal(read_changed(&nowhere, sizeof(nowhere), TABLES_AT), -EBADMSG);
        assert_int_equal(read_changed(&frame_far, sizeof(frame_far), TABLES_AT), -EBADMSG);
        assert_int_equal(read_changed("\0\0\0\0", 4, DATA_AT), -EBADMSG);
}

/* A frame of more than a cluster, and one of less. */
static void a_frame_has_to_be_a_cluster(void **state _unused_) {
        static unsigned char bomb[4 * QCOW2_CLUSTER];
        size_t size = ZSTD_compress(frame, sizeof(frame), bomb, sizeof(bomb), 3);

        assert_int_equal(read_changed(frame, size, DATA_AT), -EBADMSG);
        size = ZSTD_compress(frame, sizeof(frame), bomb, 100, 3);
        assert_int_equal(read_changed(frame, size, DATA_AT), -EBADMSG);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
                TEST(every_cluster_is_what_the_guest_sees),
                TEST(a_read_may_cross_clusters_but_not_the_end),
                TEST(what_is_damaged_or_of_another_kind_is_refused),
                TEST(a_frame_has_to_be_a_cluster),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
