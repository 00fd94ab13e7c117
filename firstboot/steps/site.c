/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The environment of a site's own program. */

#include "steps/site.h"
#include "contract/paths.h"
#include "shared/file-util.h"

/* *ret is the section's file; the caller frees it. */
static int write_section(const char *name, json_object *document, char **ret) {
        json_object *section = json_get(json_get(document, "config"), name);
        _cleanup_free_ char *path = fb_pathf("%s/%s.json", PATH_RUN_SECTIONS, name);
        _cleanup_json_ json_object *none = section ? NULL : json_object_new_object();
        int r;

        if (!path || (!section && !none))
                return -ENOMEM;
        r = mkdir_parents(path, 0700);
        if (r < 0)
                return r;
        r = json_save(path, section ? section : none, 0600);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(path);
        return 0;
}

int site_environment(const char *name, json_object *document, const char *result) {
        _cleanup_free_ char *config = fb_path(PATH_RUN_CONFIG), *section = NULL;
        int r;

        if (!config || !result)
                return -ENOMEM;
        r = write_section(name, document, &section);
        if (r < 0)
                return r;

        const struct {
                const char *name, *value;
        } variables[] = {
                { "FIRSTBOOT_STEP", name },
                { "FIRSTBOOT_RESULT", result },
                { "FIRSTBOOT_CONFIG", config },
                { "FIRSTBOOT_SECTION", section },
        };
        for (size_t i = 0; i < ELEMENTSOF(variables); i++)
                if (setenv(variables[i].name, variables[i].value, 1) < 0)
                        return -errno;
        return 0;
}
