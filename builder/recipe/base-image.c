/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A recipe whose base is a vendor's disk image. What distribution that is, nobody knows before it
 * was opened: lock/image.c. */

#include "recipe/building.h"
#include "recipe/patterns.h"
#include "shared/file-util.h"

static bool is_url(const char *image) {
        return strstr(image, "://") != NULL;
}

/* What a file says of its base replaces what the one it extends says of another kind of base. */
static void replace(json_object *merged, const char *const keys[]) {
        json_object *base = json_get(merged, "base");

        for (; base && *keys; keys++)
                json_object_object_del(base, *keys);
}

int base_image_prepare(Building *b, const RecipeFile *f) {
        static const char *const of_distro[] = { "distro", "release", "packages", NULL },
                                 *const of_image[] = { "image", "sha256", "signature", "root",
                                         NULL },
                                 *const of_signature[] = { "file", "checksums", "key", NULL };
        json_object *base = json_get(f->json, "base");

        for (const char *const *key = of_signature; *key; key++)
                if (recipe_file_resolve(f, json_get(base, "signature"), *key) < 0)
                        return -ENOMEM;
        if (!json_get(base, "image")) {
                if (json_get(base, "distro"))
                        replace(b->merged, of_image);
                return 0;
        }

        for (const char *const *key = of_distro; *key; key++) {
                _cleanup_free_ char *path = strf("$.base.%s", *key);

                if (!path)
                        return -ENOMEM;
                if (json_get(base, *key))
                        problems_add(b->problems, f->shown, path,
                                        streq(*key, "packages")
                                                        ? "an image has its packages already; what is to be added goes in $.packages"
                                                        : "is read from the image: leave it out");
        }
        replace(b->merged, of_distro);
        replace(b->merged, of_image); /* of another image */
        return recipe_file_resolve(f, base, "image");
}

static int take_signature(Building *b, json_object *o) {
        const char *checksums = json_get_string(o, "checksums"), *where = "$.base.signature";
        ImageSignature *s = &b->recipe->base.signature;

        if (base_take(b, o, where, "file",
                            "what the vendor signed the image or a list of checksums with",
                            &s->file) < 0 ||
                        base_take(b, o, where, "key", "the key that signs it, a file or a URL",
                                        &s->key) < 0 ||
                        base_take(b, o, where, "fingerprint",
                                        "that of its key in full, as the vendor publishes it",
                                        &s->fingerprint) < 0)
                return -ENOMEM;
        fingerprint_normalize(s->fingerprint);
        if (checksums && !(s->checksums = strdup(checksums)))
                return -ENOMEM;
        return 0;
}

int base_image_build(Building *b, json_object *base) {
        const char *image = json_get_string(base, "image");
        json_object *signature = json_get(base, "signature");
        Recipe *r = b->recipe;

        /* The image will tell; but whoever names repositories means one that needs them. */
        r->family = json_get(base, "repositories") ? FAMILY_EL : FAMILY_DEBIAN;
        r->base.image = strdup(image);
        if (!r->base.image)
                return -ENOMEM;
        if (json_get(base, "sha256")) {
                r->base.sha256 = strdup(json_get_string(base, "sha256"));
                if (!r->base.sha256)
                        return -ENOMEM;
        }
        if (json_get(base, "root")) {
                r->base.root = strdup(json_get_string(base, "root"));
                if (!r->base.root)
                        return -ENOMEM;
        }
        if (json_object_is_type(signature, json_type_object) && take_signature(b, signature) < 0)
                return -ENOMEM;
        if (startswith(image, "http://") && !r->base.sha256 && !r->base.signature.fingerprint)
                problems_add(b->problems, b->file, "$.base.sha256",
                                "missing: over plain http anybody on the way could change the image");
        return r->family == FAMILY_EL ? base_el_build(b, base) : base_el_refuse(b, base);
}

bool recipe_image_is_url(const Recipe *r) {
        return is_url(r->base.image);
}

const char *recipe_image_name(const Recipe *r) {
        return is_url(r->base.image) ? r->base.image : path_basename(r->base.image);
}
