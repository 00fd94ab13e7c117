/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One table and one cluster are kept: who reads on finds both. */

#include "disk/qcow2-read.h"
#include "disk/qcow2-format.h"
#include "shared/file-util.h"

#include <endian.h>
#include <sys/stat.h>
#include <zstd.h>

#define PER_TABLE ((uint64_t) QCOW2_CLUSTER * QCOW2_ENTRIES) /* bytes that an L2 table maps */
#define NONE UINT64_MAX

struct Qcow2Reader {
        int fd;
        uint64_t size, *l1;
        size_t l1_size;
        ZSTD_DCtx *zstd;
        uint64_t table_number, cluster_number; /* of what is kept; NONE */
        uint64_t table[QCOW2_ENTRIES];         /* big-endian */
        unsigned char cluster[QCOW2_CLUSTER], frame[2 * QCOW2_CLUSTER];
};

static bool header_is_ours(const Qcow2Header *h) {
        return be32toh(h->magic) == QCOW2_MAGIC && be32toh(h->version) == 3 &&
               !h->backing_file_offset && be32toh(h->cluster_bits) == QCOW2_CLUSTER_BITS &&
               !h->crypt_method && !h->nb_snapshots &&
               be64toh(h->incompatible_features) == QCOW2_INCOMPATIBLE_COMPRESSION &&
               h->compression_type == QCOW2_COMPRESSION_ZSTD;
}

int qcow2_read_tables(int fd, uint64_t *ret_size, uint64_t **ret_l1, size_t *ret_l1_size) {
        _cleanup_free_ uint64_t *l1 = NULL;
        struct stat st;
        uint64_t size;
        size_t n;
        Qcow2Header h;
        int r;

        r = read_all_at(fd, &h, sizeof(h), 0);
        if (r < 0)
                return r;
        if (fstat(fd, &st) < 0)
                return -errno;
        size = be64toh(h.size);
        n = be32toh(h.l1_size);
        if (!header_is_ours(&h) || n != size / PER_TABLE + (size % PER_TABLE != 0) ||
                        n > (uint64_t) st.st_size / sizeof(*l1))
                return -EBADMSG;

        l1 = calloc(n + 1, sizeof(*l1));
        if (!l1)
                return -ENOMEM;
        r = read_all_at(fd, l1, n * sizeof(*l1), be64toh(h.l1_table_offset));
        if (r < 0)
                return r;
        *ret_size = size;
        *ret_l1 = TAKE_PTR(l1);
        *ret_l1_size = n;
        return 0;
}

int qcow2_reader_new(int fd, Qcow2Reader **ret) {
        _cleanup_qcow2_reader_ Qcow2Reader *q = calloc(1, sizeof(*q));
        int r;

        if (!q)
                return -ENOMEM;
        q->fd = fd;
        q->table_number = q->cluster_number = NONE;
        q->zstd = ZSTD_createDCtx();
        if (!q->zstd)
                return -ENOMEM;
        r = qcow2_read_tables(fd, &q->size, &q->l1, &q->l1_size);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(q);
        return 0;
}

Qcow2Reader *qcow2_reader_free(Qcow2Reader *q) {
        if (!q)
                return NULL;
        ZSTD_freeDCtx(q->zstd);
        free(q->l1);
        free(q);
        return NULL;
}

uint64_t qcow2_reader_size(const Qcow2Reader *q) {
        return q->size;
}

static int read_table(Qcow2Reader *q, uint64_t number) {
        uint64_t offset = be64toh(q->l1[number]) & QCOW2_OFFSET;
        int r;

        if (q->table_number == number)
                return 0;
        q->table_number = NONE;
        if (offset == 0) {
                memset(q->table, 0, sizeof(q->table));
        } else {
                r = read_all_at(q->fd, q->table, sizeof(q->table), offset);
                if (r < 0)
                        return r;
        }
        q->table_number = number;
        return 0;
}

static int unpack_cluster(Qcow2Reader *q, uint64_t entry) {
        uint64_t from = entry & QCOW2_BYTE_OFFSET,
                 sectors = 1 + ((entry >> QCOW2_SECTORS_SHIFT) & QCOW2_SECTORS_MASK);
        ssize_t got = read_at(q->fd, q->frame, sectors * QCOW2_SECTOR - from % QCOW2_SECTOR, from);
        size_t size;

        if (got < 0)
                return (int) got;
        size = ZSTD_findFrameCompressedSize(q->frame, (size_t) got);
        if (ZSTD_isError(size) || ZSTD_decompressDCtx(q->zstd, q->cluster, QCOW2_CLUSTER, q->frame,
                                                  size) != QCOW2_CLUSTER)
                return -EBADMSG;
        return 0;
}

static int read_cluster(Qcow2Reader *q, uint64_t number) {
        uint64_t entry;
        int r;

        if (q->cluster_number == number)
                return 0;
        q->cluster_number = NONE;
        r = read_table(q, number / QCOW2_ENTRIES);
        if (r < 0)
                return r;

        entry = be64toh(q->table[number % QCOW2_ENTRIES]);
        if (entry & QCOW2_COMPRESSED) {
                r = unpack_cluster(q, entry);
        } else if (entry & QCOW2_ZERO || entry == 0) {
                memset(q->cluster, 0, QCOW2_CLUSTER);
        } else {
                r = (entry & QCOW2_OFFSET) == 0 ? -EBADMSG
                                                : read_all_at(q->fd, q->cluster, QCOW2_CLUSTER,
                                                                  entry & QCOW2_OFFSET);
        }
        if (r < 0)
                return r;
        q->cluster_number = number;
        return 0;
}

int qcow2_reader_read(Qcow2Reader *q, void *data, size_t size, uint64_t offset) {
        if (offset > q->size || size > q->size - offset)
                return -EINVAL;

        while (size > 0) {
                size_t skip = offset % QCOW2_CLUSTER, n = MIN(size, QCOW2_CLUSTER - skip);
                int r = read_cluster(q, offset / QCOW2_CLUSTER);

                if (r < 0)
                        return r;
                memcpy(data, q->cluster + skip, n);
                data = (char *) data + n;
                size -= n;
                offset += n;
        }
        return 0;
}
