/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "overlay.h"
#include "file-util.h"
#include "keys.h"
#include "overlay-tree.h"
#include "suggest.h"

#include <ctype.h>
#include <dirent.h>
#include <sys/stat.h>

/* What the parsing functions below share. */
typedef struct Loading {
        Problems *problems;
        const OverlayContext *ctx;
        const char *family; /* key of the family's lists: "debian", "el" */
        const char *dir;    /* of ctx->dirs, where the overlay was found */
        const char *file;   /* overlay.json as messages show it */
        Overlay *overlay;
} Loading;

static int copy_string(json_object *o, const char *key, char **ret) {
        const char *s = json_get_string(o, key);

        if (s && !(*ret = strdup(s)))
                return -ENOMEM;
        return 0;
}

static size_t list_length(json_object *list) {
        return json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

/* The list `key` of o, room for its structs in *ret_items; *ret_n counts up as they are filled. */
static int begin_list(json_object *o, const char *key, size_t size, void *ret_items,
                json_object **ret_list) {
        json_object *list = json_get(o, key);
        void *items = calloc(list_length(list) + 1, size);

        if (!items)
                return -ENOMEM;
        *(void **) ret_items = items;
        *ret_list = list;
        return 0;
}

static char *resolve_script(const Loading *l, const char *path, const char *relative) {
        TreePlace at = {.problems = l->problems, .file = l->file, .path = path};

        return overlay_resolve_script(&at, l->overlay->path, relative);
}

static int load_repositories(const Loading *l, json_object *o) {
        Overlay *overlay = l->overlay;
        json_object *list;
        int r;

        r = begin_list(json_get(o, "repositories"), l->family, sizeof(Repository),
                        &overlay->repositories, &list);
        if (r < 0)
                return r;
        for (size_t i = 0; i < list_length(list); i++) {
                json_object *item = json_object_array_get_idx(list, i);
                Repository *to = &overlay->repositories[overlay->n_repositories];
                _cleanup_free_ char *path = strf("$.repositories.%s[%zu].key", l->family, i),
                                    *key = NULL;
                char *write;

                if (!item)
                        continue;
                if (!path)
                        return -ENOMEM;
                overlay->n_repositories++;
                if (copy_string(item, "name", &to->name) < 0 ||
                                copy_string(item, "uri", &to->uri) < 0 ||
                                copy_string(item, "suite", &to->suite) < 0 ||
                                copy_string(item, "key", &to->key) < 0 ||
                                copy_string(item, "fingerprint", &to->fingerprint) < 0 ||
                                schema_get_strv(item, "components", &to->components) < 0)
                        return -ENOMEM;
                to->keep = json_get_bool(item, "keep", true);

                write = to->fingerprint;
                for (const char *c = to->fingerprint; *c; c++)
                        if (*c != ' ')
                                *write++ = (char) toupper((unsigned char) *c);
                *write = '\0';

                if (!strstr(to->key, "://")) {
                        TreePlace at = {.problems = l->problems, .file = l->file, .path = path};
                        key = overlay_resolve(&at, overlay->path, to->key, false);
                }
        }
        return 0;
}

/* Expands ${version} and ${arch}; anything else in ${} is reported, and *ret stays NULL. */
static int expand_url(const Loading *l, const char *path, const char *url, const char *version,
                char **ret) {
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
                const char *wrong = check_url(text);

                if (!wrong)
                        *ret = TAKE_PTR(text);
                else
                        problems_add(l->problems, l->file, path, "\"%.100s\" %s", text, wrong);
        }
        return 0;
}

