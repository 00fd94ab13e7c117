/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Files of node configuration, proved where they are written, without a node. */

#include "recipe/node-config.h"
#include "recipe/other-file.h"
#include "recipe/recipe.h"
#include "recipe/user-data.h"
#include "shared/file-util.h"
#include "shared/log.h"

#define FILE_MAX (1024 * 1024) /* bytes: what a node takes */

/* A layer in JSON: a file of its own, or user data without its first line. */
static int add_json(
                Config *c, const char *path, const char *text, size_t size, Problems *problems) {
        _cleanup_json_ json_object *o = NULL;
        const OtherFile *other;
        JsonError e = {};
        int r;

        r = json_parse(text, size, &e, &o);
        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                problems_add_syntax(problems, path, &e);
                return 0;
        }
        if (json_get(o, "firstboot"))
                return user_data_merge_object(c, path, o, problems);

        other = other_file_find(o);
        if (other) {
                problems_add(problems, path, NULL, "is %s, not node configuration: %s", other->what,
                                other->remedy);
                return 0;
        }
        return config_merge(c, o, path);
}

static int add_file(Config *c, const char *path, Problems *problems) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        int r;

        r = read_file(path, FILE_MAX, &text, &size);
        if (r == -ENOMEM)
                return r;
        if (r == -EISDIR) {
                problems_add(problems, path, NULL, "is a folder: name the files in it");
                return 0;
        }
        if (r < 0) {
                problems_add(problems, path, NULL, "cannot read it: %s", strerror(-r));
                return 0;
        }
        return user_data_is_it(path, text) ? user_data_merge(c, path, text, problems)
                                           : add_json(c, path, text, size, problems);
}

static int check_zone(const Config *c, Problems *problems) {
        _cleanup_free_ char *unknown = NULL;
        int r;

        r = node_config_unknown_zone(c, &unknown);
        if (r < 0)
                return r;
        if (unknown)
                problems_add(problems, strempty(json_get_string(c->sources, "host.timezone")),
                                "host.timezone", "%s", unknown);
        return 0;
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
        if (problems.n == 0 && (node_config_finish(c, NULL) < 0 || check_zone(c, &problems) < 0))
                return log_oom();

        STRV_FOREACH (e, c->errors)
                if (!node_config_add_problem(&problems, paths, "", *e))
                        problems_add(&problems, NULL, NULL, "%s", *e);
        r = problems_log(&problems);
        return r == -ENOMEM ? log_oom() : r;
}
