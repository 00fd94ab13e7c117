/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Questions to dnf's solver about the system that is locked so far. It solves all of it together,
 * with what is locked held still, so that no later stage can want something else. What an index
 * that nobody signed names, rpm has to know for the vendor's by its own signature. */

#include "lock/dnf.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "store/store.h"

#define DATABASE "rpmdb"

json_object *dnf_package_json(const LockedPackage *p) {
        json_object *o = json_object_new_object();

        if (json_set_fields(o, JSON_STRING("name", p->name), JSON_STRING("version", p->version),
                            JSON_STRING("arch", p->arch), JSON_STRING("sha256", p->sha256)) < 0) {
                json_object_put(o);
                return NULL;
        }
        return o;
}

int dnf_pin(Dnf *d, const LockedPackage *package) {
        return json_append(d->pinned, dnf_package_json(package));
}

int dnf_show_rpm(const Dnf *d, const char *sha256) {
        _cleanup_free_ char *blob = store_blob_path(d->ctx->store, sha256),
                            *to = strf("%s/in/rpms/%s.rpm", d->root, sha256);

        if (!blob || !to)
                return -ENOMEM;
        return link(blob, to) < 0 && errno != EEXIST ? -errno : 0;
}

char *dnf_rpm_inside(const char *sha256) {
        return strf(DNF_INSIDE "/rpms/%s.rpm", sha256);
}

int dnf_offer_locked(Dnf *d, const Lock *old) {
        d->old = old;
        for (size_t i = 0; i < old->n_stages; i++)
                for (size_t k = 0; k < old->stages[i].n_packages; k++) {
                        const char *sha256 = old->stages[i].packages[k].sha256;
                        _cleanup_free_ char *path = dnf_rpm_inside(sha256);
                        int r;

                        if (!path)
                                return log_oom();
                        if (!store_has_blob(d->ctx->store, sha256))
                                continue;
                        r = dnf_show_rpm(d, sha256);
                        if (r < 0 || json_set_string(d->offered, sha256, path) < 0)
                                return log_error_errno(r < 0 ? r : -ENOMEM,
                                                "Cannot show dnf what is locked");
                }
        return 0;
}

int dnf_install(Dnf *d, const LockedStage *s) {
        for (size_t i = 0; i < s->n_packages; i++)
                if (json_append(d->before, dnf_package_json(s->packages + i)) < 0)
                        return log_oom();
        return 0;
}

int dnf_install_database(Dnf *d, const char *path) {
        _cleanup_free_ char *to = path_join(d->root, "in/" DATABASE);

        if (!to)
                return log_oom();
        if (link(path, to) < 0)
                return log_error_errno(-errno, "Cannot show dnf what the base image has");
        d->database = true;
        return 0;
}

static int append_names(json_object *list, char *const *names) {
        STRV_FOREACH (name, names)
                if (json_append(list, json_object_new_string(*name)) < 0)
                        return -ENOMEM;
        return 0;
}

static int add_names(const Dnf *d, char *const *packages, json_object *question) {
        json_object *repositories, *modules, *names;

        if (json_add_array(question, "repositories", &repositories) < 0 ||
                        json_add_array(question, "modules", &modules) < 0 ||
                        json_add_array(question, "packages", &names) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < d->n_repositories; i++) {
                const DnfRepository *q = d->repositories + i;

                if (q->enabled && (append_names(repositories, ARGV(q->repository->name)) < 0 ||
                                                  append_names(modules, q->modules) < 0))
                        return -ENOMEM;
        }
        return append_names(names, packages);
}

