/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An x86 kernel's file is a small loader and the packed kernel; where that is stands in the
 * loader's header (Documentation/arch/x86/boot.rst: setup_sects, payload_offset, payload_length).
 * libarchive undoes the packing, of the kernel and of modules. */

#include "check/kernel-text.h"

#include <archive.h>
#include <archive_entry.h>
#include <endian.h>
#include <fcntl.h>
#include <sys/mman.h>

#define KERNEL_MAX (256u * 1024 * 1024) /* bytes; Debian's have 14 million at most */
#define CHUNK (256u * 1024)
#define WORD_MAX 256u /* bytes: what one piece and the next share */

/* Offsets in the header. */
#define SETUP_SECTS 0x1f1
#define MAGIC 0x202
#define PAYLOAD 0x248
#define HEADER_END 0x250

typedef struct Words {
        KernelWord *words;
        size_t n;
} Words;

static bool all_found(const Words *w) {
        for (size_t i = 0; i < w->n; i++)
                if (!w->words[i].found)
                        return false;
        return true;
}

static void look(const Words *w, const char *text, size_t size) {
        for (size_t i = 0; i < w->n; i++) {
                KernelWord *x = &w->words[i];

                if (!x->found)
                        x->found = memmem(text, size, x->word, strlen(x->word) + 1);
        }
}

static void archive_freep(struct archive **a) {
        archive_read_free(*a);
}

/* Reads to the end, or to where the packing ends: behind it, a kernel has bytes of its own. */
static int scan(struct archive *a, const Words *w) {
        _cleanup_free_ char *buffer = malloc(WORD_MAX + CHUNK);
        struct archive_entry *entry;
        size_t kept = 0, total = 0;

        if (!buffer)
                return -ENOMEM;
        if (archive_read_next_header(a, &entry) != ARCHIVE_OK)
                return -EBADMSG;
        while (!all_found(w)) {
                la_ssize_t k = archive_read_data(a, buffer + kept, CHUNK);

                if (k <= 0)
                        break;
                total += (size_t) k;
                kept += (size_t) k;
                look(w, buffer, kept);
                if (kept > WORD_MAX) {
                        memmove(buffer, buffer + kept - WORD_MAX, WORD_MAX);
                        kept = WORD_MAX;
                }
        }
        return total > 0 ? 0 : -EBADMSG;
}

static struct archive *new_reader(void) {
        struct archive *a = archive_read_new();

        if (a) {
                archive_read_support_filter_all(a);
                archive_read_support_format_raw(a);
        }
        return a;
}

/* Where the packed kernel is in its file. */
static int find_payload(const uint8_t *image, size_t size, size_t *ret_at, size_t *ret_size) {
        uint32_t place[2];
        size_t at, sectors;

        if (size < HEADER_END || memcmp(image + MAGIC, "HdrS", 4) != 0)
                return -EBADMSG;
        sectors = image[SETUP_SECTS] > 0 ? image[SETUP_SECTS] : 4;
        memcpy(place, image + PAYLOAD, sizeof(place));
        at = (sectors + 1) * 512 + le32toh(place[0]);
        if (at >= size || le32toh(place[1]) > size - at)
                return -EBADMSG;

        *ret_at = at;
        *ret_size = le32toh(place[1]);
        return 0;
}

static int scan_image(const uint8_t *image, size_t size, const Words *w) {
        _cleanup_(archive_freep) struct archive *a = new_reader();
        size_t at, length;
        int r;

        if (!a)
                return -ENOMEM;
        r = find_payload(image, size, &at, &length);
        if (r < 0)
                return r;
        if (archive_read_open_memory(a, image + at, length) != ARCHIVE_OK)
                return -EBADMSG;
        return scan(a, w);
}

static int scan_kernel(const Tree *t, const char *path, const Words *w) {
        _cleanup_close_ int fd = -EBADF;
        size_t size;
        void *image;
        int r;

        fd = tree_open_regular(t, path, KERNEL_MAX, &size);
        if (fd < 0)
                return fd;
        if (size == 0)
                return -EBADMSG;
        image = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (image == MAP_FAILED)
                return -errno;

        r = scan_image(image, size, w);
        munmap(image, size);
        return r;
}

static int scan_module(const Tree *t, const char *path, const struct stat *st, void *userdata) {
        _cleanup_(archive_freep) struct archive *a = NULL;
        _cleanup_close_ int fd = -EBADF;
        const Words *w = userdata;
        int r;

        if (all_found(w))
                return S_ISDIR(st->st_mode);
        if (!S_ISREG(st->st_mode) || !is_module_file(strrchr(path, '/') + 1))
                return 0;
        a = new_reader();
        if (!a)
                return -ENOMEM;
        fd = tree_open_file(t, path, O_RDONLY);
        if (fd < 0)
                return fd;
        if (archive_read_open_fd(a, fd, CHUNK) != ARCHIVE_OK)
                return -EBADMSG;
        r = scan(a, w);
        return r == -ENOMEM ? r : 0; /* a damaged module is another rule's finding */
}

int kernel_find_words(const Tree *t, const char *kernel, KernelWord *words, size_t n) {
        /* Where settings mostly are comes first: modules are many. */
        static const char *const folders[] = { "/kernel/net", "/kernel/fs", "" };
        _cleanup_free_ char *image = strf("boot/vmlinuz-%s", kernel);
        const Words w = { words, n };
        int r;

        if (!image)
                return -ENOMEM;
        r = scan_kernel(t, image, &w);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(folders) && !all_found(&w); i++) {
                _cleanup_free_ char *folder = strf("usr/lib/modules/%s%s", kernel, folders[i]);

                r = folder ? tree_walk(t, folder, scan_module, (void *) &w) : -ENOMEM;
                if (r < 0)
                        return r;
        }
        return 0;
}
