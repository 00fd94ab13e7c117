/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* OSV hands out a distribution's records as all.zip, a file a record. */

#include "inspect/osv-zip.h"

#include <archive.h>
#include <archive_entry.h>

#define RECORD_MAX ((size_t) 64 << 20) /* bytes, unpacked */

DEFINE_CLEANUP(struct archive *, archive_read_free);

bool osv_is_zip(const char *data, size_t size) {
        return size > 4 && memcmp(data, "PK\003\004", 4) == 0;
}

/* The whole of the entry, whose header need not say how long it is. */
static int read_record(struct archive *a, char **ret, size_t *ret_size) {
        _cleanup_free_ char *text = NULL;
        size_t size = 0, room = 0;

        for (;;) {
                ssize_t n;

                if (size == room) {
                        char *more;

                        if (room >= RECORD_MAX)
                                return -EBADMSG;
                        room = room ? 2 * room : 16384;
                        more = realloc(text, room);
                        if (!more)
                                return -ENOMEM;
                        text = more;
                }
                n = archive_read_data(a, text + size, room - size);
                if (n < 0)
                        return -EBADMSG;
                if (n == 0)
                        break;
                size += (size_t) n;
        }
        *ret = TAKE_PTR(text);
        *ret_size = size;
        return 0;
}

int osv_zip_each(const char *data, size_t size,
                int (*visit)(const char *text, size_t size, void *userdata), void *userdata) {
        _cleanup_(archive_read_freep) struct archive *a = archive_read_new();
        struct archive_entry *e;
        int next;

        if (!a || archive_read_support_format_zip_seekable(a) != ARCHIVE_OK)
                return -ENOMEM;
        if (archive_read_open_memory(a, data, size) != ARCHIVE_OK)
                return -EBADMSG;
        while ((next = archive_read_next_header(a, &e)) == ARCHIVE_OK) {
                _cleanup_free_ char *text = NULL;
                size_t n;
                int r;

                if (archive_entry_filetype(e) != AE_IFREG)
                        continue;
                r = read_record(a, &text, &n);
                if (r < 0)
                        return r;
                r = visit(text, n, userdata);
                if (r < 0)
                        return r;
        }
        return next == ARCHIVE_EOF ? 0 : -EBADMSG;
}
