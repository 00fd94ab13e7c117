/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A stage's digest = H(its parent's digest, its own inputs). Only what the result depends on is
 * hashed, and nothing of the host: equal recipes, overlays and locks give equal digests on every
 * machine. */

#include "plan/internal.h"
#include "shared/file-util.h"
#include "shared/log.h"

#include <sys/stat.h>

/* Behind the kinds of stages: what all of them are made in. */
enum { STAGE_SANDBOX = STAGE_FINALIZE + 1 };

#define STAGE_CODE(kind, name, number, digest, ...) [STAGE_##kind] = { #name, #number },

/* Goes into every digest; raised when a stage kind is executed in a new way. */
static const struct {
        const char *name, *number;
} kinds[] = {
#include "plan/stage-code"
};

static int hash_host_file(Hash *h, const char *label, const char *path) {
        Digest digest;
        int r = digest_file(path, digest, NULL);

        if (r < 0)
                return log_error_errno(r, "%s: cannot read it", path);
        hash_field(h, label, digest);
        return 0;
}

static int hash_host_tree(Hash *h, const char *label, const char *path) {
        Digest digest;
        int r = digest_tree(path, digest);

        if (r < 0)
                return log_error_errno(r, "%s: cannot read it", path);
        hash_field(h, label, digest);
        return 0;
}

static void hash_packages(Hash *h, const Plan *p, const LockedStage *locked) {
        hash_strv(h, "dpkg", p->dpkg_options);
        for (size_t i = 0; i < locked->n_packages; i++) {
                hash_field(h, "package", locked->packages[i].name);
                hash_field(h, "sha256", locked->packages[i].sha256);
        }
}

static void hash_repositories(Hash *h, const Plan *p, const Overlay *o) {
        for (size_t i = 0; i < o->n_repositories; i++) {
                const Repository *q = o->repositories + i;

                hash_field(h, "repository", q->name);
                if (!q->keep)
                        continue; /* leaves no trace in the image: the packages' digests say all */
                hash_field(h, "uri", q->uri);
                hash_field(h, "suite", q->suite);
                hash_strv(h, "components", q->components);
                hash_field(h, "fingerprint", q->fingerprint);
                const LockedOrigin *origin = lock_find_origin(p->lock, q->name);
                hash_field(h, "key", origin ? origin->key : NULL);
        }
}

static int hash_artifacts(Hash *h, const Plan *p, const Stage *s) {
        const Overlay *o = s->overlay;

        for (size_t i = 0; i < o->n_artifacts; i++) {
                const Artifact *a = o->artifacts + i;

                if (!plan_stage_uses(s, a))
                        continue;

                const LockedArtifact *locked = lock_find_artifact(p->lock, o->name, a->name);
                char numbers[64];

                if (!locked || !digest_valid(locked->sha256))
                        return -ESTALE;
                snprintf(numbers, sizeof(numbers), "%d %o %u", (int) a->kind, (unsigned) a->mode,
                                a->strip);
                hash_field(h, "artifact", a->name);
                hash_field(h, "sha256", locked->sha256);
                hash_field(h, "install", numbers);
                hash_field(h, "path", a->path);
        }
        return 0;
}

static const char *json_text(json_object *o) {
        return o ? json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN) : NULL;
}

