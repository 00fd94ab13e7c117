/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* CycloneDX 1.5: https://cyclonedx.org/docs/1.5/json/. */

#include "release/parts.h"

#include "shared/strv.h"

static int add_hash(json_object *component, const char *sha256) {
        json_object *o = NULL;
        int r;

        r = json_add_array_of_one(component, "hashes", &o);
        if (r < 0)
                return r;
        return json_set_fields(o, JSON_STRING("alg", "SHA-256"), JSON_STRING("content", sha256));
}

static int add_licence(json_object *component, const char *licence) {
        json_object *choice = NULL, *o = NULL;
        int r;

        r = json_add_array_of_one(component, "licenses", &choice);
        if (r < 0)
                return r;
        r = json_add_object(choice, "license", &o);
        if (r < 0)
                return r;
        return json_set_string(o, "name", licence);
}

static int add_url(json_object *component, const char *url) {
        json_object *o = NULL;
        int r;

        r = json_add_array_of_one(component, "externalReferences", &o);
        if (r < 0)
                return r;
        return json_set_fields(o, JSON_STRING("type", "distribution"), JSON_STRING("url", url));
}

static int add_property(json_object *list, const char *name, const char *value) {
        json_object *o = NULL;
        int r;

        if (!value)
                return 0;
        r = json_append_object(list, &o);
        if (r < 0)
                return r;
        return json_set_fields(o, JSON_STRING("name", name), JSON_STRING("value", value));
}

static int add_properties(json_object *component, const Part *p) {
        json_object *list = NULL;
        int r;

        if (!p->stage && !p->path)
                return 0;
        r = json_add_array(component, "properties", &list);
        if (r < 0)
                return r;
        r = add_property(list, "imgbuild:stage", p->stage);
        if (r < 0)
                return r;
        return add_property(list, "imgbuild:path", p->path);
}

static const char *type(const Part *p) {
        switch (p->kind) {
        case PART_MODULE:
                return "device-driver";
        case PART_FILE:
        case PART_ARTIFACT:
                return "file";
        default:
                return "library";
        }
}

static int add_part(json_object *components, const Part *p) {
        json_object *o = NULL;
        int r;

        r = json_append_object(components, &o);
        if (r < 0)
                return r;
        r = json_set_fields(o, JSON_STRING("type", type(p)), JSON_STRING("bom-ref", p->id),
                        JSON_STRING("name", p->name), JSON_STRING("version", p->version),
                        JSON_STRING("scope", part_in_image(p) ? "required" : "excluded"));
        if (r < 0)
                return r;
        r = p->sha256 ? add_hash(o, p->sha256) : 0;
        if (r < 0)
                return r;
        r = p->licence ? add_licence(o, p->licence) : 0;
        if (r < 0)
                return r;
        r = json_set_fields(o, JSON_STRING("purl", p->purl));
        if (r < 0)
                return r;
        r = p->url ? add_url(o, p->url) : 0;
        if (r < 0)
                return r;
        return add_properties(o, p);
}

static int add_tool(json_object *metadata) {
        json_object *tools = NULL, *o = NULL;
        int r;

        r = json_add_object(metadata, "tools", &tools);
        if (r < 0)
                return r;
        r = json_add_array_of_one(tools, "components", &o);
        if (r < 0)
                return r;
        return json_set_fields(o, JSON_STRING("type", "application"),
                        JSON_STRING("name", "imgbuild"), JSON_STRING("version", VERSION));
}

static int add_metadata(json_object *d, json_object *manifest) {
        json_object *o = NULL, *image = NULL;
        char when[32];
        int r;

        parts_time(manifest, when);
        r = json_add_object(d, "metadata", &o);
        if (r < 0)
                return r;
        r = json_set_string(o, "timestamp", when);
        if (r < 0)
                return r;
        r = add_tool(o);
        if (r < 0)
                return r;
        r = json_add_object(o, "component", &image);
        if (r < 0)
                return r;
        return json_set_fields(image, JSON_STRING("type", "operating-system"),
                        JSON_STRING("bom-ref", "image"),
                        JSON_STRING("name", json_get_string(manifest, "name")),
                        JSON_STRING("version", json_get_string(manifest, "identity")));
}

/* What the image has, of which it depends; what only compiled it is a component without that. */
static int add_dependencies(json_object *d, const Parts *p) {
        json_object *o = NULL, *on = NULL;
        int r;

        r = json_add_array_of_one(d, "dependencies", &o);
        if (r < 0)
                return r;
        r = json_set_string(o, "ref", "image");
        if (r < 0)
                return r;
        r = json_add_array(o, "dependsOn", &on);
        for (size_t i = 0; i < p->n && r == 0; i++)
                if (part_in_image(p->parts + i))
                        r = json_append(on, json_object_new_string(p->parts[i].id));
        return r;
}

int cyclonedx_make(json_object *manifest, const Parts *p, json_object **ret) {
        _cleanup_json_ json_object *d = json_object_new_object();
        _cleanup_free_ char *serial = NULL;
        json_object *components = NULL;
        char uuid[37];
        int r;

        parts_uuid(manifest, uuid);
        serial = strf("urn:uuid:%s", uuid);
        if (!d || !serial)
                return -ENOMEM;
        r = json_set_fields(d, JSON_STRING("bomFormat", "CycloneDX"),
                        JSON_STRING("specVersion", "1.5"), JSON_STRING("serialNumber", serial),
                        JSON_INT("version", 1));
        if (r < 0)
                return r;
        r = add_metadata(d, manifest);
        if (r < 0)
                return r;
        r = json_add_array(d, "components", &components);
        for (size_t i = 0; i < p->n && r == 0; i++)
                r = add_part(components, p->parts + i);
        if (r < 0)
                return r;
        r = add_dependencies(d, p);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(d);
        return 0;
}
