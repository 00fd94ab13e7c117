/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* NULL-terminated arrays of strings, which own their strings. A NULL array is an empty one. */

#include "shared/macro.h"

#include <stdarg.h>

#define STRV_FOREACH(s, l) for (char *const *s = (char *const *) (l); s && *s; s++)

/* A command line, or any other array of borrowed strings, in one expression:
 *
 *   spawn_run(o, ARGV("ls", "-l", path), &s);
 *
 * It ends with NULL and lives as long as the block it stands in. */
#define ARGV(...) ((char *const *) (const char *const[]) { __VA_ARGS__, NULL })

size_t strv_length(char *const *l);
bool strv_contains(char *const *l, const char *s);
char **strv_free(char **l);
DEFINE_CLEANUP(char **, strv_free);
#define _cleanup_strv_free_ _cleanup_(strv_freep)

/* All return 0 or -ENOMEM; *l is unchanged on failure. */
int strv_push(char ***l, char *taken);     /* takes ownership; frees it on failure too */
int strv_extend(char ***l, const char *s); /* appends a copy */
int strv_extendf(char ***l, const char *format, ...) _printf_(2, 3);
int strv_extend_strv(char ***l, char *const *more);
int strv_extend_many(char ***l, ...) _sentinel_; /* appends copies of the arguments up to NULL */

char **strv_copy(char *const *l);                       /* NULL on out of memory */
char *strv_join(char *const *l, const char *separator); /* NULL on out of memory */
char **strv_split(const char *s, const char *separators);
void strv_remove(char **l, const char *s);
void strv_sort(char **l);

/* asprintf() that returns the string, or NULL on out of memory. */
char *strf(const char *format, ...) _printf_(1, 2);
char *vstrf(const char *format, va_list ap) _printf_(1, 0);
