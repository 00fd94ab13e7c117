/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The firmware that a disk is for, by its partition table alone: a vendor's disk says so nowhere
 * else, and neither does an image that somebody exports. */

#include "disk/firmware.h"
#include "disk/image-draft.h"
#include "inspect/inspect.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/probe.h"
#include "shared/strv.h"

#include <sys/mman.h>
#include <unistd.h>

#define HEAD_BYTES ((size_t) 1 << 20) /* tables end long before */
#define DISK_BYTES ((off_t) 1 << 50)  /* no table says that there is more */

static bool is_esp(const Partition *p) {
        return streq(p->type, "C12A7328-F81F-11D2-BA4B-00A0C93EC93B") || streq(p->type, "0xef");
}

/* A disk that begins as that one, and is as long as its table may say: in memory. */
static int open_like(int fd) {
        _cleanup_free_ char *head = malloc(HEAD_BYTES);
        _cleanup_close_ int disk = memfd_create("disk", MFD_CLOEXEC);
        ssize_t n;
        int r;

        if (!head || disk < 0)
                return -ENOMEM;
        n = read_at(fd, head, HEAD_BYTES, 0);
        if (n < 0)
                return (int) n;
        r = write_all_at(disk, head, (size_t) n, 0);
        if (r < 0)
                return r;
        return ftruncate(disk, DISK_BYTES) < 0 ? -errno : TAKE_FD(disk);
}

/* The MBR that a GPT has in front of it, and no GPT. */
static int is_protective_mbr_alone(int disk) {
        _cleanup_probe_ blkid_probe probe = blkid_new_probe();
        const char *type;

        if (!probe)
                return -ENOMEM;
        if (blkid_probe_set_device(probe, disk, 0, 0) < 0)
                return -EIO;
        blkid_probe_enable_partitions(probe, true);
        blkid_probe_enable_superblocks(probe, false);
        return blkid_do_probe(probe) == 0 &&
               blkid_probe_lookup_value(probe, "PTTYPE", &type, NULL) == 0 && streq(type, "PMBR");
}

int table_has_esp(int fd) {
        _cleanup_partition_table_ PartitionTable table = {};
        _cleanup_close_ int disk = open_like(fd);
        bool elsewhere;
        int r = disk < 0 ? disk : partition_table_parse(disk, &table, &elsewhere);

        if (r < 0)
                return r;
        for (size_t i = 0; i < table.n; i++)
                if (is_esp(table.partitions + i))
                        return true;
        r = is_protective_mbr_alone(disk);
        return r > 0 ? -EUCLEAN : r;
}

/* `draft` gets the disk's beginning. */
static int take_head(Tools *tools, const char *source, const char *driver, const char *draft) {
        const SandboxBind binds[] = {
                { .source = source, .target = "/source" },
                { .source = draft, .target = "/run/image/head", .writable = true },
        };

        return tools_run(tools, binds, ELEMENTSOF(binds), NULL, NULL,
                        ARGV("qemu-img", "dd", "-f", driver, "-O", "raw", "bs=1M", "count=1",
                                        "if=/source", "of=/run/image/head"));
}

int disk_wants_uefi(Tools *tools, const char *source, const char *driver, const char *folder) {
        _cleanup_image_draft_ ImageDraft head = { .fd = -EBADF };
        _cleanup_close_ int fd = -EBADF;
        int r;

        r = image_draft_open(folder, source, &head);
        if (r < 0)
                return r;
        r = take_head(tools, source, driver, head.path);
        if (r < 0)
                return r;
        fd = image_draft_reopen(&head, folder);
        r = fd < 0 ? fd : table_has_esp(fd);
        if (r == -EUCLEAN)
                return log_error_errno(r,
                                "%s: its partition table is a GPT, and the one at the disk's beginning is damaged, or is for other sectors than those of 512 bytes: fdisk, which takes the copy at the end, shows it and repairs it (command w)",
                                source);
        return r < 0 ? log_error_errno(r, "%s: cannot read its partition table", source) : r;
}