static int load_install(const Loading *l, const char *path, json_object *install, Artifact *to) {
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

static int load_artifacts(const Loading *l, json_object *o) {
        Overlay *overlay = l->overlay;
        json_object *list;
        int r;

        r = begin_list(o, "artifacts", sizeof(Artifact), &overlay->artifacts, &list);
        if (r < 0)
                return r;
        for (size_t i = 0; i < list_length(list); i++) {
                json_object *item = json_object_array_get_idx(list, i);
                Artifact *to = &overlay->artifacts[overlay->n_artifacts];
                _cleanup_free_ char *url = strf("$.artifacts[%zu].url", i);
                _cleanup_free_ char *install = strf("$.artifacts[%zu].install", i);

                if (!url || !install)
                        return -ENOMEM;
                if (!item)
                        continue;
                overlay->n_artifacts++;
                if (copy_string(item, "name", &to->name) < 0 ||
                                copy_string(item, "version", &to->version) < 0 ||
                                copy_string(item, "sha256", &to->sha256) < 0 ||
                                expand_url(l, url, json_get_string(item, "url"), to->version,
                                                &to->url) < 0 ||
                                load_install(l, install, json_get(item, "install"), to) < 0)
                        return -ENOMEM;
                for (size_t k = 0; k + 1 < overlay->n_artifacts; k++)
                        if (streq(overlay->artifacts[k].name, to->name))
                                problems_add(l->problems, l->file, url,
                                                "two artifacts of this overlay are called \"%s\"",
                                                to->name);
        }
        return 0;
}

/* imgbuild's own firstboot/ folder: beside overlays/ in a checkout, else where it was installed. */
static char *find_firstboot(const Loading *l) {
        _cleanup_free_ char *beside = strf("%s/../firstboot", l->dir), *real = NULL;
        struct stat st;

        if (!beside)
                return NULL;
        real = realpath(beside, NULL);
        if (!real)
                real = realpath(DATADIR "/firstboot", NULL);
        return real && stat(real, &st) >= 0 && S_ISDIR(st.st_mode) ? TAKE_PTR(real) : NULL;
}

static int load_compile(const Loading *l, json_object *o) {
        Overlay *overlay = l->overlay;
        json_object *list;
        int r;

        r = begin_list(o, "compile", sizeof(Compile), &overlay->compile, &list);
        if (r < 0)
                return r;
        for (size_t i = 0; i < list_length(list); i++) {
                json_object *item = json_object_array_get_idx(list, i);
                const char *source = json_get_string(item, "source");
                Compile *to = &overlay->compile[overlay->n_compile];
                _cleanup_free_ char *source_path = strf("$.compile[%zu].source", i);
                _cleanup_free_ char *script_path = strf("$.compile[%zu].script", i);
                TreePlace at = {.problems = l->problems, .file = l->file, .path = source_path};

                if (!source_path || !script_path)
                        return -ENOMEM;
                if (!item)
                        continue;
                overlay->n_compile++;
                if (schema_get_strv(json_get(item, "packages"), l->family, &to->packages) < 0)
                        return -ENOMEM;
                to->script = resolve_script(l, script_path, json_get_string(item, "script"));
                if (source && streq(source, "imgbuild:firstboot")) {
                        to->source = find_firstboot(l);
                        if (!to->source)
                                problems_add(l->problems, l->file, source_path,
                                                "there is no firstboot/ beside %s and none "
                                                "in " DATADIR,
                                                l->dir);
                } else if (source) {
                        to->source = overlay_resolve(&at, overlay->path, source, true);
                        if (to->source)
                                tree_check(&at, overlay->path, source, false);
                }
        }
        return 0;
}

static int load_run(const Loading *l, json_object *o) {
        Overlay *overlay = l->overlay;
        json_object *list;
        int r;

        r = begin_list(o, "run", sizeof(Run), &overlay->run, &list);
        if (r < 0)
                return r;
        for (size_t i = 0; i < list_length(list); i++) {
                json_object *item = json_object_array_get_idx(list, i);
                bool plain = json_object_is_type(item, json_type_string);
                _cleanup_free_ char *path = strf(plain ? "$.run[%zu]" : "$.run[%zu].script", i);
                Run *to = &overlay->run[overlay->n_run];

                if (!path)
                        return -ENOMEM;
                if (!item)
                        continue;
                overlay->n_run++;
                to->script = resolve_script(l, path,
                                plain ? json_object_get_string(item)
                                      : json_get_string(item, "script"));
                to->early = json_get_bool(item, "early", false);
                to->network = json_get_bool(item, "network", false);
        }
        return 0;
}

static int load_checks(const Loading *l, json_object *o) {
        json_object *list = json_get(o, "checks");

        for (size_t i = 0; i < list_length(list); i++) {
                json_object *item = json_object_array_get_idx(list, i);
                _cleanup_free_ char *path = strf("$.checks[%zu]", i), *script = NULL;

                if (!path)
                        return -ENOMEM;
                if (!item)
                        continue;
                script = resolve_script(l, path, json_object_get_string(item));
                if (script && strv_push(&l->overlay->checks, TAKE_PTR(script)) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int load_files(const Loading *l, json_object *o) {
        _cleanup_free_ char *files = path_join(l->overlay->path, "files");
        TreePlace at = {.problems = l->problems, .file = l->file};
        json_object *modes = json_get(o, "modes");
        struct stat st;

        if (!files)
                return -ENOMEM;
        l->overlay->has_files = lstat(files, &st) >= 0;
        if (l->overlay->has_files)
                tree_check(&at, l->overlay->path, "files", true);
        if (!modes)
                return 0;
        json_object_object_foreach(modes, key, value) {
                _cleanup_free_ char *target = path_join(files, key),
                                    *path = schema_path("$.modes", key);
                _cleanup_free_ char *real = NULL;

                if (!target || !path)
                        return -ENOMEM;
                /* Whoever sets the mode must not be led through a link to somewhere else. */
                real = realpath(target, NULL);
                if (lstat(target, &st) < 0)
                        problems_add(l->problems, l->file, path, "there is no files/%.200s", key);
                else if (!streq_ptr(real, target))
                        problems_add(l->problems, l->file, path,
                                        "files/%.200s is, or goes through, a link; a link has no "
                                        "mode \"%s\"",
                                        key, json_object_get_string(value));
        }
        l->overlay->modes = json_object_get(modes);
        return 0;
}

/* systemctl would do both in turn, and the last one would win without a word. */
static void check_services(const Loading *l, const Services *s) {
        STRV_FOREACH(unit, s->enable)
                if (strv_contains(s->disable, *unit) || strv_contains(s->mask, *unit))
                        problems_add(l->problems, l->file, "$.services",
                                        "%s is to be enabled and %s", *unit,
                                        strv_contains(s->mask, *unit) ? "masked" : "disabled");
}

static int load_lists(const Loading *l, json_object *o) {
        Overlay *overlay = l->overlay;
        json_object *services = json_get(o, "services");

        if (copy_string(o, "description", &overlay->description) < 0 ||
                        schema_get_strv(o, "requires", &overlay->requires) < 0 ||
                        schema_get_strv(o, "conflicts", &overlay->conflicts) < 0 ||
                        schema_get_strv(json_get(o, "packages"), l->family, &overlay->packages) <
                                        0 ||
                        schema_get_strv(services, "enable", &overlay->services.enable) < 0 ||
                        schema_get_strv(services, "disable", &overlay->services.disable) < 0 ||
                        schema_get_strv(services, "mask", &overlay->services.mask) < 0)
                return -ENOMEM;
        check_services(l, &overlay->services);
        overlay->node = json_object_get(json_get(o, "node"));
        return 0;
}

/* The folder of `name` in the first of dirs that has one: its path as the person would write it. */
static int find_overlay(
                char *const *dirs, const char *name, const char **ret_dir, char **ret_folder) {
        STRV_FOREACH(dir, dirs) {
                _cleanup_free_ char *folder = path_join(*dir, name);
                struct stat st;

                if (!folder)
                        return -ENOMEM;
                if (stat(folder, &st) >= 0 && S_ISDIR(st.st_mode)) {
                        *ret_dir = *dir;
                        *ret_folder = TAKE_PTR(folder);
                        return 0;
                }
        }
        return -ENOENT;
}

int overlay_load(Problems *p, const OverlayContext *ctx, const char *name, Overlay **ret,
                char **ret_file) {
        _cleanup_overlay_free_ Overlay *overlay = NULL;
        _cleanup_free_ char *folder = NULL, *file = NULL;
        _cleanup_json_ json_object *o = NULL;
        const char *dir;
        int r;

        r = find_overlay(ctx->dirs, name, &dir, &folder);
        if (r < 0)
                return r;
        file = path_join(folder, "overlay.json");
        overlay = calloc(1, sizeof(*overlay));
        if (!file || !overlay)
                return -ENOMEM;
        r = schema_load(p, file, &o);
        if (r == -ENOENT)
                problems_add(p, folder, NULL, "there is no overlay.json in it");
        if (r < 0)
                return r == -ENOENT ? -EINVAL : r;
        schema_validate(p, file, overlay_keys, o, false);

        overlay->name = strdup(name);
        overlay->path = realpath(folder, NULL);
        if (!overlay->name || !overlay->path)
                return -ENOMEM;

        Loading l = {
                        .problems = p,
                        .ctx = ctx,
                        .family = ctx->family == FAMILY_EL ? "el" : "debian",
                        .dir = dir,
                        .file = file,
                        .overlay = overlay,
        };
        static int (*const loaders[])(const Loading *, json_object *) = {
                        load_lists,
                        load_repositories,
                        load_artifacts,
                        load_compile,
                        load_files,
                        load_run,
                        load_checks,
        };
        for (size_t i = 0; i < ELEMENTSOF(loaders); i++) {
                r = loaders[i](&l, o);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(overlay);
        *ret_file = TAKE_PTR(file);
        return 0;
}

int overlay_names(char *const *dirs, char ***ret) {
        _cleanup_strv_free_ char **names = NULL;

        STRV_FOREACH(dir, dirs) {
                DIR *d = opendir(*dir);
                bool full = false;

                if (!d)
                        continue;
                for (struct dirent *e; !full && (e = readdir(d));) {
                        _cleanup_free_ char *file = strf("%s/%s/overlay.json", *dir, e->d_name);

                        if (file && *e->d_name != '.' && access(file, F_OK) >= 0)
                                full = strv_extend(&names, e->d_name) < 0;
                }
                closedir(d);
                if (full)
                        return -ENOMEM;
        }
        strv_sort(names);
        *ret = TAKE_PTR(names);
        return 0;
}

Overlay *overlay_free(Overlay *o) {
        if (!o)
                return NULL;
        for (size_t i = 0; i < o->n_repositories; i++) {
                Repository *r = &o->repositories[i];
                free(r->name);
                free(r->uri);
                free(r->suite);
                strv_free(r->components);
                free(r->key);
                free(r->fingerprint);
        }
        for (size_t i = 0; i < o->n_artifacts; i++) {
                Artifact *a = &o->artifacts[i];
                free(a->name);
                free(a->version);
                free(a->url);
                free(a->sha256);
                free(a->path);
        }
        for (size_t i = 0; i < o->n_compile; i++) {
                strv_free(o->compile[i].packages);
                free(o->compile[i].source);
                free(o->compile[i].script);
        }
        for (size_t i = 0; i < o->n_run; i++)
                free(o->run[i].script);
        free(o->repositories);
        free(o->artifacts);
        free(o->compile);
        free(o->run);
        free(o->name);
        free(o->path);
        free(o->description);
        strv_free(o->requires);
        strv_free(o->conflicts);
        strv_free(o->packages);
        strv_free(o->services.enable);
        strv_free(o->services.disable);
        strv_free(o->services.mask);
        strv_free(o->checks);
        json_object_put(o->modes);
        json_object_put(o->node);
        free(o);
        return NULL;
}
