/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes on a disk: pieces of the input lie about on a file that is a disk. What is no zero is
 * found as data on a disk of which all is read, reading changes nothing, and nothing is found
 * beyond the end. */

#include "steps/common/signature.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The code itself, reading from memory: a kernel that copies takes most of the time. */
#include "shared/file-util.h"
static int read_image(int fd, void *to, size_t size, uint64_t at);
#define read_all_at read_image
#define probe_remains image_probe_remains
#define probe_data image_probe_data
#include "steps/common/remains.c" // NOLINT(bugprone-suspicious-include)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds, const char *what) {
        if (holds)
                return;
        fprintf(stderr, "fuzz-remains: %s\n", what);
        abort();
}

#define SMALL_SECTORS 512u
/* Beyond a partition's first MiB, where libblkid is asked. */
#define LARGE_SECTORS 4600u

static int fd = -1, disk = -1; /* to write, to read alone; one for all runs */
static uint8_t image[LARGE_SECTORS * SECTOR];
static uint64_t length; /* of the disk in bytes */

static int read_image(int fd_of_disk, void *to, size_t size, uint64_t at) {
        expect(fd_of_disk == disk, "another disk is read");
        if (at > length || size > length - at)
                return -EBADMSG;
        memcpy(to, image + at, size);
        return 0;
}

static void prepare(void) {
        char path[64];

        if (fd < 0) {
                fd = memfd_create("disk", MFD_CLOEXEC);
                snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
                disk = open(path, O_RDONLY | O_CLOEXEC);
        }
        expect(fd >= 0 && disk >= 0, "no memory");
        memset(image, 0, length);
}

/* A part of the input, and where it lies on the disk. */
typedef struct Piece {
        const uint8_t *data;
        uint64_t at;
        size_t size;
} Piece;

/* Two bytes of sector and one of length in units of 4 come before each; false where the input is at
 * its end. */
static bool next_piece(const uint8_t **data, size_t *size, Piece *ret) {
        const uint8_t *p = *data;

        if (*size <= 3)
                return false;
        *size -= 3;
        ret->at = (p[0] | (uint64_t) p[1] << 8) * SECTOR % length;
        ret->size = MIN(p[2] * 4u, MIN(*size, length - ret->at));
        ret->data = p + 3;
        *data = ret->data + ret->size;
        *size -= ret->size;
        return true;
}

/* libblkid, which is asked where there may be a partition, reads the file. */
static void lay_out(const uint8_t *data, size_t size, bool large) {
        Piece p;

        expect(ftruncate(fd, 0) == 0 && ftruncate(fd, (off_t) length) == 0, "no disk");
        while (next_piece(&data, &size, &p)) {
                memcpy(image + p.at, p.data, p.size);
                if (large)
                        expect(pwrite(fd, p.data, p.size, (off_t) p.at) == (ssize_t) p.size,
                                        "cannot write");
        }
}

static bool is_padding(const uint8_t *p, size_t size) {
        while (size > 0 && (*p == 0x00 || *p == 0xff))
                p++, size--;
        return size == 0;
}

/* Whether something is on the disk that is no padding, once all is written. */
static bool holds_something(const uint8_t *data, size_t size) {
        Piece p;

        while (next_piece(&data, &size, &p))
                if (!is_padding(image + p.at, p.size))
                        return true;
        return false;
}

/* The first three bytes of the input are the disk's size in sectors, then come the pieces. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        Signature found[SIGNATURES_MAX];
        uint64_t sectors, at = 0;
        bool large;
        int n;

        if (size < 3)
                return 0;
        prepare();
        sectors = 1 + (data[0] | (uint64_t) data[1] << 8) % (data[2] & 1 ? SMALL_SECTORS : 64);
        large = data[0] == 255 && data[1] == 255 && data[2] == 255;
        if (large)
                sectors += 4000;
        length = sectors * SECTOR;
        lay_out(data + 3, size - 3, large);

        n = probe_remains(disk, found);
        expect(n >= 0 && n <= SIGNATURES_MAX, "it cannot be read");
        for (int i = 0; i < n; i++)
                expect(found[i].type[0] && memchr(found[i].type, '\0', sizeof(found[i].type)),
                                "a signature without a name");

        n = probe_data(disk, &at);
        expect(n == 0 || n == 1, "data cannot be read");
        expect(n == 0 || at < length, "data beyond the end");
        expect(n == 1 || !holds_something(data + 3, size - 3), "data that were not found");
        return 0;
}
