/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Problems of a recipe, gathered and told in one go. */

#include "recipe/problems.h"
#include "recipe/json-line.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <stdarg.h>

#define FILE_MAX (1024 * 1024) /* as recipes and overlays may have */

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

/* "images/x.json:12", or without the line; "" for no file. NULL on out of memory. */
static char *place_of(const char *file, const char *path) {
        _cleanup_free_ char *text = NULL;
        unsigned line = 0;

        if (path && read_file(file, FILE_MAX, &text, NULL) >= 0)
                line = json_line_of(text, path);
        return line > 0 ? strf("%s:%u", file, line) : strdup(strempty(file));
}

void problems_add(Problems *p, const char *file, const char *path, const char *format, ...) {
        _cleanup_free_ char *message = NULL, *place = place_of(file, path);
        va_list ap;

        va_start(ap, format);
        message = vstrf(format, ap);
        va_end(ap);
        if (!message || !place) {
                p->oom = true;
                return;
        }
        add(p, path,
                        path   ? strf("%s: %s: %s", place, path, message)
                        : file ? strf("%s: %s", place, message)
                               : TAKE_PTR(message));
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
        if (p->oom)
                return -ENOMEM;
        return p->n == 0 ? 0 : p->denied ? -EACCES : -EINVAL;
}

void problems_done(Problems *p) {
        p->lines = strv_free(p->lines);
        p->paths = strv_free(p->paths);
        *p = (Problems) {};
}
