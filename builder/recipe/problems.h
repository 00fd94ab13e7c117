/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What is wrong with the files a person wrote, gathered so that all of it is told in one go. A
 * problem is told once, however many ways lead to it. Running out of memory is kept in `oom`
 * instead of being returned by every call, because a check that found something wrong has nothing
 * better to do than go on. */

#include "shared/json-util.h"

#define PROBLEMS_MAX 100 /* lines shown; beyond it only counted */

typedef struct Problems {
        char **lines;
        char **paths; /* the JSON path of each line, "" where it has none */
        size_t n;
        size_t more; /* not shown */
        bool denied; /* a file may not be read */
        bool oom;
} Problems;

/* "FILE:LINE: PATH: message", the line where the file is JSON and has what the path names; path
 * NULL: "FILE: message"; both NULL: the message alone. Control characters never reach the
 * terminal. */
void problems_add(Problems *p, const char *file, const char *path, const char *format, ...)
                _printf_(4, 5);

/* "FILE:LINE:COLUMN: message", or without the position where there is none. */
void problems_add_syntax(Problems *p, const char *file, const JsonError *e);

/* Whether something is already known to be wrong at this path of the file (NULL: of any), above it
 * or under it. */
bool problems_at(const Problems *p, const char *file, const char *path);

/* Logs all. Returns 0 where there is nothing, -ENOMEM, else -EINVAL. */
int problems_log(const Problems *p);

void problems_done(Problems *p);
#define _cleanup_problems_ _cleanup_(problems_done)
