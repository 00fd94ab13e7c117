/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Problems of a recipe, gathered and told in one go. */

#include "recipe/problems.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <stdarg.h>

static void add(Problems *p, const char *path, char *line) {
        _cleanup_free_ char *taken = line;

        if (!taken) {
                p->oom = true;
                return;
        }
        text_disarm(taken, false);
        if (strv_contains(p->lines, taken))
                return;
        if (p->n == PROBLEMS_MAX) {
                p->more++;
                return;
        }
        if (strv_push(&p->lines, TAKE_PTR(taken)) < 0 || strv_extend(&p->paths, strempty(path)) < 0)
                p->oom = true;
        p->n = strv_length(p->paths);
}

void problems_add(Problems *p, const char *file, const char *path, const char *format, ...) {
        _cleanup_free_ char *message = NULL;
        va_list ap;

        va_start(ap, format);
        message = vstrf(format, ap);
        va_end(ap);
        if (!message) {
                p->oom = true;
                return;
        }
        add(p, path,
                        path ? strf("%s: %s: %s", file, path, message)
                             : strf("%s: %s", file, message));
}

void problems_add_syntax(Problems *p, const char *file, const JsonError *e) {
        add(p, NULL,
                        e->line ? strf("%s:%u:%u: %s", file, e->line, e->column, e->message)
                                : strf("%s: %s", file, e->message));
}

/* Whether `path` is `prefix` or something inside it. */
static bool path_within(const char *path, const char *prefix) {
        const char *rest = startswith(path, prefix);

        return rest && (*rest == '\0' || *rest == '.' || *rest == '[');
}

bool problems_at(const Problems *p, const char *file, const char *path) {
        for (size_t i = 0; i < p->n; i++) {
                const char *known = p->paths[i];
                const char *rest = file ? startswith(p->lines[i], file) : "";

                if (*known && rest && (!file || *rest == ':') &&
                                (path_within(path, known) || path_within(known, path)))
                        return true;
        }
        return false;
}

int problems_log(const Problems *p) {
        STRV_FOREACH (line, p->lines)
                log_error("%s", *line);
        if (p->more > 0)
                log_error("… and %zu more errors", p->more);
        return p->oom ? -ENOMEM : p->n > 0 ? -EINVAL : 0;
}

void problems_done(Problems *p) {
        p->lines = strv_free(p->lines);
        p->paths = strv_free(p->paths);
        *p = (Problems) {};
}
