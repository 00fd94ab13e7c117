/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The map of both disks, cut into pieces. */

#include "disk/delta-index.h"
#include "disk/delta-zstd.h"
#include "disk/delta.h"
#include "disk/internal.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/size.h"
#include "shared/spawn.h"

#include <endian.h>

#define OPS_MAX 200000u /* of a piece: its control stays below DELTA_CONTROL_MAX */

typedef struct Making {
        ImageReader *old, *new;
        const DeltaMap *map;
        DeltaPiece piece;
        uint64_t start, at; /* blocks of the new disk: where the piece begins, and where it is */
        uint8_t *dictionary, *data;
        DeltaZstd *zstd;
        Hash *hash; /* of all that is written */
        int to;
} Making;

static void making_done(Making *m) {
        image_reader_free(m->old);
        image_reader_free(m->new);
        delta_piece_done(&m->piece);
        free(m->dictionary);
        free(m->data);
        delta_zstd_free(m->zstd);
        hash_free(m->hash);
}

static int put(Making *m, const void *data, size_t size) {
        hash_bytes(m->hash, data, size);
        return write_all(m->to, data, size);
}

/* How many unused blocks of the old disk lie before that one. */
static uint64_t unused_before(const DeltaMap *map, uint64_t block) {
        uint64_t n = 0;

        for (size_t i = 0; i < map->n_unused && map->unused[i].from < block; i++)
                n += MIN(map->unused[i].blocks, block - map->unused[i].from);
        return n;
}

