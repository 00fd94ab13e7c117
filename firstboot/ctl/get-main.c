/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstboot-get KEY [DEFAULT]: one value of the node configuration, for the scripts of a site's own
 * steps. */

#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/json-util.h"
#include "shared/log.h"
#include "shared/package-note.h"
#include "shared/parse-number.h"
#include "shared/strv.h"

PACKAGE_NOTE("firstboot", FIRSTBOOT_VERSION);

#define CONFIG_MAX (16 * 1024 * 1024)

enum { EXIT_ABSENT = 1, EXIT_UNREADABLE = 2, EXIT_WRONG_USE = 64 };

static void usage(FILE *f) {
        fputs("Usage: firstboot-get KEY [DEFAULT]\n\n"
              "Prints one value of the node configuration.\n\n"
              "KEY is what stands in the configuration, with dots: slurm.cluster, mounts.0.source.\n"
              "In a step's own program \".server\" is key \"server\" of the step's own section.\n"
              "Text, numbers, true and false are printed as they are, lists and objects as JSON.\n\n"
              "Exit codes: 0 printed; 1 there is no such key and no DEFAULT was given;\n"
              "2 the configuration cannot be read; 64 wrong use.\n",
                        f);
}

static int load(json_object **ret) {
        const char *named = secure_getenv("FIRSTBOOT_CONFIG");
        _cleanup_free_ char *path = named ? strdup(named) : fb_path(PATH_RUN_CONFIG);
        _cleanup_json_ json_object *document = NULL;
        JsonError e = {};
        int r;

        if (!path)
                return log_oom();
        r = json_load(path, CONFIG_MAX, &e, &document);
        if (r == -ENOENT)
                return log_error_return(r,
                                "%s is not there: firstbootd has not read a configuration in this boot yet",
                                path);
        if (r < 0)
                return log_error_errno(r, "Cannot read %s", path);
        *ret = json_object_get(json_get(document, "config"));
        return 0;
}

static json_object *member(json_object *o, const char *name) {
        uint64_t index;

        if (!json_object_is_type(o, json_type_array))
                return json_get(o, name);
        if (parse_number(name, 10, &index) < 0 || index >= json_object_array_length(o))
                return NULL;
        return json_object_array_get_idx(o, index);
}

/* The value below o, or NULL. */
static json_object *find(json_object *o, const char *key) {
        _cleanup_strv_free_ char **parts = strv_split(key, ".");

        STRV_FOREACH (part, parts)
                if (**part)
                        o = member(o, *part);
        return parts ? o : NULL;
}

static int print(json_object *value) {
        return puts(json_as_text(value)) < 0 || fflush(stdout) != 0 ? EXIT_UNREADABLE
                                                                    : EXIT_SUCCESS;
}

int main(int argc, char *argv[]) {
        const char *step = secure_getenv("FIRSTBOOT_STEP"), *key = argv[1];
        _cleanup_json_ json_object *config = NULL;
        json_object *from, *value;

        log_set_program("firstboot-get");
        if (argc == 2 && strv_contains(ARGV("-h", "--help"), key)) {
                usage(stdout);
                return EXIT_SUCCESS;
        }
        if (argc < 2 || argc > 3 || key[0] == '-' || isempty(key)) {
                usage(stderr);
                return EXIT_WRONG_USE;
        }
        if (key[0] == '.' && !step) {
                log_error("%s: only the program of a step has a section of its own; give the whole key",
                                key);
                return EXIT_WRONG_USE;
        }
        if (load(&config) < 0)
                return EXIT_UNREADABLE;

        from = key[0] == '.' ? json_get(config, step) : config;
        value = find(from, key);
        if (value)
                return print(value);
        if (argc == 3)
                return puts(argv[2]) < 0 ? EXIT_UNREADABLE : EXIT_SUCCESS;
        log_error("The node configuration has no key \"%s%s\", and no default was given",
                        key[0] == '.' ? step : "", key);
        return EXIT_ABSENT;
}
