/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The EFI system partition: FAT32 with one file, GRUB, at the path that firmware looks for when
 * nobody told it where to look. GRUB's core image carries all the modules it needs and finds root
 * by its UUID; its configuration lies on root, where a kernel's update would look for it. */

#include "disk/internal.h"

#include "shared/file-util.h"
#include "shared/log.h"

#include <fcntl.h>
#include <sys/stat.h>

/* What both GRUBs can do: read the disk, find root, show the menu, load Linux. */
static const char *const grub_modules[] = {
        "part_gpt",
        "part_msdos",
        "fat",
        "ext2",
        "xfs",
        "normal",
        "configfile",
        "search",
        "search_fs_uuid",
        "linux",
        "echo",
        "test",
        "minicmd",
        "ls",
        "cat",
        "serial",
        "terminal",
        "gzio",
        "reboot",
        "halt",
        "all_video",
};

int grub_make_core(Disk *d, const char *format, const char *output) {
        _cleanup_free_ char *early = layout_grub_early(&d->layout),
                            *path = path_join(d->work, "early.cfg"),
                            *inside = path_join("/work", output),
                            *made = path_join(d->work, output);
        const struct timespec times[2] = { { .tv_sec = d->plan->lock->epoch },
                { .tv_sec = d->plan->lock->epoch } };
        _cleanup_strv_free_ char **argv = NULL;
        int r;

        if (!early || !path || !inside || !made)
                return log_oom();
        r = write_file_atomic(path, early, strlen(early), 0644);
        if (r < 0)
                return log_error_errno(r, "%s: cannot write it", path);
        r = strv_extend_many(&argv, "grub-mkimage", "-O", format, "-p", "/boot/grub", "-c",
                        "/work/early.cfg", "-o", inside, NULL);
        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(grub_modules); i++)
                r = strv_extend(&argv, grub_modules[i]);
        if (r >= 0)
                r = strv_extend(&argv, streq(format, "i386-pc") ? "biosdisk" : "efi_gop");
        if (r < 0)
                return log_oom();
        r = disk_tool(d, NULL, NULL, argv);
        if (r < 0)
                return r;
        if (utimensat(AT_FDCWD, made, times, 0) < 0)
                return log_error_errno(errno, "%s: cannot set its time", made);
        return 0;
}

int disk_write_esp(Disk *d) {
        const Layout *l = &d->layout;
        _cleanup_free_ char *id = NULL, *offset = NULL, *blocks = NULL, *at = NULL, *loader = NULL;
        int r;

        r = grub_make_core(d, "x86_64-efi", "BOOTX64.EFI");
        if (r < 0)
                return r;
        loader = path_join(d->work, "BOOTX64.EFI");
        if (!loader)
                return log_oom();
        r = digest_file(loader, d->info.efi_loader, NULL);
        if (r < 0)
                return log_error_errno(r, "%s: cannot read it", loader);
        id = strf("%.4s%.4s", l->esp_id, l->esp_id + 5);
        offset = strf("%llu", (unsigned long long) (l->esp_start / 512));
        blocks = strf("%llu", (unsigned long long) (ESP_SIZE / 1024));
        at = strf("%s@@%llu", d->file, (unsigned long long) l->esp_start);
        if (!id || !offset || !blocks || !at)
                return log_oom();

        /* One sector a cluster: with larger ones there would be too few clusters, and firmware
         * reads it as FAT16. */
        char *mkfs[] = { (char *) "mkfs.vfat",
                (char *) "--invariant" /* before -i: it sets an id of its own */, (char *) "-i", id,
                (char *) "-F", (char *) "32", (char *) "-s", (char *) "1", (char *) "-n",
                (char *) "ESP", (char *) "--offset", offset, d->file, blocks, NULL };
        char *mmd[] = { (char *) "mmd", (char *) "-i", at, (char *) "::EFI", (char *) "::EFI/BOOT",
                NULL };
        char *mcopy[] = { (char *) "mcopy", (char *) "-m", (char *) "-i", at,
                (char *) "/work/BOOTX64.EFI", (char *) "::EFI/BOOT/BOOTX64.EFI", NULL };
        char *const *const commands[] = { mkfs, mmd, mcopy };

        for (size_t i = 0; i < ELEMENTSOF(commands); i++) {
                r = disk_tool(d, NULL, NULL, commands[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}