/* Files keep their order from build to build, so what is like the piece's blocks lies near them. */
static int choose_dictionary(Making *m) {
        const DeltaMap *map = m->map;
        uint64_t skip = 0, left = DELTA_DICTIONARY_MAX;

        if (map->unused_blocks > left) {
                uint64_t first = unused_before(map, m->start),
                         n = unused_before(map, m->at) - first,
                         before = n < left ? (left - n) / 2 : 0;

                skip = MIN(first - MIN(first, before), map->unused_blocks - left);
        }
        for (size_t i = 0; i < map->n_unused && left > 0; i++) {
                uint64_t gone = MIN(skip, map->unused[i].blocks),
                         n = MIN(left, map->unused[i].blocks - gone);

                skip -= gone;
                left -= n;
                if (n > 0 && delta_piece_add_dictionary(&m->piece,
                                             (DeltaRange) { map->unused[i].from + gone, n }) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int read_data(Making *m) {
        uint64_t at = m->start;
        uint8_t *to = m->data;
        int r;

        for (size_t i = 0; i < m->piece.n_ops; i++) {
                const DeltaOp *op = m->piece.ops + i;

                if (op->kind == DELTA_DATA) {
                        r = image_reader_read(m->new, to, at, op->blocks);
                        if (r < 0)
                                return r;
                        to += op->blocks * DELTA_BLOCK;
                }
                at += op->blocks;
        }
        return 0;
}

static int write_piece(Making *m) {
        _cleanup_free_ uint8_t *control = NULL, *packed_control = NULL, *packed_data = NULL;
        size_t control_size, control_packed, data_packed = 0;
        DeltaPieceHeader h;
        int r;

        if (interrupt_signal())
                return -ECANCELED;
        if (m->piece.data_blocks > 0) {
                r = choose_dictionary(m);
                if (r < 0)
                        return r;
                r = delta_read_dictionary(m->old, &m->piece, m->dictionary);
                if (r < 0)
                        return r;
                r = read_data(m);
                if (r < 0)
                        return r;
                r = delta_pack(m->zstd, m->dictionary, m->piece.dictionary_blocks * DELTA_BLOCK,
                                m->data, m->piece.data_blocks * DELTA_BLOCK, &packed_data,
                                &data_packed);
                if (r < 0)
                        return r;
        }
        r = delta_piece_format(&m->piece, &control, &control_size);
        if (r < 0)
                return r;
        r = delta_pack(m->zstd, NULL, 0, control, control_size, &packed_control, &control_packed);
        if (r < 0)
                return r;

        h = (DeltaPieceHeader) { htole32((uint32_t) control_packed),
                htole32((uint32_t) control_size), htole32((uint32_t) data_packed),
                htole32((uint32_t) m->piece.data_blocks) };
        r = put(m, &h, sizeof(h));
        if (r < 0)
                return r;
        r = put(m, packed_control, control_packed);
        if (r < 0)
                return r;
        r = put(m, packed_data, data_packed);
        if (r < 0)
                return r;
        delta_piece_done(&m->piece);
        m->start = m->at;
        return 0;
}

/* Cuts each op where the piece is full. */
static int write_pieces(Making *m) {
        int r;

        for (const DeltaOp *op = m->map->ops.ops; op < m->map->ops.ops + m->map->ops.n_ops; op++)
                for (uint64_t done = 0, n; done < op->blocks; done += n) {
                        n = op->blocks - done;
                        if (op->kind == DELTA_DATA)
                                n = MIN(n, DELTA_DATA_MAX - m->piece.data_blocks);
                        r = delta_piece_add(&m->piece, (DeltaOp) { op->kind, op->from + done, n });
                        if (r < 0)
                                return r;
                        m->at += n;
                        if (m->piece.data_blocks < DELTA_DATA_MAX && m->piece.n_ops < OPS_MAX)
                                continue;
                        r = write_piece(m);
                        if (r < 0)
                                return r;
                }
        return m->piece.n_ops > 0 ? write_piece(m) : 0;
}

static int describe(ImageReader *image, const Digest sha256, DeltaDisk *ret) {
        ret->size = image_reader_size(image);
        memcpy(ret->sha256, sha256, sizeof(Digest));
        if (ret->size == 0 || ret->size > DELTA_DISK_MAX)
                return -EFBIG;
        return image_reader_digest(image, DELTA_BEGINNING, ret->beginning);
}

/* `ret_most`: bytes that it takes where nothing can be compressed. */
static int write_delta(
                Making *m, const char *new, DeltaHeader *h, DeltaFigures *ret, uint64_t *ret_most) {
        _cleanup_delta_map_ DeltaMap map = {};
        _cleanup_free_ char *header = NULL;
        Digest digest;
        int r;

        r = delta_map(m->old, m->new, &map);
        if (r < 0)
                return r;
        m->map = &map;
        *ret_most = map.ops.data_blocks * DELTA_BLOCK + map.ops.n_ops * sizeof(DeltaOp);
        r = describe(m->old, map.old, &h->old);
        if (r < 0)
                return r;
        r = describe(m->new, map.new, &h->new);
        if (r < 0)
                return r;
        r = digest_file(new, h->file, NULL);
        if (r < 0)
                return r;

        header = delta_header_format(h);
        if (!header)
                return -ENOMEM;
        r = put(m, header, strlen(header));
        if (r < 0)
                return r;
        r = write_pieces(m);
        if (r < 0)
                return r;
        hash_end(m->hash, digest);
        digest[DIGEST_HEX] = '\n';
        r = write_all(m->to, digest, DELTA_TRAILER);
        if (r < 0)
                return r;
        *ret = (DeltaFigures) { (uint64_t) lseek(m->to, 0, SEEK_CUR),
                map.ops.data_blocks * DELTA_BLOCK };
        return 0;
}

int delta_make(const char *old, const char *new, const char *target, DeltaFigures *ret) {
        _cleanup_(making_done) Making m = { .dictionary = malloc((size_t) DELTA_DICTIONARY_MAX *
                                                                 DELTA_BLOCK),
                .data = malloc((size_t) DELTA_DATA_MAX * DELTA_BLOCK) };
        _cleanup_free_ char *folder = absolute_folder(target);
        _cleanup_image_draft_ ImageDraft draft = { .fd = -EBADF };
        const char *driver;
        DeltaHeader h = {};
        char room[FORMAT_BYTES_MAX];
        uint64_t most = 0;
        int r;

        if (!m.dictionary || !m.data || hash_new(&m.hash) < 0 || delta_zstd_new(&m.zstd) < 0)
                return log_oom();
        r = delta_open_image(old, &m.old, NULL);
        if (r < 0)
                return r;
        r = delta_open_image(new, &m.new, &driver);
        if (r < 0)
                return r;
        snprintf(h.format, sizeof(h.format), "%s", driver);
        if (!folder)
                return log_error_errno(errno, "%s: cannot write there", target);
        r = image_draft_open(folder, new, &draft);
        if (r < 0)
                return r;

        m.to = draft.fd;
        r = write_delta(&m, new, &h, ret, &most);
        if (r == -EBADMSG)
                return log_error_return(-EINVAL, "%s or %s is damaged: 'qemu-img check' says where",
                                old, new);
        if (r == -ENOSPC)
                return log_error_errno(r,
                                "%s: cannot write what changed from %s to %s, which takes up to %s",
                                folder, old, new, format_bytes(room, most));
        if (r < 0)
                return r == -ECANCELED ? r
                                       : log_error_errno(r,
                                                         "Cannot write what changed from %s to %s",
                                                         old, new);
        return image_draft_put(&draft, folder, target, NULL);
}
