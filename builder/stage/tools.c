/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The tools tree is a recipe like any other, only without a kernel and a disk: resolved, locked,
 * planned, built and cached by the same rooms. Its lock lies beside it, so that a project pins its
 * tools as it pins its images; that of the installed recipe, whose folder is not ours to write in,
 * lies in the store. */

#include "stage/tools.h"
#include "stage/stage.h"
#include "sandbox/logged-command.h"
#include "common/data-folder.h"
#include "store/store.h"

#include "shared/file-util.h"
#include "plan/plan.h"
#include "shared/log.h"
#include "shared/strv.h"

struct Tools {
        Context *ctx;
        Loaded loaded;
        char **layers;
        const char *digest;
};

/* An existing lock lies beside the recipe; a new one does too, unless that folder is not ours to
 * write in. */
static char *lock_path(Context *ctx, const char *folder) {
        _cleanup_free_ char *lock = path_join(folder, "tools.lock.json");

        if (!lock)
                return NULL;
        if (access(lock, R_OK) >= 0)
                return TAKE_PTR(lock);
        if (startswith(folder, DATADIR) || access(folder, W_OK) < 0)
                return path_join(store_path(ctx->store), "tools.lock.json");
        return TAKE_PTR(lock);
}

/* Of the shipped recipes. */
static char *shipped_folder(void) {
        _cleanup_free_ char *data = data_folder();

        return data ? path_join(data, "images") : NULL;
}

char *tools_recipe(void) {
        _cleanup_free_ char *shipped = shipped_folder();
        const char *const folders[] = { "images", shipped };

        for (size_t i = 0; shipped && i < ELEMENTSOF(folders); i++) {
                _cleanup_free_ char *path = path_join(folders[i], "tools.json");

                if (path && access(path, F_OK) >= 0)
                        return TAKE_PTR(path);
        }
        return NULL;
}

/* Where the recipe is and where its lock is to be. */
static int find_recipe(Context *ctx, const char *near, char **ret_recipe, char **ret_lock) {
        _cleanup_free_ char *beside = near ? path_folder(near) : NULL, *shipped = shipped_folder();
        const char *const folders[] = { beside, "images", shipped };

        if ((near && !beside) || !shipped)
                return -ENOMEM;
        for (size_t i = beside ? 0 : 1; i < ELEMENTSOF(folders); i++) {
                _cleanup_free_ char *recipe = path_join(folders[i], "tools.json"), *lock = NULL;

                if (!recipe)
                        return -ENOMEM;
                if (access(recipe, F_OK) < 0)
                        continue;
                lock = lock_path(ctx, folders[i]);
                if (!lock)
                        return -ENOMEM;

                *ret_recipe = TAKE_PTR(recipe);
                *ret_lock = TAKE_PTR(lock);
                return 0;
        }
        return -ENOENT;
}

static const char *last_digest(const Plan *plan) {
        return plan->stages[plan->n_stages - 1].digest;
}

/* A tree that is there already is nothing to show beside the stages of an image. */
static int build_tree(Context *ctx, const Plan *plan) {
        Context quiet = *ctx;

        quiet.drop_downloads = false; /* the image may need some of them as well */
        if (store_has_layer(ctx->store, last_digest(plan)))
                quiet.progress = NULL;
        return stages_build(&quiet, plan, &(Maker) {}, plan->n_stages - 1);
}

int tools_open(Context *ctx, const char *near, Tools **ret) {
        _cleanup_tools_free_ Tools *t = NULL;
        _cleanup_free_ char *recipe = NULL, *lock = NULL;
        const Plan *plan;
        int r;

        t = calloc(1, sizeof(*t));
        if (!t)
                return log_oom();
        t->ctx = ctx;
        r = find_recipe(ctx, near, &recipe, &lock);
        if (r == -ENOENT) {
                log_error("The recipe of the disk tools, tools.json, is neither beside the image's recipe, nor in ./images, nor beside this program, nor in " DATADIR
                          "/images: 'make install' puts it there");
                return -ENOPKG;
        }
        if (r < 0)
                return log_oom();
        r = lock_and_plan(ctx, recipe, lock, &t->loaded);
        if (r < 0)
                return r;
        plan = t->loaded.plan;
        if (t->loaded.recipe->kind != RECIPE_TREE) {
                log_error("%s: $.kind: must be \"tree\": the disk tools are no image", recipe);
                return -EINVAL;
        }
        r = build_tree(ctx, plan);
        if (r < 0)
                return r;
        r = stages_layers(ctx, plan, plan->n_stages - 1, &t->layers);
        if (r < 0)
                return log_oom();
        t->digest = last_digest(plan);
        *ret = TAKE_PTR(t);
        return 0;
}

