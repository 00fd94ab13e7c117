/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The cleanup attributes and small macros that every file uses. Destructors accept NULL and return
 * NULL, so that `p = thing_free(p);` is always right. */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))
#define _printf_(a, b) __attribute__((format(printf, a, b)))
#define _unused_ __attribute__((unused))
#define _noreturn_ __attribute__((noreturn))
#define _sentinel_ __attribute__((sentinel))

#define ELEMENTSOF(x) (sizeof(x) / sizeof((x)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

#define USEC_PER_SEC UINT64_C(1000000)
#define USEC_PER_MSEC UINT64_C(1000)
#define NSEC_PER_USEC UINT64_C(1000)

/* Gives the pointer away and leaves NULL behind, for handing out what a cleanup attribute
 * guards. */
#define TAKE_PTR(p)                        \
        ({                                 \
                __typeof__(p) *_pp = &(p); \
                __typeof__(p) _p = *_pp;   \
                *_pp = NULL;               \
                _p;                        \
        })

#define TAKE_FD(fd)                \
        ({                         \
                int *_pfd = &(fd); \
                int _fd = *_pfd;   \
                *_pfd = -EBADF;    \
                _fd;               \
        })

/* Defines func##p, the form that _cleanup_() wants, for a destructor that accepts NULL. */
#define DEFINE_CLEANUP(type, func)            \
        static inline void func##p(type *p) { \
                if (*p)                       \
                        func(*p);             \
        }                                     \
        struct _cleanup_needs_semicolon_

static inline void freep(void *p) {
        free(*(void **) p);
}

static inline int safe_close(int fd) {
        if (fd >= 0)
                close(fd);
        return -EBADF;
}

static inline void closep(int *fd) {
        safe_close(*fd);
}

/* For both ends of a pipe: int fds[2]. */
static inline void close_pairp(int (*fds)[2]) {
        safe_close((*fds)[0]);
        safe_close((*fds)[1]);
}

static inline void fclosep(FILE **f) {
        if (*f)
                fclose(*f);
}

#define _cleanup_free_ _cleanup_(freep)
#define _cleanup_close_ _cleanup_(closep)
#define _cleanup_fclose_ _cleanup_(fclosep)

static inline bool streq(const char *a, const char *b) {
        return strcmp(a, b) == 0;
}

/* Like streq(), where either side may be NULL (NULL equals NULL only). */
static inline bool streq_ptr(const char *a, const char *b) {
        return a && b ? streq(a, b) : a == b;
}

static inline bool isempty(const char *s) {
        return !s || s[0] == '\0';
}

static inline const char *strempty(const char *s) {
        return s ? s : "";
}

/* Returns what follows prefix in s, or NULL where s does not start with it. */
static inline const char *startswith(const char *s, const char *prefix) {
        size_t n = strlen(prefix);
        return strncmp(s, prefix, n) == 0 ? s + n : NULL;
}

static inline bool endswith(const char *s, const char *suffix) {
        size_t n = strlen(s), m = strlen(suffix);
        return n >= m && streq(s + n - m, suffix);
}
