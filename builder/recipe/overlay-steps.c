/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The steps of the node that an overlay brings: what is wrong with their files is told when the
 * overlay is read, by the rules of the node itself, and not by a node that has booted. */

#include "recipe/overlay-items.h"
#include "contract/paths.h"
#include "contract/step-file.h"
#include "shared/file-util.h"
#include "shared/folder.h"

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

/* A program that the overlay brings as well must be one that can be run. Others come from
 * packages. */
static int check_program(const OverlayLoading *l, const char *shown, const char *program) {
        _cleanup_free_ char *path = strf("%s/files%s", l->overlay->path, program);
        struct stat st;

        if (!path)
                return -ENOMEM;
        if (program[0] != '/' || stat(path, &st) < 0 || (st.st_mode & 0111) ||
                        json_get(l->overlay->modes, program + 1))
                return 0;
        problems_add(l->problems, shown, NULL,
                        "\"exec\": files%s of the overlay is not executable; chmod +x it", program);
        return 0;
}

static int check_step(const OverlayLoading *l, const char *folder, const char *base) {
        _cleanup_free_ char *overlay = path_folder(l->file), *path = path_join(folder, base),
                            *name = strndup(base, strlen(base) - strlen(".json")), *program = NULL,
                            *shown = overlay ? strf("%s/files" PATH_SITE_STEPS "/%s", overlay, base)
                                             : NULL;
        _cleanup_strv_free_ char **errors = NULL;
        struct stat st;
        int r;

        if (!path || !name || !shown)
                return -ENOMEM;
        /* An empty file takes a step out; what is no file tree_check() tells. */
        if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
                return 0;
        r = step_file_check(path, name, shown, &program, &errors);
        if (r < 0)
                return r;
        STRV_FOREACH (line, errors) {
                r = add_fault(l->problems, shown, *line);
                if (r < 0)
                        return r;
        }
        return program ? check_program(l, shown, program) : 0;
}

int overlay_check_steps(const OverlayLoading *l, json_object *o _unused_) {
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
        if (names)
                strv_sort(names);
        STRV_FOREACH (name, names) {
                int r = check_step(l, folder, *name);

                if (r < 0)
                        return r;
        }
        return 0;
}
