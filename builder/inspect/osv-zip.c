/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* OSV hands out a distribution's records as all.zip, a file a record. */

#include "inspect/osv-zip.h"
#include "common/archive-data.h"

#include <archive_entry.h>

#define RECORD_MAX ((size_t) 64 << 20) /* bytes, unpacked */

bool osv_is_zip(const char *data, size_t size) {
        return size > 4 && memcmp(data, "PK\003\004", 4) == 0;
}

int osv_zip_each(const char *data, size_t size,
                int (*visit)(const char *text, size_t size, void *userdata), void *userdata) {
        _cleanup_archive_read_ struct archive *a = archive_read_new();
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
                r = archive_data_read(a, RECORD_MAX, &text, &n);
                if (r < 0)
                        return r;
                r = visit(text, n, userdata);
                if (r < 0)
                        return r;
        }
        return next == ARCHIVE_EOF ? 0 : -EBADMSG;
}
