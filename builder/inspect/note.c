/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a program says of itself in its ELF note (shared/package-note.h, and any distribution that
 * writes such notes). */

#include "inspect/internal.h"

#include "common/elf-strings.h"

#define TEXT_MIN 8 /* longer than the note's owner, "FDO" */

static int take_version(const char *text, void *userdata) {
        char **ret = userdata;
        _cleanup_json_ json_object *o = NULL;
        const char *version;
        JsonError error;

        if (json_parse(text, strlen(text), &error, &o) < 0)
                return 0;
        version = json_get_string(o, "version");
        if (isempty(version))
                return 0;
        *ret = strdup(version);
        return *ret ? 1 : -ENOMEM;
}

int inspect_note_version(int fd, char **ret) {
        _cleanup_free_ char *version = NULL;
        int r;

        r = elf_section_strings(fd, ".note.package", TEXT_MIN, take_version, &version);
        if (r < 0)
                return r;
        if (!version)
                return -ENOENT;
        *ret = TAKE_PTR(version);
        return 0;
}
