/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* SPDX 2.3 (ISO/IEC 5962's successor): https://spdx.github.io/spdx-spec/v2.3/. Licences are not
 * concluded; what a wheel says of its own is a comment, for it is not always an expression of
 * SPDX'. */

#include "release/parts.h"

#include "shared/strv.h"

#define IMAGE "SPDXRef-image"

static int add_checksum(json_object *package, const char *sha256) {
        json_object *o = NULL;
        int r;

        r = json_add_array_of_one(package, "checksums", &o);
        if (r < 0)
                return r;
        return json_set_fields(o, JSON_STRING("algorithm", "SHA256"),
                        JSON_STRING("checksumValue", sha256));
}

static int add_purl(json_object *package, const char *purl) {
        json_object *o = NULL;
        int r;

        r = json_add_array_of_one(package, "externalRefs", &o);
        if (r < 0)
                return r;
        return json_set_fields(o, JSON_STRING("referenceCategory", "PACKAGE-MANAGER"),
                        JSON_STRING("referenceType", "purl"),
                        JSON_STRING("referenceLocator", purl));
}

static const char *purpose(const Part *p) {
        switch (p->kind) {
        case PART_MODULE:
        case PART_FILE:
                return "FILE";
        case PART_ARTIFACT:
                return "ARCHIVE";
        default:
                return "INSTALL";
        }
}

static int set_package(json_object *o, const char *id, const char *name, const char *version,
                const char *purpose_name, const char *url, const char *file, const char *comment) {
        return json_set_fields(o, JSON_STRING("SPDXID", id), JSON_STRING("name", name),
                        JSON_STRING("versionInfo", version), JSON_STRING("packageFileName", file),
                        JSON_STRING("primaryPackagePurpose", purpose_name),
                        JSON_STRING("downloadLocation", url ? url : "NOASSERTION"),
                        JSON_BOOL("filesAnalyzed", false),
                        JSON_STRING("licenseConcluded", "NOASSERTION"),
                        JSON_STRING("licenseDeclared", "NOASSERTION"),
                        JSON_STRING("copyrightText", "NOASSERTION"),
                        JSON_STRING("licenseComments", comment));
}

static int relate(json_object *list, const char *from, const char *how, const char *to) {
        json_object *o = NULL;
        int r = json_append_object(list, &o);

        if (r < 0)
                return r;
        return json_set_fields(o, JSON_STRING("spdxElementId", from),
                        JSON_STRING("relationshipType", how),
                        JSON_STRING("relatedSpdxElement", to));
}

static int add_part(json_object *packages, json_object *relationships, const Part *p) {
        _cleanup_free_ char *id = strf("SPDXRef-%s", p->id),
                            *comment = p->licence ? strf("declared by its metadata: %s", p->licence)
                                                  : NULL;
        json_object *o = NULL;
        int r;

        if (!id || (p->licence && !comment))
                return -ENOMEM;
        r = json_append_object(packages, &o);
        if (r < 0)
                return r;
        r = set_package(o, id, p->name, p->version, purpose(p), p->url, p->path, comment);
        if (r < 0)
                return r;
        r = p->sha256 ? add_checksum(o, p->sha256) : 0;
        if (r < 0)
                return r;
        r = p->purl ? add_purl(o, p->purl) : 0;
        if (r < 0)
                return r;
        return part_in_image(p) ? relate(relationships, IMAGE, "CONTAINS", id)
                                : relate(relationships, id, "BUILD_DEPENDENCY_OF", IMAGE);
}

static int add_creation(json_object *d, json_object *manifest) {
        json_object *o = NULL, *creators = NULL;
        char when[32];
        int r;

        parts_time(manifest, when);
        r = json_add_object(d, "creationInfo", &o);
        if (r < 0)
                return r;
        r = json_set_string(o, "created", when);
        if (r < 0)
                return r;
        r = json_add_array(o, "creators", &creators);
        if (r < 0)
                return r;
        return json_append(creators, json_object_new_string("Tool: imgbuild-" VERSION));
}

int spdx_make(json_object *manifest, const Parts *p, json_object **ret) {
        _cleanup_json_ json_object *d = json_object_new_object();
        json_object *packages = NULL, *relationships = NULL, *image = NULL;
        const char *name = json_get_string(manifest, "name");
        _cleanup_free_ char *namespace = NULL;
        char uuid[37];
        int r;

        parts_uuid(manifest, uuid);
        namespace = strf("urn:uuid:%s", uuid);
        if (!d || !namespace)
                return -ENOMEM;
        r = json_set_fields(d, JSON_STRING("spdxVersion", "SPDX-2.3"),
                        JSON_STRING("dataLicense", "CC0-1.0"),
                        JSON_STRING("SPDXID", "SPDXRef-DOCUMENT"), JSON_STRING("name", name),
                        JSON_STRING("documentNamespace", namespace));
        if (r < 0)
                return r;
        r = add_creation(d, manifest);
        if (r < 0)
                return r;
        if (json_add_array(d, "packages", &packages) < 0 ||
                        json_add_array(d, "relationships", &relationships) < 0 ||
                        json_append_object(packages, &image) < 0)
                return -ENOMEM;
        r = set_package(image, IMAGE, name, json_get_string(manifest, "identity"),
                        "OPERATING-SYSTEM", NULL, NULL, NULL);
        if (r < 0)
                return r;
        r = relate(relationships, "SPDXRef-DOCUMENT", "DESCRIBES", IMAGE);
        for (size_t i = 0; i < p->n && r == 0; i++)
                r = add_part(packages, relationships, p->parts + i);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(d);
        return 0;
}
