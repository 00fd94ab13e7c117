/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Lines are taken as NCCL takes them; ours stand in a block that two comments enclose, so that the
 * next boot finds it again. */

#include "steps/nccl/conf.h"

#define BLOCK_BEGIN \
        "# Written by firstboot's rdma step at every boot; put lines of your own outside."
#define BLOCK_END "# End of firstboot's lines."

typedef struct Line {
        const char *text;
        size_t size; /* without the newline */
} Line;

/* The next line of *p; false at the end. */
static bool next_line(const char **p, Line *ret) {
        if (!**p)
                return false;
        ret->text = *p;
        ret->size = strcspn(*p, "\n");
        *p += ret->size + ((*p)[ret->size] == '\n');
        return true;
}

static bool line_is(const Line *l, const char *text) {
        return l->size == strlen(text) && memcmp(l->text, text, l->size) == 0;
}

static bool line_sets(const Line *l, const char *key) {
        size_t n = strlen(key);

        return l->size > n && l->text[0] != '#' && memcmp(l->text, key, n) == 0 &&
               l->text[n] == '=';
}

/* Whether the block that begins in front of p has its end: one that was cut off by hand is no
 * block, and what follows is somebody's. */
static bool block_ends(const char *p) {
        Line l;

        while (next_line(&p, &l)) {
                if (line_is(&l, BLOCK_BEGIN))
                        return false;
                if (line_is(&l, BLOCK_END))
                        return true;
        }
        return false;
}

/* The next line that is not in a block of ours. */
static bool next_foreign(const char **p, Line *ret) {
        while (next_line(p, ret)) {
                if (line_is(ret, BLOCK_END))
                        continue;
                if (!line_is(ret, BLOCK_BEGIN))
                        return true;
                if (!block_ends(*p))
                        continue;
                while (next_line(p, ret) && !line_is(ret, BLOCK_END))
                        ;
        }
        return false;
}

static bool foreign_sets(const char *text, const char *key) {
        Line l;

        while (next_foreign(&text, &l))
                if (line_sets(&l, key))
                        return true;
        return false;
}

/* Whether the line sets a key that is ours alone. */
static bool is_dropped(const Line *l, const NcclSetting *settings, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (settings[i].owned && line_sets(l, settings[i].key))
                        return true;
        return false;
}

static void write_block(FILE *f, const char *text, const NcclSetting *settings, size_t n) {
        bool any = false;

        for (size_t i = 0; i < n; i++) {
                const NcclSetting *x = &settings[i];

                if (!x->value || (!x->owned && foreign_sets(text, x->key)))
                        continue;
                if (!any)
                        fprintf(f, "%s\n", BLOCK_BEGIN);
                any = true;
                fprintf(f, "%s=%s\n", x->key, x->value);
        }
        if (any)
                fprintf(f, "%s\n", BLOCK_END);
}

char *nccl_conf_merge(const char *text, const NcclSetting *settings, size_t n) {
        char *result = NULL;
        size_t size;
        FILE *f = open_memstream(&result, &size);
        const char *p = text;
        Line l;

        if (!f)
                return NULL;
        while (next_foreign(&p, &l)) {
                if (is_dropped(&l, settings, n))
                        continue;
                fwrite(l.text, 1, l.size, f);
                fputc('\n', f);
        }
        write_block(f, text, settings, n);
        if (ferror(f) | fclose(f)) {
                free(result);
                return NULL;
        }
        return result;
}

char *nccl_conf_get(const char *text, const char *key) {
        Line l;

        while (next_line(&text, &l))
                if (line_sets(&l, key)) {
                        size_t skip = strlen(key) + 1;
                        return strndup(l.text + skip, l.size - skip);
                }
        return NULL;
}
