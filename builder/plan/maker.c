/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What makes the base: mmdebstrap, dpkg, apt and tar of the tools tree, rpm of that of family el,
 * whose locks say which. They are part of the base's digest, and so of everything made on it. The
 * tools' own base is made with the host's, of which nothing is in a digest: it is recorded
 * (stage/base.c). */

#include "plan/internal.h"
#include "shared/file-util.h"

#include <sys/stat.h>

/* rpm and its own libraries, which have another name in each release. */
static bool is_rpm(const char *package) {
        return streq(package, "rpm") || startswith(package, "librpm");
}

/* What the bytes of a base tree come from. That of the tools which only runs them (Perl, libraries)
 * moves often, and changes none. */
static int maker_digest(const Recipe *recipe, const LockedStage *base, Digest ret) {
        static const char *const programs[] = { "mmdebstrap", "dpkg", "apt", "tar" };
        _cleanup_hash_free_ Hash *h = NULL;
        int r;

        r = hash_new(&h);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(programs) && recipe->family == FAMILY_DEBIAN; i++) {
                const LockedPackage *p = locked_stage_find(base, programs[i]);

                hash_field(h, programs[i], p ? p->sha256 : NULL);
        }
        for (size_t i = 0; i < base->n_packages && recipe->family == FAMILY_EL; i++)
                if (is_rpm(base->packages[i].name))
                        hash_field(h, base->packages[i].name, base->packages[i].sha256);
        hash_end(h, ret);
        return digest_valid(ret) ? 0 : -EIO;
}

int plan_set_maker(Plan *p, const LockedStage *base) {
        Digest before;
        int r;

        memcpy(before, p->maker, sizeof(before));
        if (!locked_stage_find(base, p->recipe->family == FAMILY_EL ? "rpm" : "mmdebstrap")) {
                p->maker_kind = MAKER_HOST;
                p->maker[0] = '\0';
        } else {
                p->maker_kind = MAKER_TOOLS;
                r = maker_digest(p->recipe, base, p->maker);
                if (r < 0)
                        return r;
        }
        return streq(before, p->maker) ? 0 : plan_digest_stages(p);
}

static bool same_file(const char *a, const char *b) {
        struct stat x, y;

        return stat(a, &x) >= 0 && stat(b, &y) >= 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int plan_find_maker(Context *ctx, const char *recipe_path, Plan *p) {
        _cleanup_free_ char *recipe = NULL, *path = NULL;
        _cleanup_lock_free_ Lock *lock = NULL;
        int r;

        r = tools_recipe_find(ctx, recipe_path, tools_of_base(p->recipe), &recipe, &path);
        if (r == -ENOENT)
                return 0;
        if (r < 0)
                return r;
        if (same_file(recipe, recipe_path)) {
                p->maker_kind = MAKER_SELF;
                return 0;
        }
        r = lock_read(path, &lock);
        if (r == -ENOENT)
                return 0;
        return r < 0 ? r : plan_set_maker(p, lock_find_stage(lock, "base"));
}
