/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* "did you mean …?": edit distances. */

#include "shared/suggest.h"
#include "shared/strv.h"

#include <ctype.h>
#include <limits.h>

#define WORD_MAX 64

/* Optimal string alignment: the edit distance with swapped neighbours as one change, which is the
 * slip that fingers make most. */
unsigned suggest_distance(const char *a, const char *b) {
        unsigned rows[3][WORD_MAX + 1];
        size_t n = strlen(a), m = strlen(b);

        if (n > WORD_MAX || m > WORD_MAX)
                return UINT_MAX;
        for (size_t j = 0; j <= m; j++)
                rows[0][j] = (unsigned) j;
        for (size_t i = 1; i <= n; i++) {
                unsigned *row = rows[i % 3], *above = rows[(i - 1) % 3],
                         *two_above = rows[(i + 1) % 3];

                row[0] = (unsigned) i;
                for (size_t j = 1; j <= m; j++) {
                        int x = tolower((unsigned char) a[i - 1]),
                            y = tolower((unsigned char) b[j - 1]);

                        row[j] = MIN(MIN(above[j], row[j - 1]) + 1, above[j - 1] + (x != y));
                        if (i > 1 && j > 1 && x == tolower((unsigned char) b[j - 2]) &&
                                        y == tolower((unsigned char) a[i - 2]))
                                row[j] = MIN(row[j], two_above[j - 2] + 1);
                }
        }
        return rows[n % 3][m];
}

const char *suggest_nearest(const char *word, char *const *candidates) {
        const char *best = NULL;
        unsigned near = (unsigned) MAX(strlen(word) / 3, 1u) + 1;

        STRV_FOREACH (c, candidates) {
                unsigned d = suggest_distance(word, *c);
                if (d < near) {
                        near = d;
                        best = *c;
                }
        }
        if (!best && strlen(word) >= 3)
                STRV_FOREACH (c, candidates)
                        if (startswith(*c, word))
                                return *c;
        return best;
}

char *suggest_text(const char *word, char *const *candidates) {
        const char *nearest = suggest_nearest(word, candidates);

        return nearest ? strf("; did you mean \"%s\"?", nearest) : strdup("");
}
