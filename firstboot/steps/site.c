/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The environment of a site's own program. */

#include "steps/site.h"
#include "contract/paths.h"
#include "shared/file-util.h"

static int write_section(const char *name, json_object *document, const char *path) {
        json_object *section = json_get(json_get(document, "config"), name);
        _cleanup_json_ json_object *none = section ? NULL : json_object_new_object();
        int r;

        if (!section && !none)
                return -ENOMEM;
        r = mkdir_parents(path, 0700);
        return r < 0 ? r : json_save(path, section ? section : none, 0600);
}

int site_environment(
                const char *name, json_object *document, const char *result, const char *section) {
        _cleanup_free_ char *config = fb_path(PATH_RUN_CONFIG);
        const struct {
                const char *name, *value;
        } variables[] = {
                { "FIRSTBOOT_STEP", name },
                { "FIRSTBOOT_RESULT", result },
                { "FIRSTBOOT_CONFIG", config },
                { "FIRSTBOOT_SECTION", section },
        };
        int r;

        if (!config || !result || !section)
                return -ENOMEM;
        r = write_section(name, document, section);
        if (r < 0)
                return r;

        for (size_t i = 0; i < ELEMENTSOF(variables); i++)
                if (setenv(variables[i].name, variables[i].value, 1) < 0)
                        return -errno;
        return 0;
}
