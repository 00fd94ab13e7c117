/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Where the shipped recipes and overlays are: looked for beside the program, so that a checkout and
 * an installation below any prefix each find their own. */

#include "common/data-folder.h"
#include "shared/file-util.h"
#include "shared/strv.h"

#include <limits.h>

static bool holds_data(const char *folder) {
        _cleanup_free_ char *tools = path_join(folder, "images/tools.json"),
                            *overlays = path_join(folder, "overlays");

        return tools && overlays && access(tools, R_OK) >= 0 && access(overlays, R_OK) >= 0;
}

char *data_folder(void) {
        static const char *const places[] = { "..", "../..", "../share/imgbuild" };
        char program[PATH_MAX];
        ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
        _cleanup_free_ char *bin = NULL;

        if (n < 0)
                return strdup(DATADIR);
        program[n] = '\0';
        bin = path_folder(program);
        if (!bin)
                return NULL;

        for (size_t i = 0; i < ELEMENTSOF(places); i++) {
                _cleanup_free_ char *place = path_join(bin, places[i]);

                if (!place)
                        return NULL;
                if (holds_data(place))
                        return realpath(place, NULL);
        }
        return strdup(DATADIR);
}
