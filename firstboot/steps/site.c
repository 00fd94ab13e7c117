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

/* "#!/usr/bin/python3": what a script is run by. NULL where it is none. */
static char *interpreter_of(const char *program) {
        _cleanup_fclose_ FILE *f = fopen(program, "re");
        char line[256];

        if (!f || !fgets(line, sizeof(line), f) || !startswith(line, "#!"))
                return NULL;
        line[strcspn(line, "\r\n")] = '\0';
        return strdup(line + strlen("#!"));
}

char *site_why_not(const Step *s, int error) {
        const char *program = s->exec[0];
        _cleanup_free_ char *interpreter = interpreter_of(program);

        if (access(program, F_OK) < 0)
                return strf("%s, which \"exec\" in %s names, is not there", program, s->file);
        if (access(program, X_OK) < 0)
                return strf("%s, which \"exec\" in %s names, is not executable: chmod +x it",
                                program, s->file);
        if (error == -ENOENT && interpreter)
                return strf("%s is run by %s, which is not there: install it, or correct the first line",
                                program, interpreter);
        if (error == -ENOEXEC)
                return strf("%s is no program: its first line does not say what runs it, as #!/bin/sh does",
                                program);
        return strf("%s, which \"exec\" in %s names, cannot be run: %s", program, s->file,
                        strerror(-error));
}
