/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads those parts of overlay.json that are lists of objects: repositories, artifacts, compile
 * stages, runs. */

#include "recipe/overlay-items.h"
#include "recipe/formats.h"
#include "recipe/overlay-tree.h"
#include "recipe/patterns.h"

#include <sys/stat.h>

int overlay_load_string(json_object *o, const char *key, char **ret) {
        const char *s = json_get_string(o, key);

        if (s && !(*ret = strdup(s)))
                return -ENOMEM;
        return 0;
}

/* Room for as many structs as the list has items; one more, because none is no allocation. */
static void *new_items(json_object *list, size_t size) {
        return calloc(json_array_length(list) + 1, size);
}

char *overlay_load_script(const OverlayLoading *l, const char *path, const char *relative) {
        TreePlace at = { .problems = l->problems, .file = l->file, .path = path };

        return overlay_resolve_script(&at, l->overlay->path, relative);
}

/* Hosts have the distribution's archive in different places; none of them is for an image. */
static void check_kept(const OverlayLoading *l, const Repository *q, const char *path) {
        if (q->keep && !q->uri && streq(l->family, "debian") &&
                        !problems_at(l->problems, l->file, path))
                problems_add(l->problems, l->file, path,
                                "missing: an image cannot keep a repository that lies in the distribution's archive, wherever a host has that; give its place, or \"keep\": false");
}

/* Which release an image is of is known later; what stands for it, here. $(ARCH) is apt's own. */
static void check_variables(const OverlayLoading *l, const char *text, const char *path) {
        static const char variable[] = "${release}";
        bool el = streq(l->family, "el");

        for (const char *s = text; s && (s = strstr(s, el ? "$" : "${"));) {
                const char *behind = el ? startswith(s, variable) : NULL;

                if (!behind) {
                        problems_add(l->problems, l->file, path,
                                        "\"%.60s\" is unknown; there is ${release}, of family el",
                                        s);
                        return;
                }
                s = behind;
        }
}

static int load_repository(
                const OverlayLoading *l, json_object *item, const char *where, Repository *to) {
        _cleanup_free_ char *uri_path = strf("%s.uri", where), *key_path = strf("%s.key", where),
                            *key = NULL;

        if (!uri_path || !key_path || overlay_load_string(item, "name", &to->name) < 0 ||
                        overlay_load_string(item, "uri", &to->uri) < 0 ||
                        overlay_load_string(item, "suite", &to->suite) < 0 ||
                        overlay_load_string(item, "key", &to->key) < 0 ||
                        overlay_load_string(item, "fingerprint", &to->fingerprint) < 0 ||
                        schema_get_strv(item, "components", &to->components) < 0 ||
                        schema_get_strv(item, "modules", &to->modules) < 0)
                return -ENOMEM;
        to->keep = json_get_bool(item, "keep", true);
        check_kept(l, to, uri_path);
        check_variables(l, to->uri, uri_path);
        check_variables(l, to->key, key_path);

        fingerprint_normalize(to->fingerprint);
        if (!strstr(to->key, "://")) {
                TreePlace at = { .problems = l->problems, .file = l->file, .path = key_path };
                key = overlay_resolve(&at, l->overlay->path, to->key, false);
        }
        return 0;
}

int overlay_load_repositories(const OverlayLoading *l, json_object *o) {
        Overlay *overlay = l->overlay;
        json_object *list = json_get(json_get(o, "repositories"), l->family);

        overlay->repositories = new_items(list, sizeof(Repository));
        if (!overlay->repositories)
                return -ENOMEM;
        for (size_t i = 0; i < json_array_length(list); i++) {
                json_object *item = json_object_array_get_idx(list, i);
                _cleanup_free_ char *where = strf("$.repositories.%s[%zu]", l->family, i);
                int r;

                if (!item)
                        continue;
                if (!where)
                        return -ENOMEM;
                r = load_repository(
                                l, item, where, overlay->repositories + overlay->n_repositories++);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Expands ${version} and ${arch}; anything else in ${} is reported, and *ret stays NULL. */
static int expand_url(const OverlayLoading *l, const char *path, const char *url,
                const char *version, char **ret) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);
        bool good = true;

        if (!out)
                return -ENOMEM;
        for (const char *s = url; *s;) {
                const char *end = startswith(s, "${") ? strchr(s, '}') : NULL;

                if (end && strncmp(s, "${version}", (size_t) (end + 1 - s)) == 0)
                        fputs(version, out);
                else if (end && strncmp(s, "${arch}", (size_t) (end + 1 - s)) == 0)
                        fputs(l->ctx->arch, out);
                else if (*s == '$') {
                        problems_add(l->problems, l->file, path,
                                        "\"%.60s\" is unknown; there is ${version} and ${arch}", s);
                        good = false;
                        break;
                } else
                        fputc(*s, out);
                s = end ? end + 1 : s + 1;
        }
        if (fclose(out) != 0)
                return -ENOMEM;
        if (good) {
                const char *wrong = value_url(text);

                if (!wrong)
                        *ret = TAKE_PTR(text);
                else
                        problems_add(l->problems, l->file, path, "\"%.100s\" %s", text, wrong);
        }
        return 0;
}

