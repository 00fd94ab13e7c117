/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An .rpm of rpm's format 4: a lead of 96 bytes, a header of signatures padded to
 * eight bytes, the header itself. A header is an intro of 16 bytes, with how many entries and how
 * many bytes of data there are, the entries of 16 bytes each, the data. All numbers are big-endian.
 * A tag that is there twice is refused: which of the two counts, programs may see differently. */

#include "lock/rpm-header.h"
#include "shared/file-util.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEAD_SIZE ((size_t) 96)
#define INTRO_SIZE ((size_t) 16)
#define ENTRY_SIZE ((size_t) 16)
#define ENTRIES_MAX 65536

enum { TAG_NAME = 1000, TAG_VERSION, TAG_RELEASE, TAG_EPOCH, TAG_ARCH = 1022 };
enum { TYPE_INT32 = 4, TYPE_STRING = 6 };

typedef struct Section {
        const uint8_t *entries, *data;
        size_t n, data_size;
} Section;

void rpm_header_done(RpmHeader *h) {
        free(h->name);
        free(h->version);
        free(h->arch);
        *h = (RpmHeader) {};
}

static uint32_t number(const uint8_t *p) {
        return (uint32_t) p[0] << 24 | (uint32_t) p[1] << 16 | (uint32_t) p[2] << 8 | p[3];
}

/* The section at *at, which moves behind it. */
static int take_section(const uint8_t *file, size_t size, size_t *at, Section *ret) {
        static const uint8_t magic[] = { 0x8e, 0xad, 0xe8, 0x01 };
        const uint8_t *p = file + *at;
        size_t left = size - *at, n, data_size;

        if (left < INTRO_SIZE || memcmp(p, magic, sizeof(magic)) != 0)
                return -EBADMSG;
        n = number(p + 8);
        data_size = number(p + 12);
        left -= INTRO_SIZE;
        if (n > ENTRIES_MAX || n * ENTRY_SIZE > left || data_size > left - n * ENTRY_SIZE)
                return -EBADMSG;

        *ret = (Section) {
                .entries = p + INTRO_SIZE,
                .data = p + INTRO_SIZE + n * ENTRY_SIZE,
                .n = n,
                .data_size = data_size,
        };
        *at += INTRO_SIZE + n * ENTRY_SIZE + data_size;
        return 0;
}

/* The value of the one entry `tag`, which reaches to the end of the data at most. 0 where there is
 * none, 1 where there is. */
static int find(const Section *s, uint32_t tag, uint32_t type, const uint8_t **ret,
                size_t *ret_left) {
        bool found = false;

        for (size_t i = 0; i < s->n; i++) {
                const uint8_t *e = s->entries + i * ENTRY_SIZE;
                uint32_t offset = number(e + 8);

                if (number(e) != tag)
                        continue;
                if (found || number(e + 4) != type || number(e + 12) != 1 || offset >= s->data_size)
                        return -EBADMSG;
                found = true;
                *ret = s->data + offset;
                *ret_left = s->data_size - offset;
        }
        return found;
}

static int take_string(const Section *s, uint32_t tag, char **ret) {
        const uint8_t *value = NULL;
        size_t left = 0;
        int r = find(s, tag, TYPE_STRING, &value, &left);

        if (r <= 0 || !memchr(value, '\0', left) || !*value)
                return -EBADMSG;
        *ret = strdup((const char *) value);
        return *ret ? 0 : -ENOMEM;
}

/* 0 is what versions without one count as. */
static int take_epoch(const Section *s, uint32_t *ret) {
        const uint8_t *value = NULL;
        size_t left = 0;
        int r = find(s, TAG_EPOCH, TYPE_INT32, &value, &left);

        if (r < 0 || (r > 0 && left < 4))
                return -EBADMSG;
        *ret = r > 0 ? number(value) : 0;
        return 0;
}

int rpm_header_parse(const void *data, size_t size, RpmHeader *ret) {
        static const uint8_t lead[] = { 0xed, 0xab, 0xee, 0xdb };
        _cleanup_free_ char *version = NULL, *release = NULL;
        _cleanup_rpm_header_ RpmHeader h = {};
        size_t at = LEAD_SIZE;
        Section s;
        uint32_t epoch;
        int r;

        if (size < LEAD_SIZE || memcmp(data, lead, sizeof(lead)) != 0)
                return -EBADMSG;
        r = take_section(data, size, &at, &s);
        if (r < 0)
                return r;
        at = (at + 7) / 8 * 8;
        r = at > size ? -EBADMSG : take_section(data, size, &at, &s);
        if (r < 0)
                return r;

        r = take_string(&s, TAG_NAME, &h.name);
        if (r < 0)
                return r;
        r = take_string(&s, TAG_VERSION, &version);
        if (r < 0)
                return r;
        r = take_string(&s, TAG_RELEASE, &release);
        if (r < 0)
                return r;
        r = take_string(&s, TAG_ARCH, &h.arch);
        if (r < 0)
                return r;
        r = take_epoch(&s, &epoch);
        if (r < 0)
                return r;
        h.version = epoch > 0 ? strf("%" PRIu32 ":%s-%s", epoch, version, release)
                              : strf("%s-%s", version, release);
        if (!h.version)
                return -ENOMEM;

        *ret = h;
        h = (RpmHeader) {};
        return 0;
}

int rpm_header_read(const char *path, RpmHeader *ret) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
        _cleanup_free_ char *data = NULL;
        size_t size = 0, room = 64 * 1024;

        if (fd < 0)
                return -errno;
        /* Most headers are small, most files are not. */
        for (;;) {
                char *more = realloc(data, room);
                int r;

                if (!more)
                        return -ENOMEM;
                data = more;
                while (size < room) {
                        ssize_t n = read(fd, data + size, room - size);

                        if (n < 0)
                                return -errno;
                        if (n == 0)
                                break;
                        size += (size_t) n;
                }
                r = rpm_header_parse(data, size, ret);
                if (r != -EBADMSG || size < room || room >= RPM_HEADER_MAX)
                        return r;
                room *= 8;
        }
}
