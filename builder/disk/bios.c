/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* GRUB for BIOS firmware. Its own installer wants block devices; on a file the work is two sectors'
 * worth of addresses, at the places that GRUB's boot sector documents (grub-core/boot/i386/pc,
 * include/grub/i386/pc/boot.h):
 *
 * - boot.img, the first 440 bytes of the disk: at 0x5c the sector of the core image, and at 0x66 a
 *   jump that only floppy disks need, made two no-operations as the installer does for hard disks.
 * - core.img, in the BIOS boot partition: its first sector loads the others; at 500 stands where
 *   they begin. Their number and the segment to load them to are there already. */

#include "disk/internal.h"
#include "sandbox/open-inside.h"

#include "shared/file-util.h"
#include "shared/log.h"

#include <endian.h>
#include <fcntl.h>

#define SECTOR 512
#define BOOT_KERNEL_SECTOR 0x5c
#define BOOT_DRIVE_CHECK 0x66
#define CORE_FIRST_BLOCK (SECTOR - 12)

static void put_sector(char *at, uint64_t offset) {
        uint64_t sector = htole64(offset / SECTOR);

        memcpy(at, &sector, sizeof(sector));
}

/* What the proof reads back: the boot sector's code and the core image behind it. */
static int note_digest(Disk *d, const char *boot, const char *core, size_t core_size) {
        _cleanup_hash_free_ Hash *h = NULL;
        int r;

        r = hash_new(&h);
        if (r < 0)
                return r;
        hash_bytes(h, boot, BIOS_BOOT_CODE);
        hash_bytes(h, core, core_size);
        hash_end(h, d->info.bios_loader);
        d->info.bios_loader_size = core_size;
        return 0;
}

static int write_loader(const Disk *d, const char *boot, const char *core, size_t core_size) {
        _cleanup_close_ int fd = disk_open(d, O_WRONLY);
        int r;

        if (fd < 0)
                return fd;
        r = write_all_at(fd, boot, BIOS_BOOT_CODE, 0);
        if (r < 0)
                return r;
        return write_all_at(fd, core, core_size, d->layout.bios_start);
}

/* Makes both images and reads them into memory. */
static int make_images(Disk *d, char **ret_boot, size_t *ret_boot_size, char **ret_core,
                size_t *ret_core_size) {
        int r;

        r = grub_make_core(d, "i386-pc", "core.img");
        if (r < 0)
                return r;
        r = disk_tool(d, NULL, NULL,
                        ARGV("cp", "/usr/lib/grub/i386-pc/boot.img", "/work/boot.img"));
        if (r < 0)
                return r;

        r = inside_read_output(d->work, "boot.img", 64 * 1024, ret_boot, ret_boot_size);
        if (r < 0)
                return log_error_errno(r, "Cannot read GRUB's images for BIOS");
        r = inside_read_output(d->work, "core.img", BIOS_SIZE, ret_core, ret_core_size);
        if (r < 0)
                return log_error_errno(r, "Cannot read GRUB's images for BIOS");
        return 0;
}

int disk_write_bios(Disk *d) {
        uint64_t start = d->layout.bios_start;
        _cleanup_free_ char *boot = NULL, *core = NULL;
        size_t boot_size = 0, core_size = 0;
        int r;

        r = make_images(d, &boot, &boot_size, &core, &core_size);
        if (r < 0)
                return r;
        if (boot_size != SECTOR || core_size <= SECTOR)
                return log_error_return(-EIO, "GRUB's images for BIOS are not what they should be");

        put_sector(boot + BOOT_KERNEL_SECTOR, start);
        memset(boot + BOOT_DRIVE_CHECK, 0x90, 2);
        put_sector(core + CORE_FIRST_BLOCK, start + SECTOR);

        r = note_digest(d, boot, core, core_size);
        if (r < 0)
                return log_error_errno(r, "Cannot hash the BIOS boot loader");
        r = write_loader(d, boot, core, core_size);
        if (r < 0)
                return log_error_errno(r, "%s: cannot write the BIOS boot loader", d->path);
        return 0;
}
