/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Read as strictly as it is written: there is one text for one list, so that no byte can change
 * unseen. */

#include "release/sums.h"

#include "shared/strv.h"

#define SEPARATOR "  "

void sums_done(Sums *s) {
        for (size_t i = 0; i < s->n; i++)
                free(s->sums[i].name);
        free(s->sums);
        *s = (Sums) {};
}

bool sums_name_valid(const char *name) {
        if (isempty(name) || name[0] == '.')
                return false;
        for (const char *c = name; *c; c++)
                if (*c == '/' || *c == '\\' || (unsigned char) *c < ' ' || *c == 127)
                        return false;
        return true;
}

const Sum *sums_find(const Sums *s, const char *name) {
        for (size_t i = 0; i < s->n; i++)
                if (streq(s->sums[i].name, name))
                        return s->sums + i;
        return NULL;
}

int sums_add(Sums *s, const char *name, const char *digest, uint64_t size) {
        Sum *more = realloc(s->sums, (s->n + 1) * sizeof(Sum));
        char *copy = strdup(name);

        if (more)
                s->sums = more;
        if (!more || !copy) {
                free(copy);
                return -ENOMEM;
        }
        s->sums[s->n] = (Sum) { .name = copy, .size = size };
        snprintf(s->sums[s->n].digest, sizeof(Digest), "%s", digest);
        s->n++;
        return 0;
}

static int compare(const void *a, const void *b) {
        return strcmp(((const Sum *) a)->name, ((const Sum *) b)->name);
}

void sums_sort(Sums *s) {
        if (s->n > 1)
                qsort(s->sums, s->n, sizeof(Sum), compare);
}

char *sums_format(const Sums *s) {
        _cleanup_strv_free_ char **lines = NULL;

        for (size_t i = 0; i < s->n; i++)
                if (strv_extendf(&lines, "%s" SEPARATOR "%s\n", s->sums[i].digest,
                                    s->sums[i].name) < 0)
                        return NULL;
        return strv_join(lines, "");
}

static int parse_line(char *line, Sums *s) {
        char *name = line + DIGEST_HEX + strlen(SEPARATOR);

        if (strlen(line) <= DIGEST_HEX + strlen(SEPARATOR) ||
                        !startswith(line + DIGEST_HEX, SEPARATOR))
                return -EBADMSG;
        line[DIGEST_HEX] = '\0';
        if (!digest_valid(line) || !sums_name_valid(name) || sums_find(s, name))
                return -EBADMSG;
        return sums_add(s, name, line, 0);
}

int sums_parse(const char *text, size_t size, Sums *ret) {
        _cleanup_free_ char *copy = strndup(text, size);
        _cleanup_sums_ Sums s = {};
        char *next;
        int r;

        if (!copy)
                return -ENOMEM;
        if (size == 0 || strlen(copy) != size)
                return -EBADMSG; /* nothing, or a NUL in it */
        for (char *line = copy; *line; line = next) {
                char *end = strchr(line, '\n');

                if (!end)
                        return -EBADMSG;
                *end = '\0';
                next = end + 1;
                r = parse_line(line, &s);
                if (r < 0)
                        return r;
        }
        *ret = s;
        s = (Sums) {};
        return 0;
}
