/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Files of node configuration, proved where they are written, without a node. */

#include "recipe/node-config.h"
#include "recipe/recipe.h"
#include "shared/log.h"

#define FILE_MAX (1024 * 1024) /* bytes: what a node takes */

/* A layer, from a file of its own or from user data in JSON, which has it as "firstboot". */
static int add_file(Config *c, const char *path, Problems *problems) {
        _cleanup_json_ json_object *o = NULL;
        json_object *layer;
        JsonError e = {};
        int r;

        r = json_load(path, FILE_MAX, &e, &o);
        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                problems_add_syntax(problems, path, &e);
                return 0;
        }
        layer = json_get(o, "firstboot");
        return config_merge(c, layer ? layer : o, path);
}

int node_files_check(char *const *paths) {
        _cleanup_problems_ Problems problems = {};
        _cleanup_config_ Config *c = config_new();
        int r = 0;

        STRV_FOREACH (path, paths)
                if (c && r >= 0)
                        r = add_file(c, *path, &problems);
        if (!c || r < 0)
                return log_oom();
        if (problems.n == 0 && node_config_finish(c) < 0)
                return log_oom();

        r = problems_log(&problems);
        if (r == -ENOMEM)
                return log_oom();
        STRV_FOREACH (e, c->errors)
                log_error("%s", *e);
        return r < 0 || c->errors ? -EINVAL : 0;
}
