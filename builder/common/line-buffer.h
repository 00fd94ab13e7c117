/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Whole lines out of a pipe or socket that does not block. */

#include <stdbool.h>
#include <stddef.h>

#define LINE_BUFFER_MAX \
        65536 /* bytes of a line, its end included; a longer one is left out whole */

typedef struct LineBuffer {
        char text[LINE_BUFFER_MAX];
        size_t used;
        bool skipping; /* the rest of a line that is too long */
} LineBuffer;

/* Reads what is there now and hands over each line that is whole, without its end. */
void line_buffer_read(LineBuffer *b, int fd,
                void (*on_line)(const char *line, size_t size, void *userdata), void *userdata);
