/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One pass over the guest's clusters in order: each is read where it lies and appended. Compressed
 * ones follow each other byte by byte, as qemu-img packs them; those that do not compress are whole
 * clusters. How long a compressed one is, its entry says in sectors only; its zstd frame says it
 * exactly, and no byte that another cluster left behind it is carried over. */

#include "disk/qcow2-pack.h"
#include "disk/qcow2-format.h"
#include "disk/qcow2-read.h"
#include "shared/file-util.h"

#include <endian.h>
#include <zstd.h>

typedef struct Pack {
        int from, to;
        uint64_t size; /* of the guest's disk */
        uint64_t *l1;  /* as in a file: big-endian */
        size_t l1_size;

        uint64_t next;      /* the first free cluster of `to` */
        uint64_t at;        /* where the next compressed bytes go, if they fit; 0: nowhere yet */
        uint16_t *refcount; /* of each cluster of `to`; numbers of ours */
        size_t allocated;

        uint64_t table[QCOW2_ENTRIES]; /* the L2 table at work; big-endian */
        unsigned char data[2 * QCOW2_CLUSTER];
} Pack;

static Pack *pack_free(Pack *p) {
        if (!p)
                return NULL;
        free(p->l1);
        free(p->refcount);
        free(p);
        return NULL;
}
DEFINE_CLEANUP(Pack *, pack_free);

static uint64_t clusters_of(uint64_t bytes) {
        return (bytes + QCOW2_CLUSTER - 1) / QCOW2_CLUSTER;
}

/* One more reference to each cluster of these bytes. */
static int refer(Pack *p, uint64_t offset, uint64_t bytes) {
        uint64_t first = offset / QCOW2_CLUSTER, end = clusters_of(offset + bytes);

        if (end > p->allocated) {
                size_t wanted = MAX(2 * p->allocated, end + QCOW2_REFCOUNTS);
                uint16_t *grown = reallocarray(p->refcount, wanted, sizeof(*grown));

                if (!grown)
                        return -ENOMEM;
                memset(grown + p->allocated, 0, (wanted - p->allocated) * sizeof(*grown));
                p->refcount = grown;
                p->allocated = wanted;
        }
        for (; first < end; first++)
                if (++p->refcount[first] == 0)
                        return -EBADMSG; /* a cluster has no room for that many frames */
        return 0;
}

/* Appends whole clusters, the last filled up with zeros. */
static int append_clusters(Pack *p, const void *data, size_t size, uint64_t *ret_offset) {
        uint64_t offset = p->next * QCOW2_CLUSTER, n = clusters_of(size);
        int r;

        r = refer(p, offset, n * QCOW2_CLUSTER);
        if (r < 0)
                return r;
        r = write_all_at(p->to, data, size, offset);
        if (r < 0)
                return r;
        p->next += n;
        *ret_offset = offset;
        return 0;
}

/* Where `size` bytes, at most a cluster, go: behind those before, into a further cluster too where
 * that is the next one. */
static uint64_t place_bytes(Pack *p, size_t size) {
        uint64_t used = p->at % QCOW2_CLUSTER, room = used ? QCOW2_CLUSTER - used : 0, cluster;

        if (size > room) {
                cluster = p->next++;
                if (room == 0 || p->at + room != cluster * QCOW2_CLUSTER)
                        p->at = cluster * QCOW2_CLUSTER;
        }
        p->at += size;
        return p->at - size;
}

static int pack_compressed(Pack *p, uint64_t entry, uint64_t *ret) {
        uint64_t from = entry & QCOW2_BYTE_OFFSET, to,
                 sectors = 1 + ((entry >> QCOW2_SECTORS_SHIFT) & QCOW2_SECTORS_MASK);
        ssize_t got = read_at(p->from, p->data, sectors * QCOW2_SECTOR - from % QCOW2_SECTOR, from);
        size_t size;
        int r;

        if (got < 0)
                return (int) got;
        size = ZSTD_findFrameCompressedSize(p->data, (size_t) got);
        if (ZSTD_isError(size) || size > QCOW2_CLUSTER)
                return -EBADMSG;

        to = place_bytes(p, size);
        r = refer(p, to, size);
        if (r < 0)
                return r;
        sectors = (to + size - 1) / QCOW2_SECTOR - to / QCOW2_SECTOR;
        *ret = QCOW2_COMPRESSED | sectors << QCOW2_SECTORS_SHIFT | to;
        return write_all_at(p->to, p->data, size, to);
}

static int pack_whole(Pack *p, uint64_t entry, uint64_t *ret) {
        uint64_t offset = entry & QCOW2_OFFSET;
        int r;

        if (entry & QCOW2_ZERO) { /* reads as zeros, whatever it has */
                *ret = QCOW2_ZERO;
                return 0;
        }
        if (offset == 0 || entry != (offset | QCOW2_COPIED))
                return -EBADMSG;
        r = read_all_at(p->from, p->data, QCOW2_CLUSTER, offset);
        if (r < 0)
                return r;
        r = append_clusters(p, p->data, QCOW2_CLUSTER, &offset);
        *ret = offset | QCOW2_COPIED;
        return r;
}

