/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Marks in a table are looked for at each sector of a few places: both ends of the device, and
 * where file systems keep their copies. Sources: the UEFI specification (GPT), LVM's headers of
 * label and text format, the LUKS2 on-disk format, OpenZFS's uberblocks, the kernel's headers of
 * md, ext4, XFS, btrfs, f2fs and bcache, Ceph's BlueStore. */

#include "steps/common/remains.h"
#include "shared/file-util.h"

#include <endian.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <linux/fs.h>

#define SECTOR 512
#define BLOCK 4096
#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define CHUNK (256 * KIB)

#define SAMPLES 1024

typedef struct Place {
        uint64_t from, to;
} Place;

typedef struct Mark {
        const char *type;
        size_t at; /* in its sector */
        const char *magic;
        size_t length;
        bool (*check)(const uint8_t *sector); /* where the magic alone says little */
} Mark;

static uint16_t le16(const uint8_t *p) {
        return (uint16_t) (p[0] | p[1] << 8);
}

static uint32_t le32(const uint8_t *p) {
        return le16(p) | (uint32_t) le16(p + 2) << 16;
}

/* struct ext4_super_block: the magic has two bytes only. */
static bool is_ext(const uint8_t *s) {
        uint32_t log_block = le32(s + 24), blocks_per_group = le32(s + 32);

        return le32(s + 4) > 0 && log_block <= 6 && blocks_per_group >= 256 &&
               blocks_per_group <= 8 * (UINT32_C(1024) << log_block) && le32(s + 40) > 0 &&
               le32(s + 76) <= 1;
}

/* struct xfs_dsb: the block size. */
static bool is_xfs(const uint8_t *s) {
        uint32_t size = be32toh(*(const uint32_t *) (s + 4));

        return size >= SECTOR && size <= 65536 && (size & (size - 1)) == 0;
}

/* struct mdp_superblock_1 or mdp_super_t, of either byte order: the version. */
static bool is_md(const uint8_t *s) {
        return le32(s + 4) <= 1 || be32toh(*(const uint32_t *) (s + 4)) <= 1;
}

/* struct uberblock: no version is above 5000. */
static bool is_uberblock(const uint8_t *s) {
        const uint64_t *w = (const uint64_t *) s;
        uint64_t version = s[0] == 0x0c ? le64toh(w[1]) : be64toh(w[1]);

        return version > 0 && version <= 5000;
}

static bool is_fat32_copy(const uint8_t *s) {
        return s[510] == 0x55 && s[511] == 0xaa;
}

#define MARK(t, a, m, ...) \
        { .type = t, .at = a, .magic = m, .length = sizeof(m) - 1, ##__VA_ARGS__ }

static const Mark marks[] = {
        MARK("gpt", 0, "EFI PART"),
        MARK("LVM2_member", 0, "LABELONE"),
        MARK("LVM2_member", 4, " LVM2 x[5A%r0N*>"),
        MARK("linux_raid_member", 0, "\xfc\x4e\x2b\xa9", .check = is_md),
        MARK("linux_raid_member", 0, "\xa9\x2b\x4e\xfc", .check = is_md),
        MARK("crypto_LUKS", 0, "LUKS\xba\xbe"),
        MARK("crypto_LUKS", 0, "SKUL\xba\xbe"),
        MARK("zfs_member", 0, "\x0c\xb1\xba\x00\x00\x00\x00\x00", .check = is_uberblock),
        MARK("zfs_member", 0, "\x00\x00\x00\x00\x00\xba\xb1\x0c", .check = is_uberblock),
        MARK("ext4", 56, "\x53\xef", .check = is_ext),
        MARK("xfs", 0, "XFSB", .check = is_xfs),
        MARK("xfs", 0, "XAGF\x00\x00\x00\x01"),
        MARK("xfs", 0, "XAGI\x00\x00\x00\x01"),
        MARK("btrfs", 64, "_BHRfS_M"),
        MARK("f2fs", 0, "\x10\x20\xf5\xf2"),
        MARK("bcache", 24, "\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
        MARK("ceph_bluestore", 0, "bluestore block device"),
        MARK("ntfs", 3, "NTFS    "),
        MARK("exfat", 3, "EXFAT   "),
        MARK("vfat", 82, "FAT32   ", .check = is_fat32_copy),
};

static int device_bytes(int fd, uint64_t *ret) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISBLK(st.st_mode)) {
                *ret = (uint64_t) st.st_size;
                return 0;
        }
        return ioctl(fd, BLKGETSIZE64, ret) < 0 ? -errno : 0;
}

