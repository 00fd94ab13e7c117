/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* "${release}" where overlays of family el say whence packages come: "9" of 9.6. */

#include "recipe/recipe.h"

#define VARIABLE "${release}"

static int expand(char **text, const char *release) {
        int n = (int) strcspn(release, ".");

        for (char *at; *text && (at = strstr(*text, VARIABLE));) {
                char *longer = strf("%.*s%.*s%s", (int) (at - *text), *text, n, release,
                                at + strlen(VARIABLE));

                if (!longer)
                        return -ENOMEM;
                free(*text);
                *text = longer;
        }
        return 0;
}

int recipe_expand_release(Recipe *recipe) {
        const char *release = recipe->base.release;

        if (!release || recipe->family != FAMILY_EL || strstr(release, VARIABLE))
                return 0;
        for (size_t i = 0; i < recipe->n_overlays; i++) {
                Overlay *o = recipe->overlays[i];

                for (size_t k = 0; k < o->n_repositories; k++)
                        if (expand(&o->repositories[k].uri, release) < 0 ||
                                        expand(&o->repositories[k].key, release) < 0)
                                return -ENOMEM;
        }
        return 0;
}
