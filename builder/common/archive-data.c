/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A header's word for the length is not trusted: what is read grows with what comes. */

#include "common/archive-data.h"

#define BLOCK_SIZE ((size_t) 64 * 1024)

int archive_data_read(struct archive *a, size_t max, char **ret, size_t *ret_size) {
        _cleanup_free_ char *data = NULL;
        size_t size = 0, room = 0;

        for (;;) {
                la_ssize_t n;

                if (room - size < BLOCK_SIZE) {
                        char *more = realloc(data, room += 2 * BLOCK_SIZE);

                        if (!more)
                                return -ENOMEM;
                        data = more;
                }
                n = archive_read_data(a, data + size, BLOCK_SIZE);
                if (n < 0 || size + (size_t) n > max)
                        return -EBADMSG;
                if (n == 0)
                        break;
                size += (size_t) n;
        }
        data[size] = '\0';
        *ret = TAKE_PTR(data);
        *ret_size = size;
        return 0;
}
