/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One list for the appliance's tar and the reader of ext4. What lies in folders that a booted
 * system mounts over is nobody's; boot entries are of the disk that stays behind, and of a Berkeley
 * DB's shared memory there is the file that a boot removes. */

#include "appliance/left-out.h"

#include "shared/strv.h"

#include <fnmatch.h>

static const char *const patterns[] = { "dev/*", "proc/*", "sys/*", "run/*", "tmp/*", "lost+found",
        "*/lost+found", "boot/loader/entries/*", "var/lib/rpm/__db.*" };

bool left_out(const char *path) {
        for (size_t i = 0; i < ELEMENTSOF(patterns); i++)
                if (fnmatch(patterns[i], path, 0) == 0) /* no FNM_PATHNAME: as tar has it */
                        return true;
        return false;
}

char *left_out_options(void) {
        _cleanup_strv_free_ char **options = NULL;

        for (size_t i = 0; i < ELEMENTSOF(patterns); i++)
                if (strv_extendf(&options, "--exclude='./%s'", patterns[i]) < 0)
                        return NULL;
        return strv_join(options, " ");
}
