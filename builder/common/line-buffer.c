/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whole lines out of a pipe or socket that does not block. */

#include "common/line-buffer.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Hands over the first line, where there is a whole one. */
static bool take_line(LineBuffer *b, void (*on_line)(const char *line, size_t size, void *userdata),
                void *userdata) {
        char *end = memchr(b->text, '\n', b->used);
        size_t size;

        if (!end)
                return false;

        size = (size_t) (end - b->text);
        *end = '\0';
        if (!b->skipping)
                on_line(b->text, size, userdata);
        b->skipping = false;
        b->used -= size + 1;
        memmove(b->text, end + 1, b->used);
        return true;
}

void line_buffer_read(LineBuffer *b, int fd,
                void (*on_line)(const char *line, size_t size, void *userdata), void *userdata) {
        for (;;) {
                ssize_t n = read(fd, b->text + b->used, sizeof(b->text) - b->used);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return;

                b->used += (size_t) n;
                while (take_line(b, on_line, userdata))
                        ;
                if (b->used == sizeof(b->text)) {
                        b->used = 0;
                        b->skipping = true;
                }
        }
}
