/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Images as qemu-img -W leaves them, made cluster by cluster in a given order. */

#include "disk/qcow2-format.h"
#include "recipe-fixture.h"

#include <endian.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <zstd.h>

#define GUEST_CLUSTERS (QCOW2_ENTRIES + 40) /* two tables */
#define L1_AT QCOW2_CLUSTER
#define TABLES_AT (2 * QCOW2_CLUSTER)
#define DATA_AT (4 * QCOW2_CLUSTER)

static unsigned char cluster[QCOW2_CLUSTER], frame[2 * QCOW2_CLUSTER];

/* The guest's clusters that have something; all others are holes. */
static const unsigned used[] = { 0, 1, 2, 5, 6, 7, 8, 9, 30, QCOW2_ENTRIES - 1, QCOW2_ENTRIES,
        QCOW2_ENTRIES + 3 };

static inline bool compresses(unsigned number) {
        return number % 3 != 2;
}

/* Text for those that compress, noise for the others. */
static inline void fill(unsigned number) {
        uint64_t x = number + 1;

        for (size_t i = 0; i < QCOW2_CLUSTER; i++) {
                x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
                cluster[i] = compresses(number) ? "qcow2"[(x >> 60) % 5]
                                                : (unsigned char) (x >> 56);
        }
}

static inline void put(int fd, const void *data, size_t size, uint64_t offset) {
        assert_int_equal(pwrite(fd, data, size, (off_t) offset), size);
}

/* Puts a cluster at or behind *at, which moves on, and returns its entry. */
static inline uint64_t put_cluster(int fd, unsigned number, uint64_t *at) {
        uint64_t from = *at;

        fill(number);
        if (!compresses(number)) {
                from = (from + QCOW2_CLUSTER - 1) & ~(uint64_t) (QCOW2_CLUSTER - 1);
                put(fd, cluster, sizeof(cluster), from);
                *at = from + QCOW2_CLUSTER;
                return from | QCOW2_COPIED;
        }
        size_t size = ZSTD_compress(frame, sizeof(frame), cluster, sizeof(cluster), 3);
        assert_false(ZSTD_isError(size));
        put(fd, frame, size, from);
        *at = from + size;
        return QCOW2_COMPRESSED | from |
               ((from + size - 1) / QCOW2_SECTOR - from / QCOW2_SECTOR) << QCOW2_SECTORS_SHIFT;
}

static inline Qcow2Header header(void) {
        return (Qcow2Header) {
                .magic = htobe32(QCOW2_MAGIC),
                .version = htobe32(3),
                .cluster_bits = htobe32(QCOW2_CLUSTER_BITS),
                .size = htobe64((uint64_t) GUEST_CLUSTERS * QCOW2_CLUSTER),
                .l1_size = htobe32(2),
                .l1_table_offset = htobe64(L1_AT),
                .incompatible_features = htobe64(QCOW2_INCOMPATIBLE_COMPRESSION),
                .header_length = htobe32(sizeof(Qcow2Header)),
                .compression_type = QCOW2_COMPRESSION_ZSTD,
        };
}

/* An image whose clusters lie in another order than the guest's: beginning with the one at `turn`,
 * and each `step` further. */
static inline int make_image(const char *path, size_t turn, size_t step) {
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        const Qcow2Header h = header();
        uint64_t at = DATA_AT + 100 * turn;

        assert_true(fd >= 0);
        put(fd, &h, sizeof(h), 0);
        for (unsigned i = 0; i < 2; i++) {
                uint64_t entry = htobe64((TABLES_AT + i * QCOW2_CLUSTER) | QCOW2_COPIED);
                put(fd, &entry, sizeof(entry), L1_AT + i * sizeof(entry));
        }
        for (size_t i = 0; i < ELEMENTSOF(used); i++) {
                unsigned number = used[(turn + i * step) % ELEMENTSOF(used)];
                uint64_t entry = htobe64(put_cluster(fd, number, &at));
                put(fd, &entry, sizeof(entry), TABLES_AT + number * sizeof(entry));
        }
        put(fd, "", 1, DATA_AT + 40 * QCOW2_CLUSTER); /* read past the last frame, as QEMU lets one */
        return fd;
}
