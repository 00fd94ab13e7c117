/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The EFI system partition: FAT32 with one file, GRUB, at the path that firmware looks for when
 * nobody told it where to look. */

#include "disk/internal.h"
#include "sandbox/open-inside.h"

#include "shared/file-util.h"
#include "shared/log.h"

#define LOADER "BOOTX64.EFI"

/* What the proof reads back. */
static int note_digest(Disk *d) {
        _cleanup_close_ int fd = inside_open_output(d->work, LOADER, ESP_SIZE);

        return fd < 0 ? fd : digest_fd(fd, d->info.efi_loader, NULL);
}

int disk_write_esp(Disk *d) {
        const Layout *l = &d->layout;
        _cleanup_free_ char *id = NULL, *offset = NULL, *blocks = NULL, *at = NULL;
        int r;

        r = grub_make_core(d, "x86_64-efi", LOADER);
        if (r < 0)
                return r;
        r = note_digest(d);
        if (r < 0)
                return log_error_errno(r, "%s/" LOADER ": cannot read it", d->work);
        id = strf("%.4s%.4s", l->esp_id, l->esp_id + 5);
        offset = strf("%llu", (unsigned long long) (l->esp_start / 512));
        blocks = strf("%llu", (unsigned long long) (ESP_SIZE / 1024));
        at = strf("%s@@%llu", d->file, (unsigned long long) l->esp_start);
        if (!id || !offset || !blocks || !at)
                return log_oom();

        /* One sector a cluster: with larger ones there would be too few clusters, and firmware
         * reads it as FAT16. --invariant comes before -i, for it sets an id of its own. */
        char *const *const commands[] = {
                ARGV("mkfs.vfat", "--invariant", "-i", id, "-F", "32", "-s", "1", "-n", "ESP",
                                "--offset", offset, d->file, blocks),
                ARGV("mmd", "-i", at, "::EFI", "::EFI/BOOT"),
                ARGV("mcopy", "-m", "-i", at, "/work/" LOADER, "::EFI/BOOT/" LOADER),
        };
        for (size_t i = 0; i < ELEMENTSOF(commands); i++) {
                r = disk_tool(d, NULL, NULL, commands[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}
