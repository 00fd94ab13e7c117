/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Messages for people, one line each, to standard error. Functions pass a negative errno upwards
 * and only the verb or step that knows the context logs it, with what to do next. */

#include "shared/macro.h"
#include <syslog.h>

/* Receives every finished line (without newline). Installed by programs that own the terminal. */
typedef void (*log_writer_t)(int level, const char *line, void *userdata);

void log_set_level(int level); /* LOG_ERR … LOG_DEBUG; LOG_INFO to begin with */
int log_get_level(void);
void log_set_program(const char *name);                   /* prefix of each line; NULL: none */
void log_set_writer(log_writer_t writer, void *userdata); /* NULL: standard error */

/* Logs at `level`; where error is not 0, ": " and its strerror() text follow. Returns
 * -abs(error). */
int log_full(int level, int error, const char *format, ...) _printf_(3, 4);

/* Logs a line that another process of ours has logged, its own "error: " or "warning: " taken away:
 * NAME: LINE, or LINE where the name is NULL. */
void log_relay(int level, const char *name, const char *line);

/* What a stranger's program, archive or image says must not command the reader's terminal: control
 * characters become "?", in UTF-8 also those of 0x80 to 0x9f. `lines`: line ends and tabs stay.
 * Messages that are logged are so treated. */
void text_disarm(char *text, bool lines);

/* The same for what is to be read on one line: they become spaces, line ends and tabs too. Whether
 * there were any. */
bool text_flatten(char *text);

#define log_debug(...) log_full(LOG_DEBUG, 0, __VA_ARGS__)
#define log_info(...) log_full(LOG_INFO, 0, __VA_ARGS__)
#define log_notice(...) log_full(LOG_NOTICE, 0, __VA_ARGS__)
#define log_warning(...) log_full(LOG_WARNING, 0, __VA_ARGS__)
#define log_error(...) log_full(LOG_ERR, 0, __VA_ARGS__)
#define log_warning_errno(error, ...) log_full(LOG_WARNING, error, __VA_ARGS__)
#define log_error_errno(error, ...) log_full(LOG_ERR, error, __VA_ARGS__)
/* The message says all; what is returned is for the caller alone. */
#define log_error_return(error, ...) (log_error(__VA_ARGS__), (error))
#define log_oom() log_full(LOG_ERR, ENOMEM, "Cannot go on")
