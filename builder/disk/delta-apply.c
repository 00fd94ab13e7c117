/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Nothing is written before the delta is known to be whole, all its pieces to fit together, the old
 * disk to be the right one, and the new one to have room. */

#include "disk/delta-zstd.h"
#include "disk/delta.h"
#include "disk/internal.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/size.h"
#include "shared/spawn.h"

#include <endian.h>
#include <fcntl.h>
#include <sys/stat.h>

#define PIECE 256u /* blocks that are copied at once */

struct Delta {
        char *path;
        int fd;
        uint64_t begin, end; /* of its pieces, in the file */
        DeltaHeader header;
        uint64_t written; /* blocks of the new disk that are no zeros */
        DeltaZstd *zstd;
        uint8_t *dictionary, *data;
};

Delta *delta_free(Delta *d) {
        if (!d)
                return NULL;
        free(d->path);
        safe_close(d->fd);
        delta_zstd_free(d->zstd);
        free(d->dictionary);
        free(d->data);
        free(d);
        return NULL;
}

const DeltaHeader *delta_header(const Delta *d) {
        return &d->header;
}

static uint64_t blocks_of(const DeltaDisk *disk) {
        return disk->size / DELTA_BLOCK + (disk->size % DELTA_BLOCK != 0);
}

/* One frame of the file, unpacked. */
static int read_frame(Delta *d, uint64_t *at, size_t packed, const void *dictionary,
                size_t dictionary_size, void *data, size_t size) {
        _cleanup_free_ uint8_t *frame = NULL;
        int r;

        if (packed > d->end - *at)
                return -EBADMSG;
        frame = malloc(packed + 1);
        if (!frame)
                return -ENOMEM;
        r = read_all_at(d->fd, frame, packed, *at);
        if (r < 0)
                return r;
        *at += packed;
        return delta_unpack(d->zstd, dictionary, dictionary_size, frame, packed, data, size);
}

/* The piece that begins at *at, which moves on to its data. */
static int read_piece(Delta *d, uint64_t *at, uint64_t left, DeltaPiece *ret, size_t *ret_data) {
        _cleanup_delta_piece_ DeltaPiece p = {};
        _cleanup_free_ uint8_t *control = NULL;
        DeltaPieceHeader h;
        size_t size;
        int r;

        if (d->end - *at < sizeof(h))
                return -EBADMSG;
        r = read_all_at(d->fd, &h, sizeof(h), *at);
        if (r < 0)
                return r;
        *at += sizeof(h);
        size = le32toh(h.control_size);
        if (size > DELTA_CONTROL_MAX)
                return -EBADMSG;
        control = malloc(size + 1);
        if (!control)
                return -ENOMEM;
        r = read_frame(d, at, le32toh(h.control_packed), NULL, 0, control, size);
        if (r < 0)
                return r;
        r = delta_piece_parse(control, size, blocks_of(&d->header.old), left, &p);
        if (r < 0)
                return r;
        if (p.data_blocks != le32toh(h.data_blocks) ||
                        (p.data_blocks == 0) != (h.data_packed == 0) ||
                        le32toh(h.data_packed) > d->end - *at)
                return -EBADMSG;
        *ret_data = le32toh(h.data_packed);
        *ret = p;
        p = (DeltaPiece) {};
        return 0;
}

/* Whether the pieces are the new disk, no more and no less. */
static int survey(Delta *d) {
        uint64_t at = d->begin, left = blocks_of(&d->header.new);
        int r;

        while (at < d->end) {
                _cleanup_delta_piece_ DeltaPiece p = {};
                size_t data;

                r = read_piece(d, &at, left, &p, &data);
                if (r < 0)
                        return r;
                at += data;
                left -= p.blocks;
                for (size_t i = 0; i < p.n_ops; i++)
                        if (p.ops[i].kind != DELTA_ZERO)
                                d->written += p.ops[i].blocks;
        }
        return left == 0 ? 0 : -EBADMSG;
}

