/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A module's .modinfo section is a run of NUL-terminated "key=value" strings. Finding it by ELF's
 * section table would mean holding the whole module (NVIDIA's is 88 MB), because the table is at
 * the end and a compressed file cannot be read backwards. Every module has a "vermagic" there,
 * though, so one pass with a small window does: the window around "\0vermagic=" holds the section.
 * libarchive undoes the compression. */

#include "common/module-info.h"

#include <archive.h>
#include <archive_entry.h>
#include <elf.h>

/* Bytes of .modinfo before vermagic: NVIDIA's, with its PCI ids and parameters, has 2 KiB. */
#define BEFORE (64u * 1024)
#define CHUNK (128u * 1024)

static bool is_pair(const char *s, const char *end) {
        const char *p = s;

        while (p < end && ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                                          (*p >= '0' && *p <= '9') || *p == '_' || *p == '.'))
                p++;
        return p > s && p < end && *p == '=' && memchr(p, '\0', (size_t) (end - p));
}

/* Alignment leaves NULs between and around the strings. */
static const char *next_pair(const char *s, const char *end) {
        s = memchr(s, '\0', (size_t) (end - s));
        while (s && s < end && *s == '\0')
                s++;
        return s && s < end && is_pair(s, end) ? s : NULL;
}

static int take_pair(const char *s, const char *key, char **value) {
        const char *v = startswith(s, key);

        if (!v || *v != '=' || *value)
                return 0;
        *value = strdup(v + 1);
        return *value ? 0 : -ENOMEM;
}

/* Walks back from vermagic to the run's first string, then takes what is wanted. */
static int take_run(const char *buffer, const char *vermagic, const char *end, ModuleInfo *ret) {
        const char *first = vermagic;

        for (;;) {
                const char *q = first - 1, *s;

                while (q > buffer && *q == '\0')
                        q--;
                s = q;
                while (s > buffer && s[-1] != '\0')
                        s--;
                if (q <= buffer || s <= buffer || !is_pair(s, end) || (size_t) (first - s) > 8192)
                        break;
                first = s;
        }
        for (const char *s = first; s; s = next_pair(s, end))
                if (take_pair(s, "name", &ret->name) < 0 ||
                                take_pair(s, "version", &ret->version) < 0 ||
                                take_pair(s, "vermagic", &ret->vermagic) < 0)
                        return -ENOMEM;
        return 0;
}

static int read_some(struct archive *a, char *to, size_t size, size_t *ret_n) {
        size_t n = 0;

        while (n < size) {
                la_ssize_t k = archive_read_data(a, to + n, size - n);
                if (k < 0)
                        return -EBADMSG;
                if (k == 0)
                        break;
                n += (size_t) k;
        }
        *ret_n = n;
        return 0;
}

static int scan(struct archive *a, ModuleInfo *ret) {
        static const char needle[] = "\0vermagic="; /* the NUL in front ends the string before it */
        _cleanup_free_ char *buffer = malloc(BEFORE + 2 * CHUNK + 1);
        size_t kept = 0;

        if (!buffer)
                return -ENOMEM;
        for (bool first = true;; first = false) {
                size_t n, more = 0;
                char *hit;
                int r;

                r = read_some(a, buffer + kept, CHUNK, &n);
                if (r < 0)
                        return r;
                if (first && (n < SELFMAG || memcmp(buffer, ELFMAG, SELFMAG) != 0))
                        return -EBADMSG;
                if (n == 0)
                        return -EBADMSG;

                hit = memmem(buffer, kept + n, needle, sizeof(needle) - 1);
                if (hit) {
                        /* What follows vermagic in the section may not have been read yet. */
                        r = read_some(a, buffer + kept + n, CHUNK, &more);
                        if (r < 0)
                                return r;
                        return take_run(buffer, hit + 1, buffer + kept + n + more, ret);
                }

                n += kept;
                kept = n < BEFORE ? n : BEFORE;
                memmove(buffer, buffer + n - kept, kept);
        }
}

static void archive_freep(struct archive **a) {
        archive_read_free(*a);
}

int module_info_read(int fd, ModuleInfo *ret) {
        _cleanup_(archive_freep) struct archive *a = archive_read_new();
        _cleanup_(module_info_done) ModuleInfo m = {};
        struct archive_entry *entry;
        int r;

        if (!a)
                return -ENOMEM;
        archive_read_support_filter_all(a);
        archive_read_support_format_raw(a);
        if (archive_read_open_fd(a, fd, CHUNK) != ARCHIVE_OK ||
                        archive_read_next_header(a, &entry) != ARCHIVE_OK)
                return -EBADMSG;
        r = scan(a, &m);
        if (r < 0)
                return r;

        *ret = m;
        m = (ModuleInfo) {};
        return 0;
}

void module_info_done(ModuleInfo *m) {
        free(m->name);
        free(m->version);
        free(m->vermagic);
        *m = (ModuleInfo) {};
}
