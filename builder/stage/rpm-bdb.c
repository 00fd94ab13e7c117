/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Pages of Berkeley DB 5.3, of which rpm has hashes and B-trees. An item too
 * large for its page is there as a reference to pages of its own, a struct with bytes that nobody
 * sets. Numbers are in the machine's byte order: little-endian here. */

#include "stage/rpm-bdb.h"
#include "sandbox/open-inside.h"

#include "shared/folder.h"
#include "shared/log.h"

#include <fcntl.h>
#include <openssl/sha.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define FOLDER "var/lib/rpm"

#define HASH_MAGIC 0x061561
#define BTREE_MAGIC 0x053162
#define VERSION_MIN 8
#define VERSION_MAX 10
#define UID_AT 52
#define UID_SIZE 20
#define META_SIZE (UID_AT + UID_SIZE)
#define HEADER_SIZE 26

enum { PAGE_HASH_UNSORTED = 2, PAGE_BTREE_INTERNAL, PAGE_BTREE_LEAF = 5, PAGE_HASH = 13 };
enum { HASH_OFFPAGE = 3, HASH_OFFDUP = 4, BTREE_DUPLICATE = 2, BTREE_OVERFLOW = 3 };
#define BTREE_DELETED 0x80

typedef struct Page {
        uint8_t *data;
        size_t size;
} Page;

static uint32_t number(const uint8_t *p) {
        return (uint32_t) p[3] << 24 | (uint32_t) p[2] << 16 | (uint32_t) p[1] << 8 | p[0];
}

static uint16_t short_number(const uint8_t *p) {
        return (uint16_t) (p[1] << 8 | p[0]);
}

static void settle_hash_item(uint8_t *item) {
        if (item[0] == HASH_OFFPAGE || item[0] == HASH_OFFDUP)
                memset(item + 1, 0, 3);
}

/* A reference within a leaf, and one within an inner page's item. */
static void settle_reference(uint8_t *item) {
        uint8_t type = item[2] & (uint8_t) ~BTREE_DELETED;

        if (type != BTREE_OVERFLOW && type != BTREE_DUPLICATE)
                return;
        memset(item, 0, 2);
        item[3] = 0;
}

static void settle_inner_item(uint8_t *item, size_t left) {
        uint8_t type = item[2] & (uint8_t) ~BTREE_DELETED;

        item[3] = 0;
        if (type == BTREE_OVERFLOW && left >= 24)
                settle_reference(item + 12);
}

static void settle_item(uint8_t page_type, uint8_t *item, size_t left) {
        switch (page_type) {
        case PAGE_HASH:
        case PAGE_HASH_UNSORTED:
                settle_hash_item(item);
                break;
        case PAGE_BTREE_LEAF:
                settle_reference(item);
                break;
        default:
                settle_inner_item(item, left);
        }
}

static void settle_page(const Page *p) {
        uint8_t type = p->data[25];
        size_t n = short_number(p->data + 20);

        if (type != PAGE_HASH && type != PAGE_HASH_UNSORTED && type != PAGE_BTREE_LEAF &&
                        type != PAGE_BTREE_INTERNAL)
                return;
        for (size_t i = 0; i < n && HEADER_SIZE + 2 * (i + 1) <= p->size; i++) {
                size_t at = short_number(p->data + HEADER_SIZE + 2 * i);

                /* The list of items is in front of all of them. */
                if (at >= HEADER_SIZE + 2 * n && at + 4 <= p->size)
                        settle_item(type, p->data + at, p->size - at);
        }
}

static bool is_known(const uint8_t *data, size_t size, size_t *ret_page_size) {
        uint32_t magic, version, page_size;

        if (size < META_SIZE)
                return false;
        magic = number(data + 12);
        version = number(data + 16);
        page_size = number(data + 20);
        if (magic != HASH_MAGIC && magic != BTREE_MAGIC)
                return false;
        if (version < VERSION_MIN || version > VERSION_MAX)
                return false;
        /* 64 KiB pages would have offsets that 16 bits do not hold; rpm has none. Encrypted ones
         * and such with checksums are not rpm's either. */
        if (page_size < 512 || page_size > 32768 || (page_size & (page_size - 1)) != 0)
                return false;
        *ret_page_size = page_size;
        return data[24] == 0 && data[26] == 0;
}

bool rpm_bdb_settle(void *data, size_t size, const char *name) {
        unsigned char digest[SHA256_DIGEST_LENGTH];
        uint8_t *bytes = data;
        size_t page_size;

        if (!is_known(bytes, size, &page_size))
                return false;
        SHA256((const unsigned char *) name, strlen(name), digest);
        memcpy(bytes + UID_AT, digest, UID_SIZE);
        for (size_t at = page_size; at + page_size <= size; at += page_size)
                settle_page(&(Page) { bytes + at, page_size });
        return true;
}

/* What is no file stays shut: one that the stage removed is a device in its layer. */
static int settle_file(int folder_fd, const char *name) {
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        void *data;

        if (fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) || st.st_size < META_SIZE)
                return 0;
        fd = openat(folder_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        data = mmap(NULL, (size_t) st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (data == MAP_FAILED)
                return -errno;
        (void) rpm_bdb_settle(data, (size_t) st.st_size, name);
        return munmap(data, (size_t) st.st_size) < 0 ? -errno : 0;
}

int rpm_bdb_settle_all(int root_fd) {
        _cleanup_closedir_ DIR *d = NULL;
        int r;

        r = inside_open_folder(root_fd, FOLDER, &d);
        if (r == -ENOENT || r == -ENOTDIR)
                return 0;
        if (r < 0)
                return r;
        FOLDER_FOREACH (name, d) {
                r = settle_file(dirfd(d), name);
                if (r < 0)
                        return log_error_errno(r, "Cannot settle " FOLDER "/%s", name);
        }
        return 0;
}
