/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Package sources in the image, apt's or dnf's: overlays' repositories that stay, and of family el
 * the recipe's. The mirror that a build happened
 * to use is never among them: cloud-init writes the distribution's sources at first boot, for the
 * cloud it finds itself in. */

#include "stage/internal.h"
#include "store/store.h"
#include "sandbox/copy-tree.h"
#include "lock/lock.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

typedef struct Sources {
        char *path; /* in the image */
        char *text;
        char *key_path, *key_file; /* in the image, on the host */
} Sources;

static void sources_done(Sources *s) {
        free(s->path);
        free(s->text);
        free(s->key_path);
        free(s->key_file);
}

static int write_sources(const char *root, void *userdata) {
        const Sources *s = userdata;
        int r;

        r = copy_text(s->text, root, s->path, 0644);
        return r < 0 ? r : copy_file(s->key_file, root, s->key_path, 0644);
}

static char *sources_text(const Repository *q, const char *key_path) {
        _cleanup_free_ char *components = strv_join(q->components, " ");

        if (!components)
                return NULL;
        return strf("Types: deb\nURIs: %s\nSuites: %s\n%s%s%sSigned-By: %s\n", q->uri, q->suite,
                        *components ? "Components: " : "", components, *components ? "\n" : "",
                        key_path);
}

static char *dnf_text(const Repository *q, const char *key_path) {
        return strf("[%s]\nname=%s\nbaseurl=%s\nenabled=1\ngpgcheck=1\ngpgkey=file://%s\n", q->name,
                        q->name, q->uri, key_path);
}

static int describe_apt(const Repository *q, const LockedOrigin *origin, Sources *s) {
        s->key_path = strf("/etc/apt/keyrings/%s.gpg", q->name);
        s->path = strf("/etc/apt/sources.list.d/%s.sources", q->name);
        if (!s->key_path || !s->path)
                return -ENOMEM;
        s->text = sources_text(q, s->key_path);
        return s->text ? locked_key_write(origin, s->key_file) : -ENOMEM;
}

static int describe_dnf(const Repository *q, const LockedOrigin *origin, Sources *s) {
        _cleanup_free_ char *key = NULL;
        int r;

        s->key_path = strf("/etc/pki/rpm-gpg/%s.asc", q->name);
        s->path = strf("/etc/yum.repos.d/%s.repo", q->name);
        if (!s->key_path || !s->path)
                return -ENOMEM;
        s->text = dnf_text(q, s->key_path);
        if (!s->text)
                return -ENOMEM;
        r = locked_key_armour(origin, &key);
        return r < 0 ? r : write_file_atomic(s->key_file, key, strlen(key), 0644);
}

static int repository_sources(StageBuild *b, const Repository *q, Sources *s) {
        const LockedOrigin *origin = lock_find_origin(b->plan->lock, q->name);
        _cleanup_free_ char *folder = NULL;
        int r;

        if (!origin)
                return -ENOKEY;
        r = store_scratch(b->ctx->store, "key", &folder);
        if (r < 0)
                return r;
        s->key_file = path_join(folder, "key.gpg");
        if (!s->key_file)
                return -ENOMEM;
        return b->plan->recipe->family == FAMILY_EL ? describe_dnf(q, origin, s)
                                                    : describe_apt(q, origin, s);
}

static int write_repository(StageBuild *b, const Repository *q) {
        _cleanup_(sources_done) Sources s = {};
        int r;

        r = repository_sources(b, q, &s);
        return r < 0 ? r : sandbox_call(&b->sandbox, write_sources, &s);
}

typedef struct Stream {
        char *path, *text;
} Stream;

static void stream_done(Stream *s) {
        free(s->path);
        free(s->text);
}

static int write_stream(const char *root, void *userdata) {
        const Stream *s = userdata;
        return copy_text(s->text, root, s->path, 0644);
}

static int add_profiles(
                const Repository *repositories, size_t n, const char *stream, char ***profiles) {
        for (size_t i = 0; i < n; i++)
                STRV_FOREACH (module, repositories[i].modules) {
                        const char *profile = startswith(*module, stream);

                        if (profile && *profile == '/' && !strv_contains(*profiles, profile + 1) &&
                                        strv_extend(profiles, profile + 1) < 0)
                                return -ENOMEM;
                }
        return 0;
}

/* Those of one stream ("nodejs:20") that stages up to this one install. */
static int find_profiles(const StageBuild *b, const char *stream, char ***profiles) {
        const Recipe *recipe = b->plan->recipe;
        int r = add_profiles(
                        recipe->base.repositories, recipe->base.n_repositories, stream, profiles);

        for (size_t i = 0; r >= 0 && b->stage->overlay && i < recipe->n_overlays; i++) {
                const Overlay *o = recipe->overlays[i];

                r = add_profiles(o->repositories, o->n_repositories, stream, profiles);
                if (o == b->stage->overlay)
                        break;
        }
        return r;
}

/* As dnf notes it: what the image has is of this stream, and so is what follows on a node. */
static int write_module(StageBuild *b, const char *module) {
        const size_t to_stream = strcspn(module, ":"), to_profile = strcspn(module, "/");
        _cleanup_free_ char *name = strndup(module, to_stream),
                            *stream = strndup(module, to_profile), *joined = NULL;
        _cleanup_strv_free_ char **profiles = NULL;
        _cleanup_(stream_done) Stream s = {};

        if (!name || !stream || find_profiles(b, stream, &profiles) < 0)
                return -ENOMEM;
        joined = profiles ? strv_join(profiles, ", ") : strdup("");
        if (!joined)
                return -ENOMEM;
        s.path = strf("/etc/dnf/modules.d/%s.module", name);
        s.text = strf("[%s]\nname=%s\nstream=%s\nprofiles=%s\nstate=enabled\n", name, name,
                        stream + to_stream + 1, joined);
        return s.path && s.text ? sandbox_call(&b->sandbox, write_stream, &s) : -ENOMEM;
}

static int write_modules(StageBuild *b, const Repository *q) {
        STRV_FOREACH (module, q->modules) {
                int r = write_module(b, *module);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* Its streams count whether or not the image keeps the repository: what is installed is of them. */
static int write_traces(StageBuild *b, const Repository *q) {
        int r = q->keep ? write_repository(b, q) : 0;

        return r < 0 ? r : write_modules(b, q);
}

int stage_write_sources(StageBuild *b, const Repository *repositories, size_t n) {
        for (size_t i = 0; i < n; i++) {
                int r = write_traces(b, repositories + i);

                if (r < 0)
                        return log_error_errno(r, "Stage %s: cannot write its package sources",
                                        b->stage->id);
        }
        return 0;
}
