/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes on a disk: pieces of the input lie about on a file that is a disk. What is no zero is
 * found as data on a disk of which all is read, reading changes nothing, and nothing is found
 * beyond the end. */

#include "steps/common/remains.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SECTOR 512u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds, const char *what) {
        if (holds)
                return;
        fprintf(stderr, "fuzz-remains: %s\n", what);
        abort();
}

static int fd = -1, disk = -1; /* to write, to read alone; one for all runs */

static void prepare(void) {
        char path[64];

        if (fd < 0) {
                fd = memfd_create("disk", MFD_CLOEXEC);
                snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
                disk = open(path, O_RDONLY | O_CLOEXEC);
        }
        expect(fd >= 0 && disk >= 0, "no memory");
        expect(ftruncate(fd, 0) == 0, "no empty disk");
}

static bool has_more_than_padding(size_t size) {
        const uint8_t *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
        size_t i = 0;

        expect(map != MAP_FAILED, "cannot map");
        while (i < size && (map[i] == 0x00 || map[i] == 0xff))
                i++;
        munmap((void *) map, size);
        return i < size;
}

/* The first three bytes are the disk's size in sectors, then come pieces: two bytes of sector, one
 * of length in units of 4. Returns the size in bytes. */
static uint64_t lay_out(const uint8_t *data, size_t size, bool *ret_written) {
        uint64_t sectors = 1 + (data[0] | (uint64_t) data[1] << 8) % (data[2] & 1 ? 512 : 64);

        if (data[2] == 255)
                sectors += 65536;
        expect(ftruncate(fd, (off_t) (sectors * SECTOR)) == 0, "no disk");
        for (size_t i = 3; i + 3 < size;) {
                uint64_t sector = (data[i] | (uint64_t) data[i + 1] << 8) % sectors;
                size_t length = data[i + 2] * 4u;

                i += 3;
                if (length > size - i)
                        length = size - i;
                if (length > (sectors - sector) * SECTOR)
                        length = (sectors - sector) * SECTOR;
                expect(pwrite(fd, data + i, length, (off_t) (sector * SECTOR)) == (ssize_t) length,
                                "cannot write");
                i += length;
        }

        if (sectors <= 512)
                *ret_written = has_more_than_padding(sectors * SECTOR);
        return sectors * SECTOR;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        Signature found[SIGNATURES_MAX];
        uint64_t bytes, at = 0;
        bool written = false;
        int n;

        if (size < 3)
                return 0;
        prepare();
        bytes = lay_out(data, size, &written);
        n = probe_remains(disk, found);
        expect(n >= 0 && n <= SIGNATURES_MAX, "it cannot be read");
        for (int i = 0; i < n; i++)
                expect(found[i].type[0] && memchr(found[i].type, '\0', sizeof(found[i].type)),
                                "a signature without a name");

        n = probe_data(disk, &at);
        expect(n == 0 || n == 1, "data cannot be read");
        expect(n == 0 || at < bytes, "data beyond the end");
        expect(n == 1 || !written, "data that were not found");
        return 0;
}
