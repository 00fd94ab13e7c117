/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild schema: JSON Schema of the files that people write, made from the tables that check
 * them, and of what --progress=json tells. docs/schemas.md says how an editor uses it. */

#include "cmd/verb.h"
#include "contract/json-schema.h"
#include "recipe/recipe.h"
#include "shared/json-util.h"
#include "shared/suggest.h"

enum { OPT_SECTION = OPT_VERB };

typedef struct SchemaOptions {
        char **sections;
} SchemaOptions;

static const OptionSpec options[] = {
        { "section", OPT_SECTION, "NAME",
                        "node: a site's own step has a section of this name; may be given several times",
                        .repeats = true },
        {},
};

static int take(void *values, int id _unused_, const char *value) {
        SchemaOptions *o = values;

        return strv_extend(&o->sections, value) < 0 ? log_oom() : 0;
}

static void done(void *values) {
        SchemaOptions *o = values;

        o->sections = strv_free(o->sections);
}

static int check(VerbCall *call) {
        const SchemaOptions *o = call->options;
        const char *kind = call->arguments[0];
        char *const *kinds = ARGV("recipe", "overlay", "cluster", "node", "progress");

        if (!strv_contains(kinds, kind)) {
                _cleanup_free_ char *meant = suggest_text(kind, kinds);

                log_error("There is no schema of \"%s\"%s", kind,
                                isempty(meant) ? "; there are recipe, overlay, cluster, node and progress"
                                               : meant);
                return EXIT_USAGE;
        }
        if (o->sections && !streq(kind, "node")) {
                log_error("--section goes with 'imgbuild schema node' alone");
                return EXIT_USAGE;
        }
        return 0;
}

static int make(VerbCall *call, json_object **ret) {
        const SchemaOptions *o = call->options;
        const char *kind = call->arguments[0];

        if (streq(kind, "node"))
                return config_json_schema(o->sections, ret);
        if (streq(kind, "cluster"))
                return cluster_json_schema(ret);
        if (streq(kind, "progress"))
                return progress_json_schema(ret);
        return streq(kind, "recipe") ? recipe_json_schema(ret) : overlay_json_schema(ret);
}

static int run(VerbCall *call) {
        _cleanup_json_ json_object *o = NULL;
        int r;

        r = make(call, &o);
        if (r < 0)
                return log_oom();
        json_print(o, 0);
        return EXIT_OK;
}

const Verb verb_schema = {
        .spec = { "schema",
                        "print JSON Schema of recipes, overlays, clusters or node configuration",
                        options, "KIND", COMPLETE_CHOICES, "recipe overlay cluster node progress" },
        .usage = "recipe|overlay|cluster|node|progress [OPTION…]",
        .about = "Prints the JSON Schema (2020-12) of the files that people write, for editors and other programs;\n"
                 "progress: of the lines that --progress=json tells.",
        .min_arguments = 1,
        .max_arguments = 1,
        .wanted = "takes one of recipe, overlay, cluster, node or progress",
        .options_size = sizeof(SchemaOptions),
        .take = take,
        .check = check,
        .run = run,
        .done = done,
};
