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

/* What a digest is fed with, and the record of it for people who ask why it is another one. */
typedef struct Inputs {
        Hash *h;
        json_object *record; /* where memory ends, less is recorded */
} Inputs;

#define NOTE_MAX 200 /* bytes: of what is longer the digest is noted, node configuration say */

static void note(Inputs *in, const char *label, const char *value) {
        const char *before = json_get_string(in->record, label);
        _cleanup_free_ char *both = NULL;
        Digest digest;

        if (value && strlen(value) > NOTE_MAX) {
                _cleanup_hash_free_ Hash *h = NULL;

                if (hash_new(&h) < 0)
                        return;
                hash_field(h, label, value);
                hash_end(h, digest);
                value = digest;
        }
        both = before ? strf("%s\n%s", before, strempty(value)) : NULL;

        (void) json_set_string(in->record, label, both ? both : strempty(value));
}

static void take(Inputs *in, const char *label, const char *value) {
        hash_field(in->h, label, value);
        note(in, label, value);
}

static void take_list(Inputs *in, const char *label, char *const *l) {
        _cleanup_free_ char *text = strv_join(l, " ");

        hash_strv(in->h, label, l);
        note(in, label, text);
}

/* Packages are compared one by one. */
static void take_package(Inputs *in, const LockedPackage *p) {
        _cleanup_free_ char *label = strf(PLAN_PACKAGE "%s", p->name),
                            *value = strf("%s %s", strempty(p->version), p->sha256);

        hash_field(in->h, "package", p->name);
        hash_field(in->h, "sha256", p->sha256);
        if (label && value)
                note(in, label, value);
}

static int hash_host_file(Inputs *in, const char *label, const char *path) {
        Digest digest;
        int r = digest_file(path, digest, NULL);

        if (r < 0)
                return log_error_errno(r, "%s: cannot read it", path);
        take(in, label, digest);
        return 0;
}

static int hash_host_tree(Inputs *in, const char *label, const char *path) {
        Digest digest;
        int r = digest_tree(path, digest);

        if (r < 0)
                return log_error_errno(r, "%s: cannot read it", path);
        take(in, label, digest);
        return 0;
}

static void hash_packages(Inputs *in, const Plan *p, const LockedStage *locked) {
        take_list(in, "dpkg", p->dpkg_options);
        for (size_t i = 0; i < locked->n_packages; i++)
                take_package(in, locked->packages + i);
}

static void hash_repositories(Inputs *in, const Plan *p, const Repository *repositories, size_t n) {
        for (size_t i = 0; i < n; i++) {
                const Repository *q = repositories + i;

                take(in, "repository", q->name);
                if (q->modules)
                        take_list(in, "modules", q->modules);
                if (!q->keep)
                        continue; /* leaves no trace in the image: the packages' digests say all */
                take(in, "uri", q->uri);
                take(in, "suite", q->suite);
                take_list(in, "components", q->components);
                take(in, "fingerprint", q->fingerprint);
                const LockedOrigin *origin = lock_find_origin(p->lock, q->name);
                take(in, "key", origin ? origin->key : NULL);
        }
}

static int hash_artifacts(Inputs *in, const Plan *p, const Stage *s) {
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
                take(in, "artifact", a->name);
                take(in, "sha256", locked->sha256);
                take(in, "install", numbers);
                take(in, "path", a->path);
        }
        return 0;
}

static const char *json_text(json_object *o) {
        return o ? json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN) : NULL;
}

