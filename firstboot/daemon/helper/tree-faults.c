/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Faults of the installed system: programs and time zones that the configuration names and that are
 * not there. */

#include "daemon/helper/tree-faults.h"
#include "contract/paths.h"
#include "contract/zone.h"

#include <sys/stat.h>

static int check_program(const Step *s, char ***faults) {
        const char *program = s->exec[0];
        struct stat st;

        if (program[0] != '/')
                return strv_extendf(faults, "%s: exec: %s must be a path that begins with /",
                                s->file, program);
        if (stat(program, &st) < 0)
                return strv_extendf(faults, "%s: exec: %s: %s", s->file, program, strerror(errno));
        if (!S_ISREG(st.st_mode) || !(st.st_mode & 0111))
                return strv_extendf(faults,
                                "%s: exec: %s is not a program that can be run (chmod +x; \"modes\" in the overlay)",
                                s->file, program);
        return 0;
}

static int check_zone(const Config *c, char ***faults) {
        const char *source = json_get_string(c->sources, "host.timezone"), *zone;
        _cleanup_free_ char *folder = fb_path(ZONES), *hint = NULL;
        int r;

        r = zone_look_up(c, folder, &zone, &hint);
        if (r == -ENOMEM || r > 0)
                return MIN(r, 0);
        return strv_extendf(faults, "%s: host.timezone: there is no time zone \"%s\" in %s%s",
                        source ? source : "configuration", zone, ZONES, strempty(hint));
}

int tree_faults(const Config *c, const Graph *g, char ***faults) {
        int r;

        for (size_t i = 0; i < g->n; i++) {
                if (strv_length(g->steps[i].exec) == 0)
                        continue;
                r = check_program(&g->steps[i], faults);
                if (r < 0)
                        return r;
        }
        return check_zone(c, faults);
}
