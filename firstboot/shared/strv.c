/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Arrays of strings. A function that adds either adds all, or leaves the array as it was. */

#include "shared/strv.h"

#include <stdarg.h>

size_t strv_length(char *const *l) {
        size_t n = 0;

        STRV_FOREACH (s, l)
                n++;
        return n;
}

bool strv_contains(char *const *l, const char *s) {
        STRV_FOREACH (i, l)
                if (streq(*i, s))
                        return true;
        return false;
}

char **strv_free(char **l) {
        STRV_FOREACH (s, l)
                free(*s);
        free(l);
        return NULL;
}

int strv_push(char ***l, char *taken) {
        size_t n = strv_length(*l);
        char **grown;

        if (!taken)
                return -ENOMEM;
        grown = reallocarray(*l, n + 2, sizeof(char *));
        if (!grown) {
                free(taken);
                return -ENOMEM;
        }
        grown[n] = taken;
        grown[n + 1] = NULL;
        *l = grown;
        return 0;
}

int strv_extend(char ***l, const char *s) {
        return strv_push(l, strdup(s));
}

int strv_extendf(char ***l, const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        char *s = vstrf(format, ap);
        va_end(ap);
        return strv_push(l, s);
}

int strv_extend_strv(char ***l, char *const *more) {
        _cleanup_strv_free_ char **copy = NULL;
        size_t n = strv_length(*l), m = strv_length(more);
        char **grown;

        if (m == 0)
                return 0;
        copy = strv_copy(more);
        if (!copy)
                return -ENOMEM;
        grown = reallocarray(*l, n + m + 1, sizeof(char *));
        if (!grown)
                return -ENOMEM;
        memcpy(grown + n, copy, (m + 1) * sizeof(char *));
        *l = grown;
        free(TAKE_PTR(copy)); /* the strings live on in *l */
        return 0;
}

static int extend_va(char ***l, va_list ap) {
        for (const char *s; (s = va_arg(ap, const char *));) {
                int r = strv_extend(l, s);

                if (r < 0)
                        return r;
        }
        return 0;
}

int strv_extend_many(char ***l, ...) {
        _cleanup_strv_free_ char **more = NULL;
        va_list ap;
        int r;

        va_start(ap, l);
        r = extend_va(&more, ap);
        va_end(ap);
        return r < 0 ? r : strv_extend_strv(l, more);
}

char **strv_copy(char *const *l) {
        size_t n = strv_length(l);
        char **copy = calloc(n + 1, sizeof(char *));

        if (!copy)
                return NULL;
        for (size_t i = 0; i < n; i++) {
                copy[i] = strdup(l[i]);
                if (!copy[i])
                        return strv_free(copy);
        }
        return copy;
}

char *strv_join(char *const *l, const char *separator) {
        size_t size = 1, m = strlen(separator);
        char *joined, *p;

        STRV_FOREACH (s, l)
                size += strlen(*s) + m;
        joined = p = malloc(size);
        if (!joined)
                return NULL;
        *p = '\0';
        STRV_FOREACH (s, l) {
                if (s != (char *const *) l)
                        p = stpcpy(p, separator);
                p = stpcpy(p, *s);
        }
        return joined;
}

char **strv_split(const char *s, const char *separators) {
        char **l = calloc(1, sizeof(char *));

        while (l && *s) {
                size_t n = strcspn(s, separators);
                if (n > 0 && strv_push(&l, strndup(s, n)) < 0)
                        return strv_free(l);
                s += n;
                s += strspn(s, separators);
        }
        return l;
}

void strv_remove(char **l, const char *s) {
        char **to = l;

        if (!l)
                return;
        for (char **from = l; *from; from++)
                if (streq(*from, s))
                        free(*from);
                else
                        *to++ = *from;
        *to = NULL;
}

static int compare(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

void strv_sort(char **l) {
        if (l)
                qsort(l, strv_length(l), sizeof(char *), compare);
}

char *strf(const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        char *s = vstrf(format, ap);
        va_end(ap);
        return s;
}

char *vstrf(const char *format, va_list ap) {
        char *s;

        return vasprintf(&s, format, ap) < 0 ? NULL : s;
}