/* The clusters of one L2 table, and the table behind them. */
static int pack_table(Pack *p, uint64_t *l1_entry) {
        uint64_t entry = be64toh(*l1_entry), offset = entry & QCOW2_OFFSET;
        int r;

        if (entry == 0)
                return 0;
        if (entry != (offset | QCOW2_COPIED))
                return -EBADMSG;
        r = read_all_at(p->from, p->table, sizeof(p->table), offset);
        if (r < 0)
                return r;

        for (size_t i = 0; i < QCOW2_ENTRIES; i++) {
                entry = be64toh(p->table[i]);
                if (entry == 0)
                        continue;
                r = entry & QCOW2_COMPRESSED ? pack_compressed(p, entry, &entry)
                                             : pack_whole(p, entry, &entry);
                if (r < 0)
                        return r;
                p->table[i] = htobe64(entry);
        }
        r = append_clusters(p, p->table, sizeof(p->table), &offset);
        *l1_entry = htobe64(offset | QCOW2_COPIED);
        return r;
}

/* Blocks of reference counts, which count themselves, and the table of these blocks. */
static int write_refcounts(Pack *p, uint64_t *ret_table) {
        uint64_t n = 1, first = p->next;
        int r;

        while (n * QCOW2_REFCOUNTS < first + n + 1)
                n++;
        if (n > QCOW2_ENTRIES)
                return -EFBIG; /* 16 TiB */
        r = refer(p, first * QCOW2_CLUSTER, (n + 1) * QCOW2_CLUSTER);
        if (r < 0)
                return r;

        memset(p->table, 0, sizeof(p->table));
        for (uint64_t i = 0; i < n; i++) {
                uint16_t *block = (uint16_t *) p->data;
                uint64_t count = MIN((uint64_t) QCOW2_REFCOUNTS,
                                p->allocated - MIN(p->allocated, i * QCOW2_REFCOUNTS));

                memset(block, 0, QCOW2_CLUSTER);
                for (uint64_t k = 0; k < count; k++)
                        block[k] = htobe16(p->refcount[i * QCOW2_REFCOUNTS + k]);
                r = write_all_at(p->to, block, QCOW2_CLUSTER, (first + i) * QCOW2_CLUSTER);
                if (r < 0)
                        return r;
                p->table[i] = htobe64((first + i) * QCOW2_CLUSTER);
        }
        *ret_table = (first + n) * QCOW2_CLUSTER;
        p->next = first + n + 1;
        return write_all_at(p->to, p->table, sizeof(p->table), *ret_table);
}

static int write_header(Pack *p, uint64_t l1_table, uint64_t refcount_table) {
        const Qcow2Header h = {
                .magic = htobe32(QCOW2_MAGIC),
                .version = htobe32(3),
                .cluster_bits = htobe32(QCOW2_CLUSTER_BITS),
                .size = htobe64(p->size),
                .l1_size = htobe32((uint32_t) p->l1_size),
                .l1_table_offset = htobe64(l1_table),
                .refcount_table_offset = htobe64(refcount_table),
                .refcount_table_clusters = htobe32(1),
                .incompatible_features = htobe64(QCOW2_INCOMPATIBLE_COMPRESSION),
                .refcount_order = htobe32(QCOW2_REFCOUNT_ORDER),
                .header_length = htobe32(sizeof(h)),
                .compression_type = QCOW2_COMPRESSION_ZSTD,
        };

        return write_all_at(p->to, &h, sizeof(h), 0);
}

int qcow2_pack(int from, int to) {
        _cleanup_(pack_freep) Pack *p = calloc(1, sizeof(*p));
        uint64_t l1_table, refcount_table;
        int r;

        if (!p)
                return -ENOMEM;
        p->from = from;
        p->to = to;
        r = qcow2_read_tables(from, &p->size, &p->l1, &p->l1_size);
        if (r < 0)
                return r;

        p->next = 1; /* the header's is the first */
        r = refer(p, 0, QCOW2_CLUSTER);
        if (r < 0)
                return r;
        for (size_t i = 0; i < p->l1_size; i++) {
                r = pack_table(p, p->l1 + i);
                if (r < 0)
                        return r;
        }

        r = append_clusters(p, p->l1, MAX(p->l1_size, 1u) * sizeof(*p->l1), &l1_table);
        if (r < 0)
                return r;
        r = write_refcounts(p, &refcount_table);
        if (r < 0)
                return r;
        r = write_header(p, l1_table, refcount_table);
        if (r < 0)
                return r;
        return ftruncate(to, (off_t) (p->next * QCOW2_CLUSTER)) < 0 ? -errno : 0;
}
