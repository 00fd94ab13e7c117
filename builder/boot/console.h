/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What a machine says on its serial console: bytes in, events out. */

#include "shared/macro.h"

typedef enum ConsoleEvent {
        CONSOLE_LINE, /* nothing in particular */
        CONSOLE_FIRMWARE,
        CONSOLE_LOADER,
        CONSOLE_KERNEL,
        CONSOLE_SYSTEMD,
        CONSOLE_TARGET,      /* detail: the target's name or description */
        CONSOLE_UNIT_FAILED, /* detail: what systemd calls it */
        CONSOLE_LOGIN,
        CONSOLE_FAILURE, /* detail: what has gone wrong for good */
} ConsoleEvent;

#define CONSOLE_KEPT_LINES 40
#define CONSOLE_LINE_MAX 1024

typedef struct Console {
        char line[CONSOLE_LINE_MAX]; /* the unfinished one */
        size_t used;
        bool prompt_seen; /* the unfinished line was reported as a prompt already */
        enum { TEXT, ESCAPE, CSI, OSC, CHARSET } state;
        char *kept[CONSOLE_KEPT_LINES]; /* the last lines, a ring */
        size_t n_kept;                  /* lines ever kept */
} Console;

/* Escape sequences are taken out; a cursor that is moved ends a line, as boot loaders draw
 * screens. A prompt is reported while its line is unfinished, once. `line` and `detail` last until
 * the callback returns. */
void console_feed(Console *c, const char *data, size_t size,
                void (*callback)(ConsoleEvent event, const char *line, const char *detail,
                                void *userdata),
                void *userdata);

/* What one whole line means; detail points into it, or is a constant, or is NULL. */
ConsoleEvent console_classify(const char *line, const char **ret_detail);

/* The kept line number i of console_kept(), oldest first. */
size_t console_kept(const Console *c);
const char *console_kept_line(const Console *c, size_t i);
void console_done(Console *c);
