/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Where a recipe's lock is. Beside the recipe, so that they are kept and reviewed together; but
 * that of an installed recipe, or of any in a folder that this user cannot write, is the user's
 * own:
 *
 *   root    /var/lib/imgbuild/FOLDER/NAME.lock.json
 *   users   $XDG_DATA_HOME/imgbuild/FOLDER/NAME.lock.json     (~/.local/share/imgbuild/…)
 *
 * FOLDER is the recipe's, so that two recipes of one name have two locks. */

#include "recipe/lock-place.h"

#include "common/userns.h"
#include "shared/file-util.h"
#include "shared/strv.h"

static char *own_folder(void) {
        const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");

        if (geteuid() == 0 && !in_user_namespace())
                return strdup("/var/lib/imgbuild");
        if (data && data[0] == '/')
                return path_join(data, "imgbuild");
        return path_join(strempty(home), ".local/share/imgbuild");
}

static bool belongs_to_others(const char *folder) {
        const char *rest = startswith(folder, DATADIR);

        return (rest && (*rest == '\0' || *rest == '/')) || access(folder, W_OK) < 0;
}

char *lock_place(const char *folder, const char *name) {
        _cleanup_free_ char *file = strf("%s.lock.json", name), *beside = NULL, *top = NULL,
                            *below = NULL, *own = NULL;

        if (!file)
                return NULL;
        beside = path_join(folder, file);
        if (!beside || !belongs_to_others(folder))
                return TAKE_PTR(beside);

        top = own_folder();
        below = top ? path_join(top, folder) : NULL;
        own = below ? path_join(below, file) : NULL;
        if (own && access(own, F_OK) < 0 && access(beside, F_OK) >= 0)
                return TAKE_PTR(beside); /* came with the recipe; an unreadable one is told */
        return TAKE_PTR(own);
}