static int hash_early_files(Inputs *in, const char *root) {
        for (const char *const *p = plan_early_prefixes; *p; p++) {
                _cleanup_free_ char *path = path_join(root, *p);
                struct stat st;
                int r;

                if (!path)
                        return -ENOMEM;
                if (lstat(path, &st) < 0)
                        continue;
                take(in, "early", *p);
                r = S_ISDIR(st.st_mode) ? hash_host_tree(in, "files", path)
                                        : hash_host_file(in, "file", path);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int hash_files(Inputs *in, const Stage *s, const Recipe *recipe) {
        _cleanup_free_ char *root = NULL;

        if (!s->overlay) {
                take(in, "node", json_text(recipe->node));
                return 0;
        }

        take(in, "modes", json_text(s->overlay->modes));
        root = path_join(s->overlay->path, "files");
        if (!root)
                return -ENOMEM;
        return s->early ? hash_early_files(in, root) : hash_host_tree(in, "files", root);
}

static int hash_compile(Inputs *in, const Plan *p, const Stage *s, const Compile *c) {
        int r;

        if (c->on != COMPILE_ON_BASE)
                take(in, "kernel", p->kernel);
        hash_packages(in, p, s->locked);
        if (c->without)
                take_list(in, "without", c->without);
        r = hash_artifacts(in, p, s);
        if (r < 0)
                return r;
        r = hash_host_file(in, "script", c->script);
        if (r < 0 || !c->source)
                return r;
        return hash_host_tree(in, "source", c->source);
}

static int hash_wheels(Inputs *in, const Plan *p, const Stage *s) {
        const LockedEnvironment *e = lock_find_environment(p->lock, s->overlay->python.environment);

        if (!e)
                return -ESTALE;
        hash_field(in->h, "environment", e->path);
        if (!streq(recipe_interpreter(p->recipe, e->path), "python3"))
                take(in, "interpreter", recipe_interpreter(p->recipe, e->path));
        for (size_t i = 0; i < e->n_wheels; i++) {
                const LockedWheel *w = e->wheels + i;

                hash_field(in->h, "file", w->file);
                hash_field(in->h, "role", w->role);
                take_package(in, &(LockedPackage) { .name = w->name,
                                                 .version = w->version,
                                                 .sha256 = w->sha256 });
        }
        return 0;
}

static int hash_stage(Inputs *in, const Plan *p, const Stage *s) {
        const Recipe *recipe = p->recipe;

        switch (s->kind) {
        case STAGE_BASE:
                take(in, "distro", recipe->base.distro);
                take(in, "release", recipe->base.release);
                take(in, "arch", recipe->base.arch);
                hash_packages(in, p, s->locked);
                if (p->maker_kind == MAKER_TOOLS)
                        take(in, "maker", p->maker);
                hash_repositories(in, p, recipe->base.repositories, recipe->base.n_repositories);
                return 0;
        case STAGE_IMAGE:
                take(in, "image", p->lock->image.sha256);
                take(in, "root", p->lock->image.root);
                hash_repositories(in, p, recipe->base.repositories, recipe->base.n_repositories);
                return p->lock->image.name ? 0 : -ESTALE;
        case STAGE_PACKAGES:
                hash_packages(in, p, s->locked);
                if (s->overlay)
                        hash_repositories(in, p, s->overlay->repositories,
                                        s->overlay->n_repositories);
                return 0;
        case STAGE_ARTIFACTS:
                return hash_artifacts(in, p, s);
        case STAGE_COMPILE:
                return hash_compile(in, p, s, s->overlay->compile + s->index);
        case STAGE_PYTHON:
                return hash_wheels(in, p, s);
        case STAGE_FILES:
                return hash_files(in, s, recipe);
        case STAGE_RUN:
                take(in, "network", stage_uses_network(s) ? "yes" : "no");
                if (s->overlay->run[s->index].secrets) /* not what they are */
                        take_list(in, "secrets", s->overlay->run[s->index].secrets);
                return hash_host_file(in, "script", s->overlay->run[s->index].script);
        case STAGE_SERVICES:
                for (size_t i = 0; i < recipe->n_overlays; i++) {
                        take_list(in, "enable", recipe->overlays[i]->services.enable);
                        take_list(in, "disable", recipe->overlays[i]->services.disable);
                        take_list(in, "mask", recipe->overlays[i]->services.mask);
                }
                return 0;
        case STAGE_INITRAMFS:
                take(in, "kernel", p->kernel);
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
        Inputs in = {};
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
        in = (Inputs) { .h = h, .record = json_object_new_object() };
        json_object_put(s->inputs); /* of other tools, see plan_set_maker() */
        s->inputs = in.record;
        snprintf(epoch, sizeof(epoch), "%lld", (long long) p->lock->epoch);
        hash_field(h, "imgbuild stage", kinds[s->kind].name);
        take(&in, "format", kinds[s->kind].number);
        take(&in, "sandbox", kinds[STAGE_SANDBOX].number);
        if (s->kind != STAGE_IMAGE) /* its files have their own times */
                take(&in, "epoch", epoch);
        hash_parents(h, p, i);
        r = hash_stage(&in, p, s);
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