/* A device that ends before its size is one that cannot be read. */
static int read_device(int fd, uint8_t *buffer, size_t size, uint64_t at) {
        int r = read_all_at(fd, buffer, size, at);

        return r == -EBADMSG ? -EIO : r;
}

/* Whether all bytes are the same as the first, and that is 0x00 or 0xff. */
static bool is_empty(const uint8_t *p, size_t size) {
        return (p[0] == 0x00 || p[0] == 0xff) && memcmp(p, p + 1, size - 1) == 0;
}

static bool is_listed(const Signature *found, int n, const char *type) {
        for (int i = 0; i < n; i++)
                if (streq(found[i].type, type))
                        return true;
        return false;
}

static void add(Signature *found, int *n, const char *type, uint64_t at) {
        if (*n >= SIGNATURES_MAX || is_listed(found, *n, type))
                return;
        Signature *s = &found[(*n)++];
        *s = (Signature) { .remains = true };
        snprintf(s->type, sizeof(s->type), "%s", type);
        snprintf(s->usage, sizeof(s->usage), "remains at byte %llu", (unsigned long long) at);
}

static void look_at_sector(const uint8_t *sector, uint64_t at, Signature *found, int *n) {
        for (size_t i = 0; i < ELEMENTSOF(marks); i++) {
                const Mark *m = &marks[i];

                if (memcmp(sector + m->at, m->magic, m->length) != 0)
                        continue;
                if (!m->check || m->check(sector))
                        add(found, n, m->type, at);
        }
}

static int look_at_place(int fd, const Place *place, uint8_t *buffer, Signature *found, int *n) {
        for (uint64_t at = place->from; at < place->to; at += CHUNK) {
                size_t size = (size_t) MIN(CHUNK, place->to - at);
                int r = read_device(fd, buffer, size, at);

                if (r < 0)
                        return r;
                if (is_empty(buffer, size))
                        continue;
                for (size_t i = 0; i + SECTOR <= size; i += SECTOR)
                        if (!is_empty(buffer + i, SECTOR)) /* no mark is: spares twenty looks */
                                look_at_sector(buffer + i, at + i, found, n);
        }
        return 0;
}

/* A window of the device, in whole sectors; one beyond its end is empty. */
static Place window(uint64_t from, uint64_t length, uint64_t bytes) {
        uint64_t end = bytes - bytes % SECTOR;

        from -= from % SECTOR;
        return (Place) { MIN(from, end), MIN(from + length, end) };
}

#define PLACES_MAX 32

static size_t list_places(uint64_t bytes, Place *places) {
        /* ext4 keeps copies in group 1, 8 blocks' worth of bits behind the beginning, btrfs and
         * BlueStore at fixed places. A first partition begins at 1 MiB, if not at the device's own
         * beginning. */
        static const uint64_t copies[] = { 8193 * KIB, 32 * MIB, 64 * MIB, 128 * MIB, 512 * MIB,
                GIB, 2 * GIB, 8 * GIB, 10 * GIB, 32 * GIB, 100 * GIB, 256 * GIB, 1000 * GIB };
        size_t n = 0;

        places[n++] = window(0, 6 * MIB, bytes);
        places[n++] = window(bytes > 2 * MIB ? bytes - 2 * MIB : 0, 3 * MIB, bytes);
        for (size_t i = 0; i < ELEMENTSOF(copies); i++) {
                places[n++] = window(copies[i], CHUNK, bytes);
                places[n++] = window(copies[i] + MIB, BLOCK, bytes);
        }
        return n;
}

/* XFS has a superblock in each allocation group. mkfs makes 4 of them, 8 to 32 on stripes, each of
 * 1 TiB at most; a group's size is rounded to stripes, and may count from a first partition's
 * beginning. */
