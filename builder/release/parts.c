/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Gathers the manifest's lists (packages, artifacts, wheels …) into one list of parts. */

#include "release/parts.h"
#include "common/rpm-version.h"
#include "recipe/recipe.h"

#include "shared/file-util.h"
#include "shared/strv.h"
#include "store/digest.h"

#include <ctype.h>
#include <time.h>

void parts_done(Parts *p) {
        for (size_t i = 0; i < p->n; i++)
                free(p->parts[i].purl);
        free(p->parts);
        *p = (Parts) {};
}

/* Takes part->purl. */
static int add(Parts *p, const Part *part, const char *id) {
        Part *more;

        if (isempty(part->name) ||
                        (part->kind != PART_IMAGE_PACKAGE && !digest_valid(part->sha256))) {
                free(part->purl);
                return 0;
        }
        more = realloc(p->parts, (p->n + 1) * sizeof(Part));
        if (!more) {
                free(part->purl);
                return -ENOMEM;
        }
        p->parts = more;
        more[p->n] = *part;
        snprintf(more[p->n].id, sizeof(more[p->n].id), "%s-%zu", id, p->n + 1);
        p->n++;
        return 0;
}

/* Percent-encoded as a purl wants it: a colon stays. NULL on out of memory. */
static char *encode(const char *s) {
        char *encoded = malloc(3 * strlen(s) + 1), *to = encoded;

        for (; encoded && *s; s++)
                if (isalnum((unsigned char) *s) || strchr(".-_~:", *s))
                        *to++ = *s;
                else
                        to += sprintf(to, "%%%02X", (unsigned char) *s);
        if (encoded)
                *to = '\0';
        return encoded;
}

/* pkg:TYPE/[NAMESPACE/]NAME@VERSION[QUALIFIERS]; NULL on out of memory. */
static char *make_purl(const char *type, const char *namespace, const char *name,
                const char *version, const char *qualifiers) {
        _cleanup_free_ char *n = encode(strempty(name)), *v = encode(strempty(version)),
                            *s = encode(strempty(namespace));

        if (!n || !v || !s)
                return NULL;
        return strf("pkg:%s/%s%s%s%s%s%s", type, s, *s ? "/" : "", n, *v ? "@" : "", v, qualifiers);
}

static bool has_rpms(json_object *m) {
        Family family;

        return distro_family(strempty(json_get_string(m, "distro")), &family) &&
               family == FAMILY_EL;
}

/* "&upstream=…" as scanners look for it: the source package by which vulnerabilities are recorded,
 * of an RPM as its file is called. "" where the package is its own. */
static char *make_upstream(json_object *m, json_object *o) {
        const char *source = json_get_string(o, "source"),
                   *version = json_get_string(o, "source_version");
        _cleanup_free_ char *name = encode(strempty(source)), *v = encode(strempty(version));

        if (!name || !v)
                return NULL;
        if (!*name)
                return strdup("");
        if (has_rpms(m))
                return strf("&upstream=%s-%s.src.rpm", name, v);
        return strf("&upstream=%s%s%s", name, *v ? "%40" : "", v);
}

/* "?arch=…": of an RPM the epoch goes in here, not into the version. */
static char *make_qualifiers(json_object *m, json_object *o, size_t epoch) {
        _cleanup_free_ char *arch = encode(strempty(json_get_string(o, "arch"))),
                            *release = encode(strempty(json_get_string(m, "release"))),
                            *upstream = make_upstream(m, o);
        const char *distro = json_get_string(m, "distro");

        if (!arch || !release || !upstream)
                return NULL;
        if (!has_rpms(m))
                return strf("?arch=%s&distro=%s%s", arch, release, upstream);
        return epoch > 0 ? strf("?arch=%s&distro=%s-%s&epoch=%.*s%s", arch, distro, release,
                                           (int) epoch, json_get_string(o, "version"), upstream)
                         : strf("?arch=%s&distro=%s-%s%s", arch, distro, release, upstream);
}

static int add_package(Parts *p, json_object *m, json_object *o, PartKind kind) {
        const char *origin = json_get_string(o, "origin"),
                   *version = strempty(json_get_string(o, "version"));
        size_t epoch = has_rpms(m) ? rpm_version_epoch(version) : 0;
        _cleanup_free_ char *qualifiers = make_qualifiers(m, o, epoch);
        Part part = { .kind = kind,
                .name = json_get_string(o, "name"),
                .version = json_get_string(o, "version"),
                .sha256 = json_get_string(o, "sha256"),
                .stage = json_get_string(o, "stage") };

        if (!qualifiers)
                return -ENOMEM;
        part.purl = make_purl(has_rpms(m) ? "rpm" : "deb",
                        origin ? origin : json_get_string(m, "distro"), part.name,
                        has_rpms(m) ? rpm_version_bare(version) : part.version, qualifiers);
        if (!part.purl)
                return -ENOMEM;
        return add(p, &part, "package");
}

