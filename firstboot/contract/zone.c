/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Time zones by their names: whether a folder of them has one, and which was meant. */

#include "contract/zone.h"
#include "shared/file-util.h"
#include "shared/strv.h"
#include "shared/suggest.h"

#include <sys/stat.h>

#define TEXT_MAX (4 * 1024 * 1024) /* bytes of the text that all of them are made of */

/* tzdata's one text of all zones: "Z NAME …", and "L TARGET NAME" for another name of one. */
static int list_zones(const char *folder, char ***ret) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_free_ char *text = NULL, *path = path_join(folder, "tzdata.zi");
        char *rest;
        int r;

        if (!path)
                return -ENOMEM;
        r = read_file(path, TEXT_MAX, &text, NULL);
        if (r < 0)
                return r;
        rest = text;
        for (char *line; (line = strsep(&rest, "\n"));) {
                char *kind = strsep(&line, " "), *name;

                if (!streq(kind, "Z") && !streq(kind, "L"))
                        continue;
                if (*kind == 'L')
                        (void) strsep(&line, " ");
                name = strsep(&line, " ");
                r = name ? strv_extend(&names, name) : 0;
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(names);
        return 0;
}

/* A folder of zones, such as Europe, is none. 1, 0 or -ENOMEM. */
static int has_zone(const char *folder, const char *zone) {
        _cleanup_free_ char *path = path_join(folder, zone);
        struct stat st;

        if (!path)
                return -ENOMEM;
        return stat(path, &st) >= 0 && S_ISREG(st.st_mode);
}

int zone_look_up(const Config *c, const char *folder, const char **ret_zone, char **ret_hint) {
        const char *zone = json_get_string(json_get(c->values, "host"), "timezone");
        _cleanup_strv_free_ char **names = NULL;
        int r;

        *ret_zone = zone;
        if (!zone)
                return 1;
        if (!folder)
                return -ENOMEM;
        r = has_zone(folder, zone);
        if (r != 0)
                return r;
        r = has_zone(folder, "Etc/UTC");
        if (r <= 0)
                return r < 0 ? r : -ENOENT;
        if (list_zones(folder, &names) == -ENOMEM)
                return -ENOMEM;
        *ret_hint = suggest_text(zone, names);
        return *ret_hint ? 0 : -ENOMEM;
}