static size_t list_xfs_places(uint64_t bytes, Place *places) {
        size_t n = 0;

        for (unsigned shift = 1; shift <= 5; shift++) {
                uint64_t at = bytes >> shift;

                if (at > 2 * MIB)
                        places[n++] = window(at - CHUNK, MIB + 2 * CHUNK, bytes);
        }
        places[n++] = window(1024 * GIB, CHUNK, bytes);
        places[n++] = window(1024 * GIB + MIB, CHUNK, bytes);
        return n;
}

/* What libblkid knows, in a first partition whose table is lost: where today's tools begin it, and
 * where those of old did. */
static int look_into_partition(int fd, uint64_t bytes, Signature *found, int *n) {
        static const uint64_t starts[] = { MIB, UINT64_C(63) * SECTOR };

        for (size_t i = 0; i < ELEMENTSOF(starts); i++) {
                Signature inside[SIGNATURES_MAX];
                int count = bytes > starts[i] + MIB ? probe_fd(fd, starts[i], inside) : 0;

                if (count < 0)
                        return count;
                for (int k = 0; k < count; k++)
                        add(found, n, inside[k].type, starts[i]);
        }
        return 0;
}

int probe_remains(int fd, Signature ret[SIGNATURES_MAX]) {
        _cleanup_free_ uint8_t *buffer = malloc(CHUNK);
        Place places[PLACES_MAX * 2];
        uint64_t bytes = 0;
        int n = 0, r;

        if (!buffer)
                return -ENOMEM;
        r = device_bytes(fd, &bytes);
        if (r < 0)
                return r;

        size_t count = list_places(bytes, places);
        count += list_xfs_places(bytes, places + count);
        for (size_t i = 0; i < count; i++) {
                r = look_at_place(fd, &places[i], buffer, ret, &n);
                if (r < 0)
                        return r;
        }
        r = look_into_partition(fd, bytes, ret, &n);
        return r < 0 ? r : n;
}

/* Returns 1 where the range holds data. */
static int has_data(int fd, uint64_t from, uint64_t to, uint8_t *buffer, uint64_t *ret_at) {
        for (uint64_t at = from; at < to; at += BLOCK) {
                size_t size = (size_t) MIN((uint64_t) BLOCK, to - at);
                int r = read_device(fd, buffer, size, at);

                if (r < 0)
                        return r;
                if (is_empty(buffer, size))
                        continue;
                *ret_at = at;
                return 1;
        }
        return 0;
}

/* Block number i of SAMPLES: one in each part of equal size, not at the same place in each, for
 * what lies on disks is laid out in steps. */
static uint64_t sample_at(uint64_t bytes, uint64_t i) {
        uint64_t part = (bytes - 2 * MIB) / SAMPLES, shift = i * UINT64_C(2654435761) % part;
        uint64_t at = MIB + i * part + shift;

        return at - at % BLOCK;
}

int probe_data(int fd, uint64_t *ret_at) {
        _cleanup_free_ uint8_t *buffer = malloc(BLOCK);
        uint64_t bytes = 0;
        int r;

        if (!buffer)
                return -ENOMEM;
        r = device_bytes(fd, &bytes);
        if (r < 0)
                return r;
        if (bytes < 2 * MIB + SAMPLES * BLOCK)
                return has_data(fd, 0, bytes, buffer, ret_at);

        /* All are asked for before the first is waited for. */
        for (uint64_t i = 0; i < SAMPLES; i++)
                (void) posix_fadvise(fd, (off_t) sample_at(bytes, i), BLOCK, POSIX_FADV_WILLNEED);
        r = has_data(fd, 0, MIB, buffer, ret_at);
        if (r != 0)
                return r;
        r = has_data(fd, bytes - MIB, bytes, buffer, ret_at);
        if (r != 0)
                return r;
        for (uint64_t i = 0; i < SAMPLES; i++) {
                uint64_t at = sample_at(bytes, i);

                r = has_data(fd, at, at + BLOCK, buffer, ret_at);
                if (r != 0)
                        return r;
        }
        return 0;
}
