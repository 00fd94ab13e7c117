/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as the one partition of a disk, in which libext2fs finds a system: the walk through it
 * ends, inside of its buffers. The corpus has no checksums, which would keep out all that is not
 * right. */

#include "appliance/ext4.h"
#include "shared/file-util.h"

#include <fcntl.h>
#include <sys/mman.h>

#define START 4096 /* bytes; sector 8 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int make_disk(const uint8_t *data, size_t size) {
        uint8_t mbr[512] = { [450] = 0x83, [454] = START / 512, [510] = 0x55, [511] = 0xaa };
        uint32_t sectors = (uint32_t) (size / 512);
        int fd = memfd_create("fuzz-ext4", MFD_CLOEXEC);

        memcpy(mbr + 458, &sectors, sizeof(sectors));
        if (fd < 0 || write_all_at(fd, mbr, sizeof(mbr), 0) < 0 ||
                        write_all_at(fd, data, size, START) < 0)
                abort();
        return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_close_ int disk = make_disk(data, size),
                            to = open("/dev/null", O_WRONLY | O_CLOEXEC);
        _cleanup_ext4_system_ Ext4System s = {};
        _cleanup_free_ char *why = NULL;
        int r;

        if (ext4_system_open(disk, NULL, &s) <= 0)
                return 0;
        r = ext4_pour(&s, to, &why);
        if (r == -EBADMSG && !why)
                abort();
        return 0;
}