static int hash_early_files(Hash *h, const char *root) {
        for (const char *const *p = plan_early_prefixes; *p; p++) {
                _cleanup_free_ char *path = path_join(root, *p);
                struct stat st;
                int r;

                if (!path)
                        return -ENOMEM;
                if (lstat(path, &st) < 0)
                        continue;
                hash_field(h, "early", *p);
                r = S_ISDIR(st.st_mode) ? hash_host_tree(h, "files", path)
                                        : hash_host_file(h, "file", path);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int hash_files(Hash *h, const Stage *s, const Recipe *recipe) {
        _cleanup_free_ char *root = NULL;

        if (!s->overlay) {
                hash_field(h, "node", json_text(recipe->node));
                return 0;
        }

        hash_field(h, "modes", json_text(s->overlay->modes));
        root = path_join(s->overlay->path, "files");
        if (!root)
                return -ENOMEM;
        return s->early ? hash_early_files(h, root) : hash_host_tree(h, "files", root);
}

static int hash_compile(Hash *h, const Plan *p, const Stage *s, const Compile *c) {
        int r;

        hash_field(h, "kernel", p->kernel);
        hash_packages(h, p, s->locked);
        if (c->without)
                hash_strv(h, "without", c->without);
        r = hash_artifacts(h, p, s);
        if (r < 0)
                return r;
        r = hash_host_file(h, "script", c->script);
        if (r < 0 || !c->source)
                return r;
        return hash_host_tree(h, "source", c->source);
}

static int hash_stage(Hash *h, const Plan *p, const Stage *s) {
        const Recipe *recipe = p->recipe;

        switch (s->kind) {
        case STAGE_BASE:
                hash_field(h, "distro", recipe->base.distro);
                hash_field(h, "release", recipe->base.release);
                hash_field(h, "arch", recipe->base.arch);
                hash_packages(h, p, s->locked);
                return 0;
        case STAGE_PACKAGES:
                hash_packages(h, p, s->locked);
                if (s->overlay)
                        hash_repositories(h, p, s->overlay);
                return 0;
        case STAGE_ARTIFACTS:
                return hash_artifacts(h, p, s);
        case STAGE_COMPILE:
                return hash_compile(h, p, s, s->overlay->compile + s->index);
        case STAGE_FILES:
                return hash_files(h, s, recipe);
        case STAGE_RUN:
                hash_field(h, "network", stage_uses_network(s) ? "yes" : "no");
                return hash_host_file(h, "script", s->overlay->run[s->index].script);
        case STAGE_SERVICES:
                for (size_t i = 0; i < recipe->n_overlays; i++) {
                        hash_strv(h, "enable", recipe->overlays[i]->services.enable);
                        hash_strv(h, "disable", recipe->overlays[i]->services.disable);
                        hash_strv(h, "mask", recipe->overlays[i]->services.mask);
                }
                return 0;
        case STAGE_INITRAMFS:
                hash_field(h, "kernel", p->kernel);
                return 0;
        case STAGE_FINALIZE:
                return 0;
        }
        return -EINVAL;
}

/* What the stage is made on. A digest covers all that its own stage sees: below a compile stage,
 * which does not see everything, the search goes on. */
static void hash_parents(Hash *h, const Plan *p, size_t i) {
        for (size_t j = i; j-- > 0;) {
                if (!plan_stage_sees(p, i, j))
                        continue;
                hash_field(h, "parent", p->stages[j].digest);
                if (p->stages[j].kind != STAGE_COMPILE)
                        break;
        }
}

static int digest_stage(Plan *p, size_t i) {
        _cleanup_hash_free_ Hash *h = NULL;
        Stage *s = p->stages + i;
        char epoch[32];
        int r;

        if (IN_PACKAGE_STAGE(s->kind)) {
                s->locked = lock_find_stage(p->lock, s->id);
                if (!s->locked)
                        return -ESTALE;
        }

        r = hash_new(&h);
        if (r < 0)
                return r;
        snprintf(epoch, sizeof(epoch), "%lld", (long long) p->lock->epoch);
        hash_field(h, "imgbuild stage", kinds[s->kind].name);
        hash_field(h, "format", kinds[s->kind].number);
        hash_field(h, "sandbox", kinds[STAGE_SANDBOX].number);
        hash_field(h, "epoch", epoch);
        hash_parents(h, p, i);
        r = hash_stage(h, p, s);
        if (r < 0)
                return r;

        hash_end(h, s->digest);
        return digest_valid(s->digest) ? 0 : -EIO;
}

int plan_digest_stages(Plan *p) {
        for (size_t i = 0; i < p->n_stages; i++) {
                int r = digest_stage(p, i);

                if (r < 0)
                        return r;
        }
        return 0;
}

const char *stage_kind_name(StageKind kind) {
        return kinds[kind].name;
}
