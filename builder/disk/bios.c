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

#include "shared/file-util.h"
#include "shared/log.h"

#include <endian.h>
#include <fcntl.h>

#define SECTOR 512
#define BOOT_KERNEL_SECTOR 0x5c
#define BOOT_DRIVE_CHECK 0x66
#define CORE_FIRST_BLOCK (SECTOR - 12)

static int write_at(int fd, const void *data, size_t size, uint64_t offset) {
        if (lseek(fd, (off_t) offset, SEEK_SET) < 0)
                return -errno;
        return write_all(fd, data, size);
}

static void put_sector(char *at, uint64_t offset) {
        uint64_t sector = htole64(offset / SECTOR);

        memcpy(at, &sector, sizeof(sector));
}

int disk_write_bios(Disk *d) {
        const Layout *l = &d->layout;
        _cleanup_free_ char *boot_path = path_join(d->work, "boot.img"),
                            *core_path = path_join(d->work, "core.img");
        _cleanup_free_ char *boot = NULL, *core = NULL;
        _cleanup_hash_free_ Hash *h = NULL;
        _cleanup_close_ int fd = -EBADF;
        char *copy[] = { (char *) "cp", (char *) "/usr/lib/grub/i386-pc/boot.img",
                (char *) "/work/boot.img", NULL };
        size_t boot_size, core_size;
        int r;

        if (!boot_path || !core_path)
                return log_oom();
        r = grub_make_core(d, "i386-pc", "core.img");
        if (r >= 0)
                r = disk_tool(d, NULL, NULL, copy);
        if (r < 0)
                return r;
        r = read_file(boot_path, 64 * 1024, &boot, &boot_size);
        if (r >= 0)
                r = read_file(core_path, BIOS_SIZE, &core, &core_size);
        if (r < 0)
                return log_error_errno(r, "Cannot read GRUB's images for BIOS");
        if (boot_size != SECTOR || core_size <= SECTOR)
                return log_error_errno(-EIO, "GRUB's images for BIOS are not what they should be");

        put_sector(boot + BOOT_KERNEL_SECTOR, l->bios_start);
        memset(boot + BOOT_DRIVE_CHECK, 0x90, 2);
        put_sector(core + CORE_FIRST_BLOCK, l->bios_start + SECTOR);

        r = hash_new(&h);
        if (r < 0)
                return log_error_errno(r, "Cannot hash the BIOS boot loader");
        hash_bytes(h, boot, BIOS_BOOT_CODE);
        hash_bytes(h, core, core_size);
        hash_end(h, d->info.bios_loader);
        d->info.bios_loader_size = core_size;

        fd = open(d->path, O_WRONLY | O_CLOEXEC);
        r = fd < 0 ? -errno : write_at(fd, boot, BIOS_BOOT_CODE, 0);
        if (r >= 0)
                r = write_at(fd, core, core_size, l->bios_start);
        return r < 0 ? log_error_errno(r, "%s: cannot write the BIOS boot loader", d->path) : 0;
}
