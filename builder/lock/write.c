/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Lock files out. json-c's pretty form would spread a package over nine lines; with one a line,
 * `git diff` of a lock reads like the list of what moved. */

#include "shared/file-util.h"
#include "lock/internal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

/* One object a line, keys in the order of the calls. */
static json_object *object(const char *const keys[], const char *const values[], size_t n) {
        _cleanup_json_ json_object *o = json_object_new_object();

        for (size_t i = 0; o && i < n; i++)
                if (json_set_string(o, keys[i], values[i]) < 0)
                        return NULL;
        return TAKE_PTR(o);
}

static int put_line(FILE *f, const char *indent, json_object *o, bool last) {
        if (!o)
                return -ENOMEM;
        fprintf(f, "%s%s%s\n", indent,
                        json_object_to_json_string_ext(o,
                                        JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE),
                        last ? "" : ",");
        return 0;
}

static int put_package(FILE *f, const LockedPackage *p, bool last) {
        static const char *const keys[] = { "name", "version", "arch", "origin", "path" };
        const char *const values[] = { p->name, p->version, p->arch, p->origin, p->path };
        _cleanup_json_ json_object *o = object(keys, values, ELEMENTSOF(keys));

        if (!o || json_set_int(o, "size", (int64_t) p->size) < 0 ||
                        json_set_string(o, "sha256", p->sha256) < 0 ||
                        json_set_string(o, "kernel", p->kernel) < 0)
                return -ENOMEM;
        return put_line(f, "        ", o, last);
}

static int put_artifact(FILE *f, const LockedArtifact *a, bool last) {
        static const char *const keys[] = { "overlay", "name", "version", "url" };
        const char *const values[] = { a->overlay, a->name, a->version, a->url };
        _cleanup_json_ json_object *o = object(keys, values, ELEMENTSOF(keys));

        if (!o || json_set_int(o, "size", (int64_t) a->size) < 0 ||
                        json_set_string(o, "sha256", a->sha256) < 0)
                return -ENOMEM;
        return put_line(f, "    ", o, last);
}

static int put_wheel(FILE *f, const LockedWheel *w, bool last) {
        static const char *const keys[] = { "name", "version", "file", "licence", "role" };
        const char *const values[] = { w->name, w->version, w->file, w->licence, w->role };
        _cleanup_json_ json_object *o = object(keys, values, ELEMENTSOF(keys));

        if (!o || json_set_int(o, "size", (int64_t) w->size) < 0 ||
                        json_set_string(o, "sha256", w->sha256) < 0)
                return -ENOMEM;
        return put_line(f, "        ", o, last);
}

/* Left out where there are none: most locks have no Python of their own. */
static int put_environments(FILE *f, const Lock *l) {
        for (size_t i = 0; i < l->n_environments; i++) {
                const LockedEnvironment *e = l->environments + i;

                fprintf(f,
                                "%s    {\n      \"environment\": \"%s\",\n      \"request\": \"%s\",\n"
                                "      \"target\": \"%s\",\n      \"wheels\": [\n",
                                i == 0 ? ",\n  \"python\": [\n" : ",\n", e->path, e->request,
                                e->target);
                for (size_t k = 0; k < e->n_wheels; k++) {
                        int r = put_wheel(f, e->wheels + k, k + 1 == e->n_wheels);

                        if (r < 0)
                                return r;
                }
                fputs("      ]\n    }", f);
        }
        fputs(l->n_environments > 0 ? "\n  ]\n" : "\n", f);
        return 0;
}

/* Only where the base is one. */
static int put_image(FILE *f, const LockedImage *i) {
        static const char *const keys[] = { "name", "root", "signed_by", "distro", "release",
                "kernel", "status" };
        const char *const values[] = { i->name, i->root, i->signed_by, i->distro, i->release,
                i->kernel, i->status };
        _cleanup_json_ json_object *o = NULL;

        if (!i->name)
                return 0;
        o = object(keys, values, ELEMENTSOF(keys));
        if (!o || json_set_fields(o, JSON_INT("newest", i->newest), JSON_INT("size", i->size),
                                  JSON_STRING("sha256", i->sha256)) < 0)
                return -ENOMEM;
        return put_line(f, "  \"image\": ", o, false);
}

static int put_lock(FILE *f, const Lock *l) {
        static const char *const origin_keys[] = { "name", "uri", "suite", "fingerprint", "key" };
        int r = 0;

        fprintf(f, "{\n  \"version\": %d,\n  \"recipe\": \"%s\",\n  \"epoch\": %" PRId64 ",\n",
                        LOCK_VERSION, l->recipe, l->epoch);
        r = put_image(f, &l->image);
        fputs("  \"origins\": [\n", f);
        for (size_t i = 0; i < l->n_origins && r == 0; i++) {
                const LockedOrigin *origin = l->origins + i;
                const char *const values[] = { origin->name, origin->uri, origin->suite,
                        origin->fingerprint, origin->key };
                _cleanup_json_ json_object *o =
                                object(origin_keys, values, ELEMENTSOF(origin_keys));

                r = put_line(f, "    ", o, i + 1 == l->n_origins);
        }
        fputs("  ],\n  \"stages\": [\n", f);
        for (size_t i = 0; i < l->n_stages && r == 0; i++) {
                const LockedStage *s = l->stages + i;

                fprintf(f, "    {\n      \"id\": \"%s\",\n      \"request\": \"%s\",\n      \"packages\": [\n",
                                s->id, s->request);
                for (size_t k = 0; k < s->n_packages && r == 0; k++)
                        r = put_package(f, s->packages + k, k + 1 == s->n_packages);
                fprintf(f, "      ]\n    }%s\n", i + 1 == l->n_stages ? "" : ",");
        }
        fputs("  ],\n  \"artifacts\": [\n", f);
        for (size_t i = 0; i < l->n_artifacts && r == 0; i++)
                r = put_artifact(f, l->artifacts + i, i + 1 == l->n_artifacts);
        fputs("  ]", f);
        if (r < 0)
                return r;
        r = put_environments(f, l);
        fputs("}\n", f);
        return r;
}

int lock_to_text(const Lock *l, char **ret) {
        _cleanup_free_ char *text = NULL;
        size_t size = 0;
        FILE *f = open_memstream(&text, &size);
        int r;

        if (!f)
                return -ENOMEM;
        r = put_lock(f, l);
        if (fclose(f) != 0)
                r = -ENOMEM;
        if (r < 0)
                return r;
        *ret = TAKE_PTR(text);
        return 0;
}

int lock_write(const Lock *l, const char *path) {
        _cleanup_free_ char *text = NULL;
        int r;

        r = lock_to_text(l, &text);
        if (r < 0)
                return r;
        return write_file_durable(path, text, strlen(text), 0644);
}

int lock_probe(const char *path) {
        _cleanup_free_ char *folder = strdup(path);

        if (!folder)
                return -ENOMEM;
        /* The nearest folder that is there: the others will be made. */
        for (char *slash; (slash = strrchr(folder, '/'));) {
                *slash = '\0';
                if (access(folder[0] ? folder : "/", F_OK) >= 0)
                        return faccessat(AT_FDCWD, folder[0] ? folder : "/", W_OK | X_OK,
                                               AT_EACCESS) < 0
                                               ? -errno
                                               : 0;
                if (errno != ENOENT)
                        return -errno;
        }
        return faccessat(AT_FDCWD, ".", W_OK | X_OK, AT_EACCESS) < 0 ? -errno : 0;
}
