/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A message is made whole before it is written: two programs' lines never tear each other. */

#include "shared/log.h"

#include <stdarg.h>

static int log_level = LOG_INFO;
static const char *log_program;
static log_writer_t log_writer;
static void *log_writer_data;

void log_set_level(int level) {
        log_level = level;
}

int log_get_level(void) {
        return log_level;
}

void log_set_program(const char *name) {
        log_program = name;
}

void log_set_writer(log_writer_t writer, void *userdata) {
        log_writer = writer;
        log_writer_data = userdata;
}

static bool replace_controls(char *text, bool lines, char by) {
        bool found = false;

        for (unsigned char *c = (unsigned char *) text; *c; c++) {
                bool c1 = c[0] == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f;

                if (*c >= 0x20 && *c != 0x7f && !c1)
                        continue;
                if (lines && (*c == '\n' || *c == '\t'))
                        continue;
                *c = (unsigned char) by;
                if (c1)
                        c[1] = (unsigned char) by;
                found = true;
        }
        return found;
}

void text_disarm(char *text, bool lines) {
        (void) replace_controls(text, lines, '?');
}

bool text_flatten(char *text) {
        return replace_controls(text, false, ' ');
}

static const char *kind_of(int level) {
        return level <= LOG_ERR ? "error: " : level == LOG_WARNING ? "warning: " : "";
}

int log_full(int level, int error, const char *format, ...) {
        _cleanup_free_ char *text = NULL, *line = NULL;
        const char *kind = kind_of(level);
        int saved_errno = errno, e = abs(error);
        va_list ap;

        if (level > log_level)
                return -e;

        va_start(ap, format);
        int n = vasprintf(&text, format, ap);
        va_end(ap);
        if (n < 0)
                return -e;

        if (asprintf(&line, "%s%s%s%s%s%s", strempty(log_program), log_program ? ": " : "", kind,
                            text, e ? ": " : "", e ? strerror(e) : "") < 0)
                return -e;

        text_disarm(line, true);
        if (log_writer)
                log_writer(level, line, log_writer_data);
        else
                fprintf(stderr, "%s\n", line);

        errno = saved_errno;
        return -e;
}

void log_relay(int level, const char *name, const char *line) {
        const char *text = startswith(line, kind_of(level));

        log_full(level, 0, "%s%s%s", strempty(name), name ? ": " : "", text ? text : line);
}
