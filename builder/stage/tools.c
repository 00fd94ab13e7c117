/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The tools tree is a recipe like any other, only without a kernel and a disk: resolved, locked,
 * planned, built and cached by the same rooms. Its lock lies beside it, so that a project pins its
 * tools as it pins its images; that of the installed recipe, whose folder is not ours to write in,
 * lies in the store. */

#include "stage/internal.h"
#include "stage/stage.h"
#include "sandbox/logged-command.h"
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

static const char *last_digest(const Plan *plan) {
        return plan->stages[plan->n_stages - 1].digest;
}

/* A tree that is there already is nothing to show beside the stages of an image. */
static int build_tree(Context *ctx, const Plan *plan, const Maker *maker, size_t last) {
        Context quiet = *ctx;

        quiet.drop_downloads = false; /* the image may need some of them as well */
        if (store_has_layer(ctx->store, plan->stages[last].digest))
                quiet.progress = NULL;
        return stages_build(&quiet, plan, maker, last);
}

/* Found, locked and planned, nothing built yet. */
static int tools_load(Context *ctx, const char *near, const char *name, Tools **ret) {
        _cleanup_tools_free_ Tools *t = NULL;
        _cleanup_free_ char *recipe = NULL, *lock = NULL;
        int r;

        t = calloc(1, sizeof(*t));
        if (!t)
                return log_oom();
        t->ctx = ctx;
        r = tools_recipe_find(ctx, near, name, &recipe, &lock);
        if (r == -ENOENT) {
                log_error("The recipe of the %stools, %s.json, is neither beside the image's recipe, nor in ./images, nor beside this program, nor in " DATADIR
                          "/images: 'make install' puts it there",
                                streq(name, TOOLS) ? "disk " : "", name);
                return -ENOPKG;
        }
        if (r < 0)
                return log_oom();
        r = lock_and_plan(ctx, recipe, lock, &t->loaded);
        if (r < 0)
                return r;
        if (t->loaded.recipe->kind != RECIPE_TREE) {
                log_error("%s: $.kind: must be \"tree\": the %stools are no image", recipe,
                                streq(name, TOOLS) ? "disk " : "");
                return -EINVAL;
        }
        *ret = TAKE_PTR(t);
        return 0;
}

static int open_named(Context *ctx, const char *near, const char *name, Tools **ret) {
        _cleanup_tools_free_ Tools *t = NULL;
        _cleanup_maker_ Maker maker = {};
        Plan *plan;
        int r;

        r = tools_load(ctx, near, name, &t);
        if (r < 0)
                return r;
        plan = t->loaded.plan;
        r = tools_maker(ctx, plan, &maker); /* its own base may be made with other tools */
        if (r < 0)
                return r;
        r = build_tree(ctx, plan, &maker, plan->n_stages - 1);
        if (r < 0)
                return r;
        r = stages_layers(ctx, plan, plan->n_stages - 1, &t->layers);
        if (r < 0)
                return log_oom();
        t->digest = last_digest(plan);
        *ret = TAKE_PTR(t);
        return 0;
}

int tools_open(Context *ctx, const char *near, Tools **ret) {
        return open_named(ctx, near, TOOLS, ret);
}

int tools_run_el(Context *ctx, const char *near, const Limits *limits, const SandboxBind *binds,
                size_t n_binds, char *const argv[]) {
        _cleanup_tools_free_ Tools *t = NULL;
        Sandbox s;
        int r = open_named(ctx, near, TOOLS_EL, &t);

        if (r < 0)
                return r;
        tools_sandbox(t, &s);
        s.binds = binds;
        s.n_binds = n_binds;
        s.limits = limits;
        return logged_command(ctx, "tools", &s, NULL, argv);
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

/* {"by": "tools", "tools": DIGEST, "mmdebstrap": VERSION, …} of the tools' base, and what that was
 * made with itself. */
static int describe_maker(Store *store, const Stage *base, json_object **ret) {
        static const char *const programs[] = { "mmdebstrap", "dpkg", "apt", "rpm" };
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
                const LockedPackage *p = locked_stage_find(base->locked, programs[i]);

                r = p ? json_set_string(o, programs[i], p->version) : 0;
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(o);
        return 0;
}

static int make_maker(Tools *t, Maker *ret) {
        const Stage *base = t->loaded.plan->stages;
        _cleanup_maker_ Maker m = {};
        int r;

        m.tree = store_layer_tree(t->ctx->store, base->digest);
        r = m.tree ? describe_maker(t->ctx->store, base, &m.made_with) : -ENOMEM;
        if (r < 0)
                return log_error_errno(r, "Cannot say what the base is made with");
        *ret = m;
        m = (Maker) {};
        return 0;
}

/* The lock of the tools may be a new one, or another than it was when the plan was made. */
int tools_maker(Context *ctx, Plan *plan, Maker *ret) {
        _cleanup_tools_free_ Tools *t = NULL;
        _cleanup_maker_ Maker own = {};
        int r;

        *ret = (Maker) {};
        if (plan->recipe->base.image)
                return 0; /* made by somebody else */
        if (plan->maker_kind == MAKER_SELF ||
                        (plan->maker_kind != MAKER_UNKNOWN &&
                                        store_has_layer(ctx->store, plan->stages[0].digest)))
                return 0;
        r = tools_load(ctx, plan->recipe->path, tools_of_base(plan->recipe), &t);
        if (r < 0)
                return r;
        r = plan_set_maker(plan, t->loaded.plan->stages[0].locked);
        if (r < 0)
                return log_error_errno(r, "%s: cannot plan", plan->recipe->path);
        if (store_has_layer(ctx->store, plan->stages[0].digest))
                return 0;
        r = stage_take_remote(ctx, plan, &(bool) { true }, 0);
        if (r < 0 || store_has_layer(ctx->store, plan->stages[0].digest))
                return r;
        if (plan->maker_kind == MAKER_HOST && plan->recipe->family == FAMILY_EL)
                return log_error_return(-ENOPKG,
                                "%s: base.packages has no rpm, which makes bases of family el",
                                t->loaded.recipe->path);
        if (plan->maker_kind == MAKER_HOST) {
                log_warning("%s: base.packages has no mmdebstrap: the base is made with this host's",
                                t->loaded.recipe->path);
                return 0;
        }
        r = tools_maker(ctx, t->loaded.plan, &own);
        if (r < 0)
                return r;
        r = build_tree(ctx, t->loaded.plan, &own, 0);
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

        r = tools_recipe_find(ctx, near, TOOLS, &recipe, &lock);
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