int dnf_question(const Dnf *d, char *const *packages, json_object **ret) {
        const char *release = d->recipe->base.release;
        _cleanup_free_ char *platform =
                        strf("platform:el%.*s", (int) strcspn(release, "."), release);
        _cleanup_json_ json_object *o = json_object_new_object();

        if (!platform || !o ||
                        json_set_fields(o, JSON_STRING("release", release),
                                        JSON_STRING("platform", platform),
                                        JSON_STRING("database", d->database ? DNF_INSIDE
                                                                                "/" DATABASE
                                                                            : NULL),
                                        JSON_STRING("folder", DNF_INSIDE "/repositories"),
                                        JSON_STRING("cache", "/run/imgbuild/out/cache"),
                                        JSON_TAKE("before", json_object_get(d->before)),
                                        JSON_TAKE("pinned", json_object_get(d->pinned)),
                                        JSON_TAKE("offered", json_object_get(d->offered))) < 0 ||
                        add_names(d, packages, o) < 0)
                return -ENOMEM;
        *ret = TAKE_PTR(o);
        return 0;
}

/* The old lock's, where it came from then: the program knows it as a file alone. */
static const LockedPackage *find_offered(const Lock *old, const char *sha256) {
        for (size_t i = 0; old && i < old->n_stages; i++)
                for (size_t k = 0; k < old->stages[i].n_packages; k++)
                        if (streq(old->stages[i].packages[k].sha256, sha256))
                                return old->stages[i].packages + k;
        return NULL;
}

