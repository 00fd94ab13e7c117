/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The steps of the node that an overlay brings: what is wrong with their files is told when the
 * overlay is read, by the rules of the node itself, and not by a node that has booted. What they
 * require of each other is judged where all overlays are known (node-steps.c). */

#include "recipe/overlay-items.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/folder.h"
#include "shared/log.h"
#include "shared/suggest.h"

#include <sys/stat.h>

/* A line of step_file_check()'s, "FILE: what" or "FILE:LINE:COLUMN: what". */
static int add_fault(Problems *p, const char *shown, const char *line) {
        size_t n = strlen(shown);
        const char *colon = strstr(line + MIN(n, strlen(line)), ": ");
        _cleanup_free_ char *file = colon ? strndup(line, (size_t) (colon - line)) : NULL;

        if (colon && !file)
                return -ENOMEM;
        problems_add(p, file ? file : shown, NULL, "%s", colon ? colon + 2 : line);
        return 0;
}

/* The name in the folder of the overlay's file `path` (absolute, in the image) that is nearest to
 * its own; NULL: none is near. */
static char *nearest_file(const OverlayLoading *l, const char *path) {
        _cleanup_free_ char *parent = path_folder(path),
                            *folder = parent ? strf("%s/files%s", l->overlay->path, parent) : NULL;
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_closedir_ DIR *d = NULL;
        const char *nearest;

        if (!folder || folder_open(folder, &d) < 0 || folder_names(d, &names) < 0)
                return NULL;
        nearest = suggest_nearest(path_basename(path), names);
        if (nearest && suggest_distance(path_basename(path), nearest) > 2)
                nearest = NULL;
        return nearest ? path_join(parent, nearest) : NULL;
}

/* A program that the overlay brings as well must be one that can be run. Others come from
 * packages, or are misspelt. */
static int check_program(const OverlayLoading *l, const char *shown, const char *program) {
        _cleanup_free_ char *path = strf("%s/files%s", l->overlay->path, program), *nearest = NULL;
        struct stat st;

        if (!path)
                return -ENOMEM;
        if (program[0] != '/')
                return 0;
        if (stat(path, &st) < 0) {
                nearest = nearest_file(l, program);
                if (nearest)
                        log_warning("%s: \"exec\": the overlay has no files%s; did you mean %s?",
                                        shown, program, nearest);
                return 0;
        }
        if (!(st.st_mode & 0111) && !json_get(l->overlay->modes, program + 1))
                problems_add(l->problems, shown, NULL,
                                "\"exec\": files%s of the overlay is not executable; chmod +x it",
                                program);
        return 0;
}

static int check_step(const OverlayLoading *l, const char *folder, const char *base) {
        _cleanup_free_ char *overlay = path_folder(l->file), *path = path_join(folder, base),
                            *name = strndup(base, strlen(base) - strlen(".json")),
                            *shown = overlay ? strf("%s/files" PATH_SITE_STEPS "/%s", overlay, base)
                                             : NULL;
        Step *s = &l->overlay->steps[l->overlay->n_steps];
        _cleanup_strv_free_ char **errors = NULL;
        struct stat st;
        int r;

        if (!path || !name || !shown)
                return -ENOMEM;
        /* An empty file takes a step out; what is no file tree_check() tells. */
        if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
                return 0;
        r = step_file_check(path, name, shown, s, &errors);
        if (r > 0)
                l->overlay->n_steps++;
        else {
                step_clear(s);
                *s = (Step) {};
        }
        if (r < 0)
                return r;
        STRV_FOREACH (line, errors)
                if (add_fault(l->problems, shown, *line) < 0)
                        return -ENOMEM;
        return r > 0 ? check_program(l, shown, s->exec[0]) : 0;
}

int overlay_load_steps(const OverlayLoading *l, json_object *o _unused_) {
        _cleanup_free_ char *folder = strf("%s/files" PATH_SITE_STEPS, l->overlay->path);
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_closedir_ DIR *d = NULL;

        if (!folder)
                return -ENOMEM;
        if (folder_open(folder, &d) < 0)
                return 0;
        FOLDER_FOREACH (name, d)
                if (name[0] != '.' && endswith(name, ".json") && strv_extend(&names, name) < 0)
                        return -ENOMEM;
        if (!names)
                return 0;
        strv_sort(names);
        l->overlay->steps = calloc(strv_length(names), sizeof(Step));
        if (!l->overlay->steps)
                return -ENOMEM;
        STRV_FOREACH (name, names) {
                int r = check_step(l, folder, *name);

                if (r < 0)
                        return r;
        }
        return 0;
}