/* Whether the file ends with the sum of all before. */
static int check_sum(Delta *d) {
        _cleanup_free_ char *buffer = malloc(PIECE * DELTA_BLOCK);
        _cleanup_hash_free_ Hash *h = NULL;
        char there[DELTA_TRAILER];
        Digest digest;
        int r;

        if (!buffer || hash_new(&h) < 0)
                return -ENOMEM;
        for (uint64_t at = 0; at < d->end;) {
                size_t n = (size_t) MIN((uint64_t) PIECE * DELTA_BLOCK, d->end - at);

                if (interrupt_signal())
                        return -ECANCELED;
                r = read_all_at(d->fd, buffer, n, at);
                if (r < 0)
                        return r;
                hash_bytes(h, buffer, n);
                at += n;
        }
        hash_end(h, digest);
        r = read_all_at(d->fd, there, sizeof(there), d->end);
        if (r < 0)
                return r;
        return there[DIGEST_HEX] == '\n' && memcmp(there, digest, DIGEST_HEX) == 0 ? 0 : -EBADMSG;
}

static int read_delta(Delta *d) {
        char text[sizeof(DELTA_MAGIC) + DELTA_LINE_MAX];
        struct stat st;
        ssize_t n;
        size_t size;
        int r;

        if (fstat(d->fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EINVAL;
        n = read_at(d->fd, text, sizeof(text), 0);
        if (n < 0)
                return (int) n;
        r = delta_header_parse(text, (size_t) n, &d->header, &size);
        if (r < 0)
                return r == -EBADMSG ? -EINVAL : r;
        if ((uint64_t) st.st_size < size + DELTA_TRAILER)
                return -EBADMSG;
        d->begin = size;
        d->end = (uint64_t) st.st_size - DELTA_TRAILER;
        r = check_sum(d);
        if (r < 0)
                return r;
        return survey(d);
}

int delta_open(const char *path, Delta **ret) {
        _cleanup_delta_ Delta *d = calloc(1, sizeof(*d));
        int r;

        if (!d)
                return log_oom();
        d->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (d->fd < 0) {
                r = log_error_errno(errno, "%s: cannot read it", path);
                return r == -EACCES ? r : -EINVAL;
        }
        d->path = strdup(path);
        d->dictionary = malloc((size_t) DELTA_DICTIONARY_MAX * DELTA_BLOCK);
        d->data = malloc((size_t) DELTA_DATA_MAX * DELTA_BLOCK);
        if (!d->path || !d->dictionary || !d->data || delta_zstd_new(&d->zstd) < 0)
                return log_oom();

        r = read_delta(d);
        if (r == -EINVAL)
                return log_error_return(-EINVAL,
                                "%s is no delta: 'imgbuild export NEW --delta=OLD' makes one",
                                path);
        if (r == -EBADMSG)
                return log_error_return(
                                -EINVAL, "%s is damaged, or not whole: fetch it again", path);
        if (r == -ECANCELED)
                return r;
        if (r < 0)
                return log_error_errno(r, "%s: cannot read it", path);
        *ret = TAKE_PTR(d);
        return 0;
}

/* --- the new disk ----------------------------------------------------------------------------- */

typedef struct Writing {
        ImageReader *old;
        int to;
        Hash *hash;
        uint64_t at, size; /* bytes of the new disk: where it is, where it ends */
        uint8_t *buffer;   /* PIECE blocks */
} Writing;

static void writing_done(Writing *w) {
        image_reader_free(w->old);
        hash_free(w->hash);
        free(w->buffer);
}

static int put(Writing *w, const uint8_t *data, uint64_t blocks, bool zeros) {
        size_t n = (size_t) MIN(blocks * DELTA_BLOCK, w->size - w->at);
        int r = zeros ? 0 : write_all_at(w->to, data, n, w->at);

        hash_bytes(w->hash, data, n);
        w->at += n;
        return r;
}

static int put_old(Writing *w, const DeltaOp *op) {
        for (uint64_t done = 0, n; done < op->blocks; done += n) {
                int r = 0;

                n = MIN((uint64_t) PIECE, op->blocks - done);
                if (interrupt_signal())
                        return -ECANCELED;
                if (op->kind == DELTA_OLD)
                        r = image_reader_read(w->old, w->buffer, op->from + done, n);
                else
                        memset(w->buffer, 0, n * DELTA_BLOCK);
                if (r < 0)
                        return r;
                r = put(w, w->buffer, n, op->kind == DELTA_ZERO);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int write_piece(Delta *d, Writing *w, uint64_t *at, uint64_t *left) {
        _cleanup_delta_piece_ DeltaPiece p = {};
        const uint8_t *data = d->data;
        size_t packed;
        int r;

        r = read_piece(d, at, *left, &p, &packed);
        if (r < 0)
                return r;
        if (p.data_blocks > 0) {
                r = delta_read_dictionary(w->old, &p, d->dictionary);
                if (r < 0)
                        return r;
                r = read_frame(d, at, packed, d->dictionary, p.dictionary_blocks * DELTA_BLOCK,
                                d->data, p.data_blocks * DELTA_BLOCK);
                if (r < 0)
                        return r;
        }
        *left -= p.blocks;

        for (const DeltaOp *op = p.ops; op < p.ops + p.n_ops; op++) {
                r = op->kind == DELTA_DATA ? put(w, data, op->blocks, false) : put_old(w, op);
                if (r < 0)
                        return r;
                if (op->kind == DELTA_DATA)
                        data += op->blocks * DELTA_BLOCK;
        }
        return 0;
}

/* -EBADMSG where it is not the disk that the delta says it is. */
static int write_disk(Delta *d, Writing *w) {
        uint64_t at = d->begin, left = blocks_of(&d->header.new);
        Digest digest;
        int r;

        if (ftruncate(w->to, (off_t) w->size) < 0)
                return -errno;
        while (at < d->end) {
                r = write_piece(d, w, &at, &left);
                if (r < 0)
                        return r;
        }
        hash_end(w->hash, digest);
        return left == 0 && streq(digest, d->header.new.sha256) ? 0 : -EBADMSG;
}

static int log_unreadable(const char *path, int error) {
        return error == -ECANCELED ? error : log_error_errno(error, "%s: cannot read it", path);
}

/* The size says most wrong disks, the partition table with its GUIDs nearly all others. */
static int check_old(const Delta *d, ImageReader *old, const char *path) {
        const DeltaDisk *wanted = &d->header.old;
        Digest digest;
        int r;

        if (image_reader_size(old) != wanted->size)
                return log_error_return(-EINVAL,
                                "%s is not the image that %s was made from: it has another size",
                                path, d->path);
        r = image_reader_digest(old, DELTA_BEGINNING, digest);
        if (r < 0)
                return log_unreadable(path, r);
        if (!streq(digest, wanted->beginning))
                return log_error_return(-EINVAL,
                                "%s is not the image that %s was made from: it is of another build",
                                path, d->path);
        r = image_reader_digest(old, UINT64_MAX, digest);
        if (r < 0)
                return log_unreadable(path, r);
        if (!streq(digest, wanted->sha256))
                return log_error_return(-EINVAL,
                                "%s is not what %s was made from: it was booted and changed, or is damaged",
                                path, d->path);
        return 0;
}

int delta_apply(Delta *d, const char *old, const char *folder, ImageDraft *ret) {
        _cleanup_image_draft_ ImageDraft draft = { .fd = -EBADF };
        _cleanup_(writing_done) Writing w = { .buffer = malloc(PIECE * DELTA_BLOCK),
                .size = d->header.new.size };
        char room[FORMAT_BYTES_MAX];
        uint64_t needed;
        int r;

        if (!w.buffer || hash_new(&w.hash) < 0)
                return log_oom();
        r = delta_open_image(old, &w.old, NULL);
        if (r < 0)
                return r;
        r = check_old(d, w.old, old);
        if (r < 0)
                return r;
        needed = d->written * DELTA_BLOCK;
        r = require_space(folder, needed + SPACE_LOW, "the new disk");
        if (r < 0)
                return r;
        r = image_draft_open(folder, old, &draft);
        if (r < 0)
                return r;

        w.to = draft.fd;
        r = write_disk(d, &w);
        if (r == -EBADMSG)
                return log_error_return(-EIO,
                                "%s does not make of %s what it says it does: nothing was written. Whoever made it made it wrong",
                                d->path, old);
        if (r == -ENOSPC)
                return log_error_errno(r, "%s: cannot write the new disk, which takes up to %s",
                                folder, format_bytes(room, needed));
        if (r < 0)
                return r == -ECANCELED ? r
                                       : log_error_errno(r, "%s: cannot write the new disk",
                                                         folder);
        *ret = draft;
        draft = (ImageDraft) { .fd = -EBADF };
        return 0;
}
