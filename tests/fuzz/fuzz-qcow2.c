/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as a qcow2 image: each read ends, inside of its buffer. Of the input's bytes each 512
 * are the beginning of a cluster, so that a small input has many. */

#include "disk/qcow2-format.h"
#include "disk/qcow2-read.h"
#include "shared/file-util.h"

#include <sys/mman.h>

#define HEADER 112u
#define SLICE 512u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int make_image(const uint8_t *data, size_t size) {
        int fd = memfd_create("fuzz-qcow2", MFD_CLOEXEC);

        if (fd < 0)
                abort();
        (void) write_all_at(fd, data, MIN(size, (size_t) HEADER), 0);
        for (size_t at = HEADER, cluster = 1; at < size; at += SLICE, cluster++)
                (void) write_all_at(fd, data + at, MIN(size - at, (size_t) SLICE),
                                cluster * QCOW2_CLUSTER);
        return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_close_ int fd = make_image(data, size);
        static char buffer[3 * 4096];
        _cleanup_qcow2_reader_ Qcow2Reader *q = NULL;
        uint64_t end;

        if (qcow2_reader_new(fd, &q) < 0)
                return 0;
        end = qcow2_reader_size(q);
        for (unsigned i = 0; i < 24; i++) {
                uint64_t offset = end / 24 * i;

                if (end - offset >= sizeof(buffer))
                        (void) qcow2_reader_read(q, buffer, sizeof(buffer), offset);
        }
        if (qcow2_reader_read(q, buffer, sizeof(buffer), end - MIN(end, UINT64_C(1))) == 0 &&
                        end > 1)
                abort();
        return 0;
}
