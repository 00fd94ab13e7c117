/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The archives in front are not compressed: a processor's microcode, which the kernel wants before
 * it can unpack. What follows libarchive unpacks; cpio is read here in both, for libarchive's
 * reader takes memory by what a header says. */

#include "common/initramfs.h"

#include <archive.h>
#include <archive_entry.h>

/* "070701" or "070702", and thirteen numbers of eight hexadecimal digits. */
#define HEADER_SIZE ((size_t) 110)
#define NUMBER_SIZE ((size_t) 8)
#define NAME_SIZE_MAX ((size_t) 4096) /* with the NUL: PATH_MAX, and what Linux takes */
#define TRAILER "TRAILER!!!"

enum { NUMBER_FILE_SIZE = 6, NUMBER_NAME_SIZE = 11 };

typedef struct Source {
        const uint8_t *data; /* what is not compressed, up to `size` */
        size_t size, at;
        struct archive *a; /* what is; NULL: the data is read */
        int (*fn)(const char *path, void *userdata);
        void *userdata;
} Source;

static bool begins(const Source *s, const void *magic, size_t n) {
        return s->size - s->at >= n && memcmp(s->data + s->at, magic, n) == 0;
}

static int take_packed(Source *s, uint8_t *to, size_t n) {
        while (n > 0) {
                la_ssize_t k = archive_read_data(s->a, to, n);

                if (k <= 0)
                        return -EBADMSG;
                to += k;
                n -= (size_t) k;
        }
        return 0;
}

static int take(Source *s, void *to, size_t n) {
        if (s->a)
                return take_packed(s, to, n);
        if (n > s->size - s->at)
                return -EBADMSG;
        memcpy(to, s->data + s->at, n);
        s->at += n;
        return 0;
}

static int skip(Source *s, size_t n) {
        uint8_t buffer[16 * 1024];

        if (!s->a && n > s->size - s->at)
                return -EBADMSG;
        if (!s->a)
                s->at += n;
        while (s->a && n > 0) {
                const size_t k = MIN(n, sizeof(buffer));
                int r = take_packed(s, buffer, k);

                if (r < 0)
                        return r;
                n -= k;
        }
        return 0;
}

static int number(const char *header, size_t which, size_t *ret) {
        static const char digits[] = "0123456789abcdef";
        const char *p = header + 6 + which * NUMBER_SIZE;
        size_t value = 0;

        for (size_t k = 0; k < NUMBER_SIZE; k++) {
                const char *digit = strchr(digits, p[k] >= 'A' && p[k] <= 'F' ? p[k] + 32 : p[k]);

                if (!p[k] || !digit)
                        return -EBADMSG;
                value = value * 16 + (size_t) (digit - digits);
        }
        *ret = value;
        return 0;
}

static int tell(const Source *s, const char *path) {
        while (*path == '/' || (path[0] == '.' && (path[1] == '/' || path[1] == '\0')))
                path++;
        return *path ? s->fn(path, s->userdata) : 0;
}

static size_t padding(size_t size) {
        return (4 - size % 4) % 4;
}

/* One entry; 1: it was the trailer. */
static int take_entry(Source *s) {
        char header[HEADER_SIZE], name[NAME_SIZE_MAX];
        size_t name_size, size;
        int r;

        r = take(s, header, sizeof(header));
        if (r < 0)
                return r;
        if ((memcmp(header, "070701", 6) != 0 && memcmp(header, "070702", 6) != 0) ||
                        number(header, NUMBER_FILE_SIZE, &size) < 0 ||
                        number(header, NUMBER_NAME_SIZE, &name_size) < 0 || name_size == 0 ||
                        name_size > sizeof(name))
                return -EBADMSG;
        r = take(s, name, name_size);
        if (r < 0)
                return r;
        if (name[name_size - 1] != '\0')
                return -EBADMSG;
        if (streq(name, TRAILER)) {
                (void) skip(s, padding(HEADER_SIZE + name_size));
                return 1;
        }
        r = skip(s, padding(HEADER_SIZE + name_size));
        if (r < 0)
                return r;
        r = skip(s, size + padding(size));
        return r < 0 ? r : tell(s, name);
}

static int take_archive(Source *s) {
        for (;;) {
                int r = take_entry(s);

                if (r != 0)
                        return r < 0 ? r : 0;
        }
}

static void reader_freep(struct archive **a) {
        archive_read_free(*a);
}

static int read_compressed(const Source *s, size_t end) {
        _cleanup_(reader_freep) struct archive *a = archive_read_new();
        Source packed = { .a = a, .fn = s->fn, .userdata = s->userdata };
        struct archive_entry *entry;

        if (!a)
                return -ENOMEM;
        archive_read_support_filter_gzip(a);
        archive_read_support_filter_bzip2(a);
        archive_read_support_filter_lzma(a);
        archive_read_support_filter_xz(a);
        archive_read_support_filter_lz4(a);
        archive_read_support_filter_zstd(a);
        archive_read_support_format_raw(a);
        if (archive_read_open_memory(a, s->data + s->at, end - s->at) != ARCHIVE_OK ||
                        archive_read_next_header(a, &entry) != ARCHIVE_OK)
                return -EBADMSG;
        return take_archive(&packed);
}

/* Zeros behind its end, which Linux passes over, are an error to some of libarchive's readers. How
 * many are its own, only they know: a checksum of four bytes may have some at its end. */
static int take_compressed(const Source *s) {
        static const uint8_t lzop[] = { 0x89, 'L', 'Z', 'O' };
        size_t end = s->size;
        int r;

        if (begins(s, lzop, sizeof(lzop)))
                return -EOPNOTSUPP;
        r = read_compressed(s, end);
        while (end > s->at && s->data[end - 1] == 0)
                end--;
        for (size_t zeros = 0; r == -EBADMSG && zeros < 4 && end + zeros < s->size; zeros++)
                r = read_compressed(s, end + zeros);
        return r;
}

int initramfs_visit(const void *data, size_t size, int (*fn)(const char *path, void *userdata),
                void *userdata) {
        Source s = { .data = data, .size = size, .fn = fn, .userdata = userdata };
        bool any = false;

        for (;;) {
                int r;

                while (s.at < size && s.data[s.at] == 0)
                        s.at++;
                if (s.at == size)
                        return any ? 0 : -EBADMSG;
                if (!begins(&s, "07070", 5))
                        return take_compressed(&s);
                r = take_archive(&s);
                if (r < 0)
                        return r;
                any = true;
        }
}
