/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The archives in front are not compressed: a processor's microcode, which the kernel wants before
 * it can unpack. Where one ends only who reads it knows; libarchive, which reads ahead, does not
 * tell, and gets what follows. */

#include "common/initramfs.h"

#include <archive.h>
#include <archive_entry.h>

/* "070701" or "070702", and thirteen numbers of eight hexadecimal digits. */
#define HEADER_SIZE ((size_t) 110)
#define NUMBER_SIZE ((size_t) 8)
#define NAME_MAX_SIZE ((size_t) 4096) /* with the NUL: PATH_MAX, and what Linux takes */
#define TRAILER "TRAILER!!!"

enum { NUMBER_FILE_SIZE = 6, NUMBER_NAME_SIZE = 11 };

typedef struct Image {
        const uint8_t *data;
        size_t size, at;
        int (*fn)(const char *path, void *userdata);
        void *userdata;
} Image;

static int tell(const Image *i, const char *path) {
        while (*path == '/' || (path[0] == '.' && (path[1] == '/' || path[1] == '\0')))
                path++;
        return *path ? i->fn(path, i->userdata) : 0;
}

static bool begins(const Image *i, const void *magic, size_t n) {
        return i->size - i->at >= n && memcmp(i->data + i->at, magic, n) == 0;
}

static bool is_entry(const Image *i) {
        return begins(i, "070701", 6) || begins(i, "070702", 6);
}

static int number(const Image *i, size_t which, size_t *ret) {
        const uint8_t *p = i->data + i->at + 6 + which * NUMBER_SIZE;
        size_t value = 0;

        for (size_t k = 0; k < NUMBER_SIZE; k++) {
                const char *digits = "0123456789abcdef";
                const char *digit = strchr(digits, p[k] >= 'A' && p[k] <= 'F' ? p[k] + 32 : p[k]);

                if (!p[k] || !digit)
                        return -EBADMSG;
                value = value * 16 + (size_t) (digit - digits);
        }
        *ret = value;
        return 0;
}

static size_t padded(size_t size) {
        return (size + 3) / 4 * 4;
}

/* One entry; 1: it was the trailer. What is padded are places in the archive, which begins where a
 * multiple of four does. */
static int take_entry(Image *i) {
        size_t name_size, size, left = i->size - i->at;
        const char *name;

        if (left < HEADER_SIZE || number(i, NUMBER_FILE_SIZE, &size) < 0 ||
                        number(i, NUMBER_NAME_SIZE, &name_size) < 0)
                return -EBADMSG;
        if (name_size == 0 || name_size > NAME_MAX_SIZE || left < padded(HEADER_SIZE + name_size) ||
                        padded(size) > left - padded(HEADER_SIZE + name_size))
                return -EBADMSG;
        name = (const char *) i->data + i->at + HEADER_SIZE;
        if (name[name_size - 1] != '\0')
                return -EBADMSG;

        i->at += padded(HEADER_SIZE + name_size) + padded(size);
        if (streq(name, TRAILER))
                return 1;
        return tell(i, name);
}

static int take_archive(Image *i) {
        while (is_entry(i)) {
                int r = take_entry(i);

                if (r != 0)
                        return r < 0 ? r : 0;
        }
        return -EBADMSG;
}

static void reader_freep(struct archive **a) {
        archive_read_free(*a);
}

static int visit_entries(const Image *i, struct archive *a) {
        struct archive_entry *entry;

        for (;;) {
                int r = archive_read_next_header(a, &entry);

                if (r == ARCHIVE_EOF)
                        return 0;
                if (r < ARCHIVE_WARN || !archive_entry_pathname(entry))
                        return -EBADMSG;
                r = tell(i, archive_entry_pathname(entry));
                if (r != 0)
                        return r;
        }
}

static int read_compressed(const Image *i, size_t end) {
        _cleanup_(reader_freep) struct archive *a = archive_read_new();

        if (!a)
                return -ENOMEM;
        archive_read_support_filter_gzip(a);
        archive_read_support_filter_bzip2(a);
        archive_read_support_filter_lzma(a);
        archive_read_support_filter_xz(a);
        archive_read_support_filter_lz4(a);
        archive_read_support_filter_zstd(a);
        archive_read_support_format_cpio(a);
        if (archive_read_open_memory(a, i->data + i->at, end - i->at) != ARCHIVE_OK)
                return -EBADMSG;
        return visit_entries(i, a);
}

/* Zeros behind its end, which Linux passes over, are an error to some of libarchive's readers. How
 * many are its own, only they know: a checksum of four bytes may have some at its end. */
static int take_compressed(const Image *i) {
        static const uint8_t lzop[] = { 0x89, 'L', 'Z', 'O' };
        size_t end = i->size;
        int r;

        if (begins(i, lzop, sizeof(lzop)))
                return -EOPNOTSUPP;
        r = read_compressed(i, end);
        while (end > i->at && i->data[end - 1] == 0)
                end--;
        for (size_t zeros = 0; r == -EBADMSG && zeros < 4 && end + zeros < i->size; zeros++)
                r = read_compressed(i, end + zeros);
        return r;
}

int initramfs_visit(const void *data, size_t size, int (*fn)(const char *path, void *userdata),
                void *userdata) {
        Image i = { data, size, 0, fn, userdata };
        bool any = false;

        for (;;) {
                int r;

                while (i.at < size && i.data[i.at] == 0)
                        i.at++;
                if (i.at == size)
                        return any ? 0 : -EBADMSG;
                if (!is_entry(&i))
                        return take_compressed(&i);
                r = take_archive(&i);
                if (r < 0)
                        return r;
                any = true;
        }
}