static int add_packages(Parts *p, json_object *m, json_object *o) {
        return add_package(p, m, o, PART_PACKAGE);
}

static int add_build_packages(Parts *p, json_object *m, json_object *o) {
        return add_package(p, m, o, PART_BUILD_PACKAGE);
}

static int add_image_packages(Parts *p, json_object *m, json_object *o) {
        return add_package(p, m, o, PART_IMAGE_PACKAGE);
}

/* With a purl of name and version alone. */
static int add_plain(Parts *p, Part *part, const char *type, const char *what) {
        part->purl = make_purl(type, NULL, part->name, part->version, "");
        return part->purl ? add(p, part, what) : -ENOMEM;
}

static int add_artifact(Parts *p, json_object *m _unused_, json_object *o) {
        Part part = { .kind = PART_ARTIFACT,
                .name = json_get_string(o, "name"),
                .version = json_get_string(o, "version"),
                .sha256 = json_get_string(o, "sha256"),
                .stage = json_get_string(o, "overlay"),
                .url = json_get_string(o, "url") };

        return add_plain(p, &part, "generic", "artifact");
}

static int add_wheel(Parts *p, json_object *m _unused_, json_object *o) {
        bool installer = streq_ptr(json_get_string(o, "role"), "installer");
        Part part = { .kind = installer ? PART_BUILD_PACKAGE : PART_WHEEL,
                .name = json_get_string(o, "name"),
                .version = json_get_string(o, "version"),
                .sha256 = json_get_string(o, "sha256"),
                .licence = json_get_string(o, "licence"),
                .path = json_get_string(o, "environment") };

        return add_plain(p, &part, "pypi", "wheel");
}

static int add_compiled(Parts *p, json_object *m _unused_, json_object *o) {
        const char *module = json_get_string(o, "module");
        Part part = { .kind = module ? PART_MODULE : PART_FILE,
                .version = json_get_string(o, "version"),
                .sha256 = json_get_string(o, "sha256"),
                .stage = json_get_string(o, "stage"),
                .path = json_get_string(o, "path") };

        part.name = module ? module : part.path;
        return add(p, &part, module ? "module" : "file");
}

/* The vendor's image that all of it stands on. */
static int add_base_image(Parts *p, json_object *m) {
        json_object *made_with = json_get(m, "base_made_with");
        const char *image = json_get_string(made_with, "image");
        Part part = { .kind = PART_ARTIFACT,
                .name = image ? path_basename(image) : NULL,
                .sha256 = json_get_string(made_with, "sha256"),
                .stage = "base",
                .url = image && strstr(image, "://") ? image : NULL };

        return image ? add_plain(p, &part, "generic", "image") : 0;
}

int parts_read(json_object *manifest, Parts *ret) {
        static const struct {
                const char *key;
                int (*add)(Parts *p, json_object *m, json_object *o);
        } lists[] = {
                { "packages", add_packages },
                { "image_packages", add_image_packages },
                { "artifacts", add_artifact },
                { "python", add_wheel },
                { "compiled", add_compiled },
                { "build_packages", add_build_packages },
        };
        _cleanup_parts_ Parts p = {};
        int r;

        r = add_base_image(&p, manifest);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(lists); i++) {
                json_object *list = json_get(manifest, lists[i].key);
                size_t n = json_array_length(list);

                for (size_t j = 0; j < n; j++) {
                        r = lists[i].add(&p, manifest, json_object_array_get_idx(list, j));
                        if (r < 0)
                                return r;
                }
        }
        *ret = p;
        p = (Parts) {};
        return 0;
}

void parts_time(json_object *manifest, char ret[32]) {
        time_t epoch = (time_t) json_get_int(manifest, "epoch", 0);
        struct tm tm = {};

        /* A stranger's manifest may name a time that no calendar has. */
        if (!gmtime_r(&epoch, &tm) || strftime(ret, 32, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
                snprintf(ret, 32, "1970-01-01T00:00:00Z");
}

/* Version 8 of RFC 9562: digits of one's own, but for version and variant. */
void parts_uuid(json_object *manifest, char ret[37]) {
        json_object *files = json_get(manifest, "files");
        const char *d = json_get_string(json_object_array_get_idx(files, 0), "sha256");

        snprintf(ret, 37, "%.8s-%.4s-8%.3s-8%.3s-%.12s", d, d + 8, d + 12, d + 15, d + 18);
}
