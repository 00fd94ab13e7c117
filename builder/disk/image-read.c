/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Raw files and block devices by read(), qcow2 by qcow2-read.c. */

#include "disk/image-read.h"
#include "disk/qcow2-read.h"
#include "shared/file-util.h"
#include "shared/spawn.h"

#include <fcntl.h>
#include <sys/stat.h>

#define PIECE (256u * DELTA_BLOCK)

struct ImageReader {
        int fd;
        uint64_t size;
        Qcow2Reader *qcow2; /* NULL: raw */
};

int image_reader_open(const char *path, const char *driver, ImageReader **ret) {
        _cleanup_image_reader_ ImageReader *i = calloc(1, sizeof(*i));
        off_t end;
        int r;

        if (!i)
                return -ENOMEM;
        i->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (i->fd < 0)
                return -errno;
        if (streq(driver, "qcow2")) {
                r = qcow2_reader_new(i->fd, &i->qcow2);
                if (r < 0)
                        return r;
                i->size = qcow2_reader_size(i->qcow2);
        } else if (streq(driver, "raw")) {
                end = lseek(i->fd, 0, SEEK_END); /* block devices have a size, too */
                if (end < 0)
                        return -errno;
                i->size = (uint64_t) end;
        } else {
                return -EOPNOTSUPP;
        }
        *ret = TAKE_PTR(i);
        return 0;
}

ImageReader *image_reader_free(ImageReader *i) {
        if (!i)
                return NULL;
        qcow2_reader_free(i->qcow2);
        safe_close(i->fd);
        free(i);
        return NULL;
}

uint64_t image_reader_size(const ImageReader *i) {
        return i->size;
}

uint64_t image_reader_blocks(const ImageReader *i) {
        return i->size / DELTA_BLOCK + (i->size % DELTA_BLOCK != 0);
}

static int read_bytes(ImageReader *i, void *data, size_t size, uint64_t offset) {
        return i->qcow2 ? qcow2_reader_read(i->qcow2, data, size, offset)
                        : read_all_at(i->fd, data, size, offset);
}

int image_reader_read(ImageReader *i, void *data, uint64_t block, size_t blocks) {
        uint64_t n = image_reader_blocks(i), offset = block * DELTA_BLOCK;
        size_t size, there;

        if (block > n || blocks > n - block)
                return -EINVAL;
        size = blocks * DELTA_BLOCK;
        there = (size_t) MIN((uint64_t) size, i->size - offset);
        memset((char *) data + there, 0, size - there);
        return read_bytes(i, data, there, offset);
}

int image_reader_digest(ImageReader *i, uint64_t max, Digest ret) {
        _cleanup_free_ char *buffer = malloc(PIECE);
        _cleanup_hash_free_ Hash *h = NULL;
        uint64_t end = MIN(max, i->size);
        int r;

        if (!buffer)
                return -ENOMEM;
        r = hash_new(&h);
        if (r < 0)
                return r;
        for (uint64_t offset = 0; offset < end; offset += PIECE) {
                size_t n = (size_t) MIN((uint64_t) PIECE, end - offset);

                if (interrupt_signal())
                        return -ECANCELED;
                r = read_bytes(i, buffer, n, offset);
                if (r < 0)
                        return r;
                hash_bytes(h, buffer, n);
        }
        hash_end(h, ret);
        return digest_valid(ret) ? 0 : -EIO;
}

bool block_is_zero(const void *block) {
        const char *b = block;

        return b[0] == 0 && memcmp(b, b + 1, DELTA_BLOCK - 1) == 0;
}
