/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whose secret is whose: the recipe gives each to one overlay, of which one script asks for it. So
 * neither an overlay that came later nor another script gets what was meant for one. */

#include "recipe/building.h"
#include "shared/strv.h"

static const SecretGrant *find_grant(const Recipe *r, const char *name) {
        for (size_t i = 0; i < r->n_secrets; i++)
                if (streq(r->secrets[i].name, name))
                        return r->secrets + i;
        return NULL;
}

static int take_grants(Building *b) {
        json_object *o = json_get(b->merged, "secrets");
        Recipe *r = b->recipe;

        if (!o)
                return 0;
        r->secrets = calloc((size_t) json_object_object_length(o) + 1, sizeof(*r->secrets));
        if (!r->secrets)
                return -ENOMEM;
        json_object_object_foreach (o, name, overlay) {
                SecretGrant *to = &r->secrets[r->n_secrets++];

                to->name = strdup(name);
                to->overlay = strdup(json_object_get_string(overlay));
                if (!to->name || !to->overlay)
                        return -ENOMEM;
        }
        return 0;
}

/* One script's wish. */
static void check_asked(const Building *b, const Overlay *o, const char *name) {
        const SecretGrant *g = find_grant(b->recipe, name);

        if (!g)
                problems_add(b->problems, b->file, "$.secrets",
                                "overlay \"%s\" asks for the secret \"%s\"; if it is to get it: \"secrets\": {\"%s\": \"%s\"}",
                                o->name, name, name, o->name);
        else if (!streq(g->overlay, o->name))
                problems_add(b->problems, b->file, "$.secrets",
                                "overlay \"%s\" asks for the secret \"%s\", which is for \"%s\"",
                                o->name, name, g->overlay);
}

/* How many of the overlay's scripts ask for it. */
static size_t count_asking(const Overlay *o, const char *name) {
        size_t n = 0;

        for (size_t i = 0; i < o->n_run; i++)
                n += strv_contains(o->run[i].secrets, name);
        return n;
}

static int check_grant(const Building *b, const SecretGrant *g) {
        const Overlay *overlay = NULL;
        _cleanup_free_ char *path = strf("$.secrets.%s", g->name);
        size_t n;

        if (!path)
                return -ENOMEM;
        for (size_t i = 0; i < b->recipe->n_overlays; i++)
                if (streq(b->recipe->overlays[i]->name, g->overlay))
                        overlay = b->recipe->overlays[i];
        if (!overlay) {
                problems_add(b->problems, b->file, path, "the recipe has no overlay \"%s\"",
                                g->overlay);
                return 0;
        }
        n = count_asking(overlay, g->name);
        if (n == 0)
                problems_add(b->problems, b->file, path, "no script of overlay \"%s\" asks for it",
                                g->overlay);
        else if (n > 1)
                problems_add(b->problems, b->file, path,
                                "%zu scripts of overlay \"%s\" ask for it, and a secret is for one",
                                n, g->overlay);
        return 0;
}

int build_secrets(Building *b) {
        const Recipe *r = b->recipe;
        int e;

        e = take_grants(b);
        if (e < 0)
                return e;
        for (size_t i = 0; i < r->n_overlays; i++)
                for (size_t k = 0; k < r->overlays[i]->n_run; k++)
                        STRV_FOREACH (name, r->overlays[i]->run[k].secrets)
                                check_asked(b, r->overlays[i], *name);
        for (size_t i = 0; i < r->n_secrets; i++) {
                e = check_grant(b, r->secrets + i);
                if (e < 0)
                        return e;
        }
        return 0;
}

bool recipe_names_secret(const Recipe *r, const char *name) {
        for (size_t i = 0; i < r->n_secrets; i++)
                if (streq(r->secrets[i].name, name))
                        return true;
        return false;
}