static int load_install(
                const OverlayLoading *l, const char *path, json_object *install, Artifact *to) {
        const char *file = json_get_string(install, "path"),
                   *unpack = json_get_string(install, "unpack");
        const char *mode = json_get_string(install, "mode");

        to->mode = 0644;
        if (json_object_is_type(install, json_type_string)) {
                to->kind = INSTALL_PACKAGE;
                return 0;
        }
        if (problems_at(l->problems, l->file, path))
                return 0; /* what was wrong is not there any more */
        if (!file == !unpack)
                problems_add(l->problems, l->file, path,
                                "must have either \"path\" (a file) or \"unpack\" (a folder)");
        else if (file && json_get(install, "strip"))
                problems_add(l->problems, l->file, path,
                                "\"strip\" goes with \"unpack\", not with \"path\"");
        else if (unpack && mode)
                problems_add(l->problems, l->file, path,
                                "\"mode\" goes with \"path\", not with \"unpack\"");
        to->kind = file ? INSTALL_FILE : INSTALL_UNPACK;
        if (mode)
                parse_mode(mode, &to->mode);
        to->strip = (unsigned) json_get_int(install, "strip", 0);
        if (file || unpack)
                return (to->path = strdup(file ? file : unpack)) ? 0 : -ENOMEM;
        return 0;
}

/* One string for all families, or an object with one for each; NULL: this one has none. */
static const char *by_family(const OverlayLoading *l, json_object *item, const char *key) {
        json_object *value = json_get(item, key);

        return json_object_is_type(value, json_type_object) ? json_get_string(value, l->family)
                                                            : json_get_string(item, key);
}

/* "url": {"debian": false}: the family has by its packages what others get by the artifact. */
static bool is_for_others(const OverlayLoading *l, json_object *item) {
        return !json_get_bool(json_get(item, "url"), l->family, true);
}

/* What all artifacts have; `at`: their list's path. */
static int load_artifact(const OverlayLoading *l, const char *at, size_t i, json_object *item,
                Artifact *to) {
        Overlay *overlay = l->overlay;
        _cleanup_free_ char *url = strf("%s[%zu].url", at, i);
        const char *from, *sha256;

        if (!url || overlay_load_string(item, "name", &to->name) < 0 ||
                        overlay_load_string(item, "version", &to->version) < 0)
                return -ENOMEM;
        from = by_family(l, item, "url");
        sha256 = by_family(l, item, "sha256");
        if (!from && !is_for_others(l, item) && !problems_at(l->problems, l->file, url))
                problems_add(l->problems, l->file, url, "has none for family %s", l->family);
        if ((from && expand_url(l, url, from, to->version, &to->url) < 0) ||
                        (sha256 && !(to->sha256 = strdup(sha256))))
                return -ENOMEM;

        for (const Artifact *other = overlay->artifacts; other < to; other++)
                if (streq(other->name, to->name))
                        problems_add(l->problems, l->file, url,
                                        "two artifacts of this overlay are called \"%s\"",
                                        to->name);
        return 0;
}

