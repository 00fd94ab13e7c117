/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The base of a recipe of family el: which repositories it is made from, for no host knows them,
 * and whose keys count for them. And what one family has and the other has not. */

#include "recipe/building.h"
#include "recipe/patterns.h"
#include "shared/file-util.h"
#include "shared/log.h"

/* Its rpm keeps its database in SQLite, as the one does that makes bases. */
#define OLDEST_RELEASE 9

int base_el_prepare(const RecipeFile *f) {
        json_object *repositories = json_get(json_get(f->json, "base"), "repositories");

        if (!json_object_is_type(repositories, json_type_object))
                return 0;
        json_object_object_foreach (repositories, name, q) {
                (void) name;
                if (recipe_file_resolve(f, q, "key") < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int take_repository(Building *b, json_object *q, const char *where, Repository *to) {
        if (base_take(b, q, where, "uri", "where its repodata/ lies", &to->uri) < 0 ||
                        base_take(b, q, where, "key", "the key that signs it, a file or a URL",
                                        &to->key) < 0 ||
                        base_take(b, q, where, "fingerprint",
                                        "that of its key in full, as the vendor publishes it",
                                        &to->fingerprint) < 0 ||
                        schema_get_strv(q, "modules", &to->modules) < 0)
                return -ENOMEM;
        to->keep = json_get_bool(q, "keep", false); /* the distribution's package has its own */
        fingerprint_normalize(to->fingerprint);
        return 0;
}

/* Its packages would be the base's, and an image has its own. */
static int refuse_profiles(Building *b, const Repository *q, const char *where) {
        _cleanup_free_ char *path = strf("%s.modules", where);

        if (!path)
                return -ENOMEM;
        STRV_FOREACH (module, q->modules)
                if (strchr(*module, '/'))
                        problems_add(b->problems, b->file, path,
                                        "\"%.60s\": a vendor's image gets no profile of its base; name its packages in \"packages\", or the profile in an overlay's repository",
                                        *module);
        return 0;
}

static int add_repositories(Building *b, json_object *repositories) {
        Recipe *r = b->recipe;

        r->base.repositories = calloc(
                        (size_t) json_object_object_length(repositories) + 1, sizeof(Repository));
        if (!r->base.repositories)
                return -ENOMEM;
        json_object_object_foreach (repositories, name, q) {
                Repository *to = r->base.repositories + r->base.n_repositories++;
                _cleanup_free_ char *where = schema_path("$.base.repositories", name);

                to->name = strdup(name);
                if (!where || !to->name || take_repository(b, q, where, to) < 0 ||
                                (r->base.image && refuse_profiles(b, to, where) < 0))
                        return -ENOMEM;
        }
        return 0;
}

static void refuse(Building *b, json_object *base, const char *key, const char *why) {
        _cleanup_free_ char *path = strf("$.base.%s", key);

        if (path && json_get(base, key))
                problems_add(b->problems, b->file, path, "%s", why);
}

int base_el_build(Building *b, json_object *base) {
        json_object *repositories = json_get(base, "repositories");
        const char *release = json_get_string(base, "release");

        if (release && strtoul(release, NULL, 10) < OLDEST_RELEASE)
                problems_add(b->problems, b->file, "$.base.release",
                                "\"%.60s\": of family el releases from %d on can be made from nothing; the rpm of older ones has another database",
                                release, OLDEST_RELEASE);
        refuse(b, base, "components", "is for Debian and Ubuntu alone");
        refuse(b, base, "mirror",
                        "is for Debian and Ubuntu alone; the repositories' \"uri\" say where packages are");
        if (!json_object_is_type(repositories, json_type_object) ||
                        json_object_object_length(repositories) == 0) {
                if (!problems_at(b->problems, NULL, "$.base.repositories"))
                        problems_add(b->problems, b->file, "$.base.repositories",
                                        "missing: where %s's packages come from, and whose key signs them",
                                        strempty(json_get_string(base, "distro")));
                return 0;
        }
        return add_repositories(b, repositories);
}

/* Names that only the other family's packages have. */
static int refuse_names(Building *b, const char *path, char *const *packages) {
        for (size_t i = 0; packages && packages[i]; i++) {
                const char *wrong = value_debian_package(packages[i]);
                _cleanup_free_ char *where = strf("%s[%zu]", path, i);

                if (!where)
                        return -ENOMEM;
                if (wrong)
                        problems_add(b->problems, b->file, where, "\"%.60s\" %s", packages[i],
                                        wrong);
        }
        return 0;
}

int base_el_refuse(Building *b, json_object *base) {
        Recipe *r = b->recipe;

        refuse(b, base, "repositories",
                        "is for oracle, rhel, rocky and alma; Debian's and Ubuntu's are known");
        if (refuse_names(b, "$.base.packages", r->base.packages) < 0)
                return -ENOMEM;
        return refuse_names(b, "$.packages", r->packages);
}
