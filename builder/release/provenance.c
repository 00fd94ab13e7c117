/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An in-toto statement (https://in-toto.io/Statement/v1) with SLSA's provenance
 * (https://slsa.dev/spec/v1.0/provenance). Who built it is nobody's word but the signer's: the
 * builder is named as a build on somebody's own machine. */

#include "release/parts.h"

#include "shared/strv.h"

#define BUILD_TYPE "urn:imgbuild:build:v1"
#define BUILDER "urn:imgbuild:builder:local"

static int set_digest(json_object *o, const char *sha256) {
        json_object *digest = NULL;
        int r = json_add_object(o, "digest", &digest);

        return r < 0 ? r : json_set_string(digest, "sha256", sha256);
}

static int add_named(json_object *list, const char *name, const char *uri, const char *sha256) {
        json_object *o = NULL;
        int r;

        if (!sha256)
                return 0;
        r = json_append_object(list, &o);
        if (r < 0)
                return r;
        r = json_set_fields(o, JSON_STRING("name", name), JSON_STRING("uri", uri));
        if (r < 0)
                return r;
        return set_digest(o, sha256);
}

/* Each {name_key, sha256} of an array of the manifest's. */
static int add_array(json_object *list, json_object *array, const char *name_key) {
        size_t n = json_array_length(array);

        for (size_t i = 0; i < n; i++) {
                json_object *o = json_object_array_get_idx(array, i);
                int r = add_named(list, json_get_string(o, name_key), NULL,
                                json_get_string(o, "sha256"));

                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_definition(json_object *predicate, json_object *m, const Parts *p) {
        json_object *definition = NULL, *external = NULL, *internal = NULL, *list = NULL,
                    *recipe = json_get(m, "recipe");
        int r;

        if (json_add_object(predicate, "buildDefinition", &definition) < 0 ||
                        json_set_string(definition, "buildType", BUILD_TYPE) < 0 ||
                        json_add_object(definition, "externalParameters", &external) < 0 ||
                        json_add_object(definition, "internalParameters", &internal) < 0 ||
                        json_add_array(definition, "resolvedDependencies", &list) < 0)
                return -ENOMEM;
        r = json_set_fields(external, JSON_STRING("name", json_get_string(m, "name")),
                        JSON_TAKE("recipe", json_object_get(json_get(recipe, "merged"))));
        if (r < 0)
                return r;
        r = json_set_fields(internal, JSON_STRING("identity", json_get_string(m, "identity")),
                        JSON_STRING("tools", json_get_string(m, "tools")),
                        JSON_INT("epoch", json_get_int(m, "epoch", 0)),
                        JSON_TAKE("stages", json_object_get(json_get(m, "stages"))));
        if (r < 0)
                return r;
        r = add_array(list, json_get(recipe, "sources"), "path");
        for (size_t i = 0; i < p->n && r == 0; i++) {
                const Part *part = p->parts + i;

                if (part->purl) /* what has none was made here */
                        r = add_named(list, part->name, part->url ? part->url : part->purl,
                                        part->sha256);
        }
        return r;
}

static int add_run(json_object *predicate, json_object *m) {
        json_object *run = NULL, *builder = NULL, *version = NULL;

        if (json_add_object(predicate, "runDetails", &run) < 0 ||
                        json_add_object(run, "builder", &builder) < 0 ||
                        json_set_string(builder, "id", BUILDER) < 0 ||
                        json_add_object(builder, "version", &version) < 0)
                return -ENOMEM;
        return json_set_fields(version, JSON_STRING("imgbuild", json_get_string(m, "imgbuild")));
}

int provenance_make(json_object *manifest, const Parts *p, json_object **ret) {
        _cleanup_json_ json_object *d = json_object_new_object();
        json_object *subject = NULL, *predicate = NULL;
        int r;

        if (!d || json_set_string(d, "_type", "https://in-toto.io/Statement/v1") < 0 ||
                        json_add_array(d, "subject", &subject) < 0)
                return -ENOMEM;
        r = add_array(subject, json_get(manifest, "files"), "name");
        if (r < 0)
                return r;
        if (json_set_string(d, "predicateType", "https://slsa.dev/provenance/v1") < 0 ||
                        json_add_object(d, "predicate", &predicate) < 0)
                return -ENOMEM;
        r = add_definition(predicate, manifest, p);
        if (r < 0)
                return r;
        r = add_run(predicate, manifest);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(d);
        return 0;
}