static void check_families(const OverlayLoading *l, json_object *item, size_t i) {
        json_object *url = json_get(item, "url");

        if (!json_object_is_type(url, json_type_object))
                return;
        json_object_object_foreach (url, family, value) {
                _cleanup_free_ char *at = strf("$.artifacts[%zu].url.%s", i, family);

                if (!at)
                        l->problems->oom = true;
                else if (json_object_is_type(value, json_type_boolean) &&
                                json_object_get_boolean(value))
                        problems_add(l->problems, l->file, at,
                                        "is true; it is a URL, or false where this family has no use for the artifact");
        }
}

/* compile[at].artifacts, behind the others: the lock has them all alike. */
static int load_sources(const OverlayLoading *l, json_object *compile, size_t at) {
        Overlay *overlay = l->overlay;
        json_object *list = json_get(compile, "artifacts");
        _cleanup_free_ char *path = strf("$.compile[%zu].artifacts", at);

        if (!path)
                return -ENOMEM;
        for (size_t i = 0; i < json_array_length(list); i++) {
                json_object *item = json_object_array_get_idx(list, i);
                Artifact *to = &overlay->artifacts[overlay->n_artifacts];
                int r;

                if (!item)
                        continue;
                overlay->n_artifacts++;
                to->kind = INSTALL_SOURCE;
                to->compile = overlay->n_compile - 1;
                to->strip = (unsigned) json_get_int(item, "strip", 1);
                r = load_artifact(l, path, i, item, to);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Room for those of compile stages too. */
static size_t count_artifacts(json_object *o) {
        json_object *compile = json_get(o, "compile");
        size_t n = json_array_length(json_get(o, "artifacts"));

        for (size_t i = 0; i < json_array_length(compile); i++)
                n += json_array_length(
                                json_get(json_object_array_get_idx(compile, i), "artifacts"));
        return n;
}

int overlay_load_artifacts(const OverlayLoading *l, json_object *o) {
        Overlay *overlay = l->overlay;
        json_object *list = json_get(o, "artifacts");

        overlay->artifacts = calloc(count_artifacts(o) + 1, sizeof(Artifact));
        if (!overlay->artifacts)
                return -ENOMEM;
        for (size_t i = 0; i < json_array_length(list); i++) {
                json_object *item = json_object_array_get_idx(list, i);
                Artifact *to = &overlay->artifacts[overlay->n_artifacts];
                _cleanup_free_ char *install = strf("$.artifacts[%zu].install", i);

                if (!install)
                        return -ENOMEM;
                if (!item)
                        continue;
                overlay->n_artifacts++;
                check_families(l, item, i);
                if (load_artifact(l, "$.artifacts", i, item, to) < 0 ||
                                load_install(l, install, json_get(item, "install"), to) < 0)
                        return -ENOMEM;
                if (is_for_others(l, item)) {
                        artifact_done(to);
                        *to = (Artifact) {};
                        overlay->n_artifacts--;
                }
        }
        return 0;
}

/* imgbuild's own firstboot/ folder: beside overlays/ in a checkout, else where it was installed. */
static char *find_firstboot(const OverlayLoading *l) {
        _cleanup_free_ char *beside = strf("%s/../firstboot", l->dir), *real = NULL;
        struct stat st;

        if (!beside)
                return NULL;
        real = realpath(beside, NULL);
        if (!real)
                real = realpath(DATADIR "/firstboot", NULL);
        return real && stat(real, &st) >= 0 && S_ISDIR(st.st_mode) ? TAKE_PTR(real) : NULL;
}

static CompilePlace compile_place(const char *on) {
        return streq_ptr(on, "base")     ? COMPILE_ON_BASE
               : streq_ptr(on, "python") ? COMPILE_ON_PYTHON
                                         : COMPILE_ON_PACKAGES;
}

int overlay_load_compile(const OverlayLoading *l, json_object *o) {
        Overlay *overlay = l->overlay;
        json_object *list = json_get(o, "compile");

        overlay->compile = new_items(list, sizeof(Compile));
        if (!overlay->compile)
                return -ENOMEM;
        for (size_t i = 0; i < json_array_length(list); i++) {
                json_object *item = json_object_array_get_idx(list, i);
                const char *source = json_get_string(item, "source");
                Compile *to = &overlay->compile[overlay->n_compile];
                _cleanup_free_ char *source_path = strf("$.compile[%zu].source", i);
                _cleanup_free_ char *script_path = strf("$.compile[%zu].script", i);
                _cleanup_free_ char *without_path = strf("$.compile[%zu].without", i);
                TreePlace at = { .problems = l->problems, .file = l->file, .path = source_path };

                if (!source_path || !script_path || !without_path)
                        return -ENOMEM;
                if (!item)
                        continue;
                overlay->n_compile++;
                if (schema_get_strv(json_get(item, "packages"), l->family, &to->packages) < 0 ||
                                schema_get_strv(json_get(item, "without"), l->family,
                                                &to->without) < 0 ||
                                load_sources(l, item, i) < 0)
                        return -ENOMEM;
                if (streq(l->family, "el") && to->without)
                        problems_add(l->problems, l->file, without_path,
                                        "is for Debian and Ubuntu alone: rpm installs nothing whose dependencies are not there");
                to->on = compile_place(by_family(l, item, "on"));
                to->script = overlay_load_script(l, script_path, json_get_string(item, "script"));
                if (source && streq(source, "imgbuild:firstboot")) {
                        to->source = find_firstboot(l);
                        if (!to->source)
                                problems_add(l->problems, l->file, source_path,
                                                "there is no firstboot/ beside %s and none in " DATADIR,
                                                l->dir);
                } else if (source) {
                        to->source = overlay_resolve(&at, overlay->path, source, true);
                        if (to->source)
                                tree_check(&at, overlay->path, source, false);
                }
        }
        return 0;
}

int overlay_load_run(const OverlayLoading *l, json_object *o) {
        Overlay *overlay = l->overlay;
        json_object *list = json_get(o, "run");

        overlay->run = new_items(list, sizeof(Run));
        if (!overlay->run)
                return -ENOMEM;
        for (size_t i = 0; i < json_array_length(list); i++) {
                json_object *item = json_object_array_get_idx(list, i);
                bool plain = json_object_is_type(item, json_type_string);
                _cleanup_free_ char *path = strf(plain ? "$.run[%zu]" : "$.run[%zu].script", i);
                Run *to = &overlay->run[overlay->n_run];

                if (!path)
                        return -ENOMEM;
                if (!item)
                        continue;
                overlay->n_run++;
                to->script = overlay_load_script(l, path,
                                plain ? json_object_get_string(item)
                                      : json_get_string(item, "script"));
                to->early = json_get_bool(item, "early", false);
                to->network = json_get_bool(item, "network", false);
                if (schema_get_strv(item, "secrets", &to->secrets) < 0)
                        return -ENOMEM;
        }
        return 0;
}

/* What this family's environment is filled with. One list for all families, or an object with one
 * for each, of which an empty one says that the overlay fills none there. */
static int load_requirements(const OverlayLoading *l, json_object *python, char ***ret) {
        static const char at[] = "$.python.requirements";
        json_object *given = json_get(python, "requirements");
        bool split = json_object_is_type(given, json_type_object);
        bool said = problems_at(l->problems, l->file, "$.python");
        int r;

        r = split ? schema_get_strv(given, l->family, ret)
                  : schema_get_strv(python, "requirements", ret);
        if (r < 0 || strv_length(*ret) > 0 || said)
                return r;
        if (split && !json_get(given, l->family))
                problems_add(l->problems, l->file, at,
                                "has none for family %s; give its own, or an empty list where the overlay fills no environment there",
                                l->family);
        else if (!split)
                problems_add(l->problems, l->file, at, "is empty: name what is to be installed");
        return 0;
}

int overlay_load_python(const OverlayLoading *l, json_object *o) {
        json_object *python = json_get(o, "python");
        Python *to = &l->overlay->python;
        const char *interpreter;

        if (!python || !json_get_string(python, "environment"))
                return 0; /* where it is missing, that was said */
        if (load_requirements(l, python, &to->requirements) < 0)
                return -ENOMEM;
        if (strv_length(to->requirements) == 0)
                return 0;
        interpreter = by_family(l, python, "interpreter");
        if (overlay_load_string(python, "environment", &to->environment) < 0 ||
                        overlay_load_string(python, "index", &to->index) < 0 ||
                        (interpreter && !(to->interpreter = strdup(interpreter))) ||
                        schema_get_strv(python, "constraints", &to->constraints) < 0)
                return -ENOMEM;
        return 0;
}