Tools *tools_free(Tools *t) {
        if (!t)
                return NULL;
        strv_free(t->layers);
        loaded_done(&t->loaded);
        free(t);
        return NULL;
}

void tools_sandbox(Tools *t, Sandbox *ret) {
        *ret = (Sandbox) {
                .store = t->ctx->store,
                .layers = t->layers,
                .read_only = true,
                .epoch = t->loaded.lock->epoch,
        };
}

int tools_run(Tools *t, const SandboxBind *binds, size_t n_binds, char *const *env,
                const SpawnOptions *options, char *const argv[]) {
        Sandbox s;

        tools_sandbox(t, &s);
        s.binds = binds;
        s.n_binds = n_binds;
        s.env = env;
        return logged_command(t->ctx, "tools", &s, options, argv);
}

static const LockedPackage *find_locked(const LockedStage *s, const char *name) {
        for (size_t i = 0; s && i < s->n_packages; i++)
                if (streq(s->packages[i].name, name))
                        return s->packages + i;
        return NULL;
}

/* {"by": "tools", "tools": DIGEST, "mmdebstrap": VERSION, …} of the tools' base, and what that was
 * made with itself. */
static int describe_maker(Store *store, const Stage *base, json_object **ret) {
        static const char *const programs[] = { "mmdebstrap", "dpkg", "apt" };
        _cleanup_json_ json_object *o = json_object_new_object(), *meta = NULL;
        int r;

        r = store_read_layer_meta(store, base->digest, &meta);
        if (r < 0)
                return r;
        r = json_set_fields(o, JSON_STRING("by", "tools"), JSON_STRING("tools", base->digest),
                        JSON_TAKE("bootstrapped_with",
                                        json_object_get(json_get(meta, "made_with"))));
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(programs); i++) {
                const LockedPackage *p = find_locked(base->locked, programs[i]);

                r = p ? json_set_string(o, programs[i], p->version) : 0;
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(o);
        return 0;
}

/* A site's own tools.json, from before the tools had it, may lack mmdebstrap. */
static int make_maker(Tools *t, Maker *ret) {
        const Stage *base = t->loaded.plan->stages;
        _cleanup_maker_ Maker m = {};
        int r;

        if (!find_locked(base->locked, "mmdebstrap")) {
                log_warning("%s: base.packages has no mmdebstrap: the base is made with this host's",
                                t->loaded.recipe->path);
                *ret = (Maker) {};
                return 0;
        }
        m.tree = store_layer_tree(t->ctx->store, base->digest);
        r = m.tree ? describe_maker(t->ctx->store, base, &m.made_with) : -ENOMEM;
        if (r < 0)
                return log_error_errno(r, "Cannot say what the base is made with");
        *ret = m;
        m = (Maker) {};
        return 0;
}

int tools_maker(Context *ctx, const Plan *plan, Maker *ret) {
        _cleanup_tools_free_ Tools *t = NULL;
        int r;

        *ret = (Maker) {};
        if (plan->recipe->kind == RECIPE_TREE ||
                        store_has_layer(ctx->store, plan->stages[0].digest))
                return 0;
        r = tools_open(ctx, plan->recipe->path, &t);
        return r < 0 ? r : make_maker(t, ret);
}

void maker_done(Maker *m) {
        free(m->tree);
        if (m->made_with)
                json_object_put(m->made_with);
        *m = (Maker) {};
}

const char *tools_digest(const Tools *t) {
        return t->digest;
}

int tools_find_digest(Context *ctx, const char *near, Digest ret) {
        _cleanup_free_ char *recipe = NULL, *lock = NULL;
        _cleanup_loaded_ Loaded l = {};
        int r;

        r = find_recipe(ctx, near, &recipe, &lock);
        if (r < 0)
                return r;
        r = lock_read(lock, &l.lock);
        if (r < 0)
                return r;
        r = recipe_load(recipe, ctx->overlay_dirs, &l.recipe);
        if (r < 0)
                return r;
        r = plan_new(l.recipe, l.lock, &l.plan);
        if (r < 0)
                return r;

        memcpy(ret, last_digest(l.plan), sizeof(Digest));
        return 0;
}