static int take_package(
                const Dnf *d, const char *id, json_object *o, const Lock *l, LockedStage *s) {
        const char *sha256 = json_get_string(o, "sha256");
        const LockedPackage *before = sha256 ? find_offered(d->old, sha256) : NULL;
        const LockedPackage p = {
                .name = (char *) json_get_string(o, "name"),
                .version = (char *) json_get_string(o, "version"),
                .arch = (char *) json_get_string(o, "arch"),
                .origin = (char *) json_get_string(o, "origin"),
                .path = (char *) json_get_string(o, "path"),
                .sha256 = (char *) sha256,
                .kernel = (char *) json_get_string(o, "kernel"),
                .size = (uint64_t) json_get_int(o, "size", 0),
        };

        if (before && p.origin && !lock_find_origin(l, p.origin) &&
                        lock_find_origin(l, before->origin))
                return locked_stage_add(s, before) < 0 ? log_oom() : 0;
        if (!p.name || !p.version || !p.arch || !p.origin || !p.path || !p.sha256 ||
                        !lock_name_valid(p.name) || !lock_version_valid(p.version) ||
                        !lock_name_valid(p.arch) || !lock_path_valid(p.path) ||
                        !digest_valid(p.sha256) || (p.kernel && !lock_name_valid(p.kernel)) ||
                        !lock_find_origin(l, p.origin)) {
                log_error("Stage %s: a repository names a package that cannot be locked: %s", id,
                                json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
                return -EBADMSG;
        }
        return locked_stage_add(s, &p) < 0 ? log_oom() : 0;
}

/* The packages of one repository whose index is not signed, fetched, as files to ask about. */
static int show_unsigned(const Dnf *d, const DnfRepository *q, const Lock *l, const LockedStage *s,
                json_object *files) {
        _cleanup_free_ LockedPackage *packages = calloc(s->n_packages + 1, sizeof(*packages));
        LockedStage its = { .packages = packages };
        int r;

        if (!packages)
                return log_oom();
        for (size_t i = 0; i < s->n_packages; i++)
                if (dnf_find_repository(d, s->packages[i].origin) == q)
                        packages[its.n_packages++] = s->packages[i];
        r = fetch_packages(d->ctx, d->recipe, l, &its, "resolve");
        if (r < 0)
                return r;
        for (size_t i = 0; i < its.n_packages; i++) {
                _cleanup_free_ char *path = dnf_rpm_inside(packages[i].sha256);

                r = path ? dnf_show_rpm(d, packages[i].sha256) : -ENOMEM;
                if (r < 0 || json_append(files, json_object_new_string(path)) < 0)
                        return log_error_errno(r < 0 ? r : -ENOMEM, "%s cannot be verified",
                                        packages[i].name);
        }
        return 0;
}

static int log_unsigned(const DnfRepository *q, const LockedStage *s, json_object *wrong) {
        const char *file = json_get_string(wrong, "file"), *why = json_get_string(wrong, "why");
        const char *name = "a package";

        for (size_t i = 0; i < s->n_packages; i++)
                if (file && strstr(file, s->packages[i].sha256))
                        name = s->packages[i].name;
        log_error("Repository %s: %s is not signed by the pinned key %s, nor is the repository's index:\n%s",
                        q->repository->name, name, q->repository->fingerprint, strempty(why));
        return -EBADMSG;
}

static int write_key(const Dnf *d, const DnfRepository *q, const Lock *l) {
        const LockedOrigin *origin = lock_find_origin(l, q->repository->name);
        _cleanup_free_ char *text = NULL, *path = path_join(d->root, "in/key.asc");
        int r;

        if (!origin || !path)
                return -ENOMEM;
        r = locked_key_armour(origin, &text);
        return r < 0 ? r : write_file_atomic(path, text, strlen(text), 0644);
}

static int check_signatures(const Dnf *d, const DnfRepository *q, const char *about, const Lock *l,
                const LockedStage *s) {
        _cleanup_json_ json_object *question = json_object_new_object(), *answer = NULL;
        json_object *files, *wrong;
        int r;

        if (!question || json_set_string(question, "key", DNF_INSIDE "/key.asc") < 0 ||
                        json_add_array(question, "files", &files) < 0)
                return log_oom();
        r = show_unsigned(d, q, l, s, files);
        if (r < 0 || json_array_length(files) == 0)
                return r;
        r = write_key(d, q, l);
        if (r < 0)
                return log_error_errno(r, "The key of repository %s cannot be written",
                                q->repository->name);
        r = dnf_ask(d, about, "signed", TAKE_PTR(question), &answer);
        if (r < 0)
                return r;
        wrong = json_get(answer, "wrong");
        if (!json_object_is_type(wrong, json_type_array))
                return log_error_return(
                                -EBADMSG, "%s: rpm does not say whose its packages are", about);
        return json_array_length(wrong) == 0
                               ? 0
                               : log_unsigned(q, s, json_object_array_get_idx(wrong, 0));
}

static int append_profiles(json_object *list, const Repository *repositories, size_t n) {
        for (size_t i = 0; i < n; i++)
                STRV_FOREACH (module, repositories[i].modules)
                        if (strchr(*module, '/') && append_names(list, ARGV(*module)) < 0)
                                return -ENOMEM;
        return 0;
}

/* A module's profile stands for packages: of the stage whose repository names it. */
static int add_profiles(const Dnf *d, const PackageRequest *q, json_object *question) {
        const Recipe *recipe = d->recipe;
        json_object *list;

        if (json_add_array(question, "profiles", &list) < 0)
                return -ENOMEM;
        if (q->throwaway)
                return 0;
        if (q->overlay)
                return append_profiles(list, q->overlay->repositories, q->overlay->n_repositories);
        if (!streq(q->id, "base"))
                return 0;
        return append_profiles(list, recipe->base.repositories, recipe->base.n_repositories);
}

int dnf_solve(Dnf *d, const PackageRequest *q, char *const *packages, const Lock *l,
                LockedStage *s) {
        _cleanup_json_ json_object *question = NULL, *answer = NULL;
        _cleanup_free_ char *about = strf("Stage %s", q->id);
        json_object *list;
        int r;

        if (!about || dnf_question(d, packages, &question) < 0 || add_profiles(d, q, question) < 0)
                return log_oom();
        r = dnf_ask(d, about, "solve", TAKE_PTR(question), &answer);
        if (r < 0)
                return r;
        list = json_get(answer, "packages");
        for (size_t i = 0; i < json_array_length(list); i++) {
                r = take_package(d, q->id, json_object_array_get_idx(list, i), l, s);
                if (r < 0)
                        return r;
        }
        locked_stage_sort(s);
        for (size_t i = 0; i < d->n_repositories; i++) {
                if (d->repositories[i].signed_index)
                        continue;
                r = check_signatures(d, d->repositories + i, about, l, s);
                if (r < 0)
                        return r;
        }
        return 0;
}
