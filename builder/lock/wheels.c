/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Python environments into the lock, and their wheels into the store. As with packages, the lock
 * says which file with which digest, and each host finds by itself where it lies. */

#include "lock/python.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "store/fetch.h"
#include "store/store.h"

#include <sys/stat.h>

#define PYTHON_FORMAT \
        "1" /* part of every request; raised when equal ones would be answered differently */
#define INSTALLER "pip"

/* An environment as the recipe's overlays ask for it. */
typedef struct Wanted {
        const char *path, *index; /* borrowed */
        Digest request;
        char *folder;                       /* scratch, for files that pip reads */
        char **requirements, **constraints; /* such files */
        const LockedEnvironment *old;
} Wanted;

static void wanted_done(Wanted *w) {
        if (w->folder)
                (void) rm_rf(w->folder);
        free(w->folder);
        strv_free(w->requirements);
        strv_free(w->constraints);
}

static const char *environment_of(const Recipe *recipe, size_t i) {
        return recipe->overlays[i]->python.environment;
}

bool lock_leads_environment(const Recipe *recipe, size_t i) {
        if (!environment_of(recipe, i))
                return false;
        for (size_t k = 0; k < i; k++)
                if (streq_ptr(environment_of(recipe, k), environment_of(recipe, i)))
                        return false;
        return true;
}

static int take_index(Wanted *w, const Overlay *first, const Overlay *o) {
        if (streq_ptr(w->index, o->python.index))
                return 0;
        return log_error_return(-EINVAL,
                        "Environment %s: overlay %s takes its wheels from %s, overlay %s from %s. Give both the same index, or one an environment of its own",
                        w->path, first->name,
                        first->python.index ? first->python.index : "the host's index", o->name,
                        o->python.index ? o->python.index : "the host's index");
}

/* Reads what all overlays ask of the environment that overlay i leads. */
static int describe(const Resolution *x, size_t i, Wanted *w) {
        const Recipe *recipe = x->recipe;
        const Overlay *first = recipe->overlays[i];
        _cleanup_hash_free_ Hash *h = NULL;
        int r;

        w->path = first->python.environment;
        w->index = first->python.index;
        w->old = lock_find_environment(x->old, w->path);
        r = hash_new(&h);
        if (r < 0)
                return log_oom();
        hash_field(h, "format", PYTHON_FORMAT);
        hash_field(h, "environment", w->path);
        hash_field(h, "index", w->index);
        if (!streq(recipe_interpreter(recipe, w->path), "python3"))
                hash_field(h, "interpreter", recipe_interpreter(recipe, w->path));
        for (size_t k = i; k < recipe->n_overlays; k++) {
                const Overlay *o = recipe->overlays[k];

                if (!streq_ptr(o->python.environment, w->path))
                        continue;
                r = take_index(w, first, o);
                if (r < 0)
                        return r;
                hash_strv(h, "requirements", o->python.requirements);
                hash_strv(h, "constraints", o->python.constraints);
        }
        hash_end(h, w->request);
        return 0;
}

/* One file an overlay, which pip's messages then name. */
static int write_lines(const Wanted *w, const char *name, char *const *lines, char ***files) {
        _cleanup_free_ char *joined = strv_join(lines, "\n"), *path = path_join(w->folder, name),
                            *text = joined ? strf("%s\n", joined) : NULL;

        if (!text || !path)
                return log_oom();
        int r = write_file_atomic(path, text, strlen(text), 0644);
        if (r < 0)
                return log_error_errno(r, "%s: cannot be written", path);
        return strv_push(files, TAKE_PTR(path)) < 0 ? log_oom() : 0;
}

static int write_requirements(const Recipe *recipe, Wanted *w) {
        for (size_t i = 0; i < recipe->n_overlays; i++) {
                const Overlay *o = recipe->overlays[i];
                _cleanup_free_ char *requirements = strf("%s.txt", o->name),
                                    *constraints = strf("%s.constraints.txt", o->name);
                int r;

                if (!streq_ptr(o->python.environment, w->path))
                        continue;
                if (!requirements || !constraints)
                        return log_oom();
                r = write_lines(w, requirements, o->python.requirements, &w->requirements);
                if (r < 0)
                        return r;
                r = o->python.constraints ? write_lines(w, constraints, o->python.constraints,
                                                            &w->constraints)
                                          : 0;
                if (r < 0)
                        return r;
        }
        return 0;
}

static bool updates(const Resolution *x, const char *name) {
        return resolution_updates_all(x) ||
               (x->options->update && strv_contains(x->options->names, name));
}

/* What is locked and not to move, as one more file of constraints: adding one requirement moves no
 * other. */
static int write_held(const Resolution *x, const Wanted *w, char ***files) {
        _cleanup_strv_free_ char **lines = NULL;

        for (size_t i = 0; w->old && i < w->old->n_wheels; i++) {
                const LockedWheel *l = w->old->wheels + i;

                if (!l->role && !updates(x, l->name) &&
                                strv_extendf(&lines, "%s==%s", l->name, l->version) < 0)
                        return log_oom();
        }
        return lines ? write_lines(w, "held.txt", lines, files) : 0;
}

/* First with what is locked, then, where that does not go together, without. */
static int ask(const Resolution *x, const Wanted *w, const PythonTarget *t, PipWheels *ret) {
        _cleanup_strv_free_ char **held = strv_copy(w->constraints);
        _cleanup_free_ char *output = NULL, *again = NULL;
        PipCall call = { .target = t,
                .index = w->index,
                .folder = w->folder,
                .requirements = w->requirements,
                .constraints = held };
        int r;

        if (!held && strv_length(w->constraints) > 0)
                return log_oom();
        r = write_held(x, w, &held);
        if (r < 0)
                return r;
        call.constraints = held;
        r = pip_ask(&call, ret, &output);
        if (r <= 0)
                return r;
        if (strv_length(held) == strv_length(w->constraints) || pip_is_unreachable(output))
                return pip_explain(x->recipe, w->path, &call, output);

        call.constraints = w->constraints;
        r = pip_ask(&call, ret, &again);
        return r <= 0 ? r : pip_explain(x->recipe, w->path, &call, again);
}

/* pip itself, for it installs the others: from the host's own index, as an overlay's may not have
 * it. */
static int ask_installer(const Resolution *x, Wanted *w, const PythonTarget *t, PipWheels *ret) {
        _cleanup_strv_free_ char **files = NULL;
        _cleanup_free_ char *output = NULL, *line = strdup(INSTALLER);
        PipCall call = { .target = t, .folder = w->folder, .alone = true };
        int r;

        for (size_t i = 0; w->old && i < w->old->n_wheels; i++)
                if (w->old->wheels[i].role && !updates(x, INSTALLER)) {
                        free(line);
                        line = strf(INSTALLER "==%s", w->old->wheels[i].version);
                }
        if (!line)
                return log_oom();
        r = write_lines(w, "installer.txt", ARGV(line), &files);
        if (r < 0)
                return r;
        call.requirements = files;
        r = pip_ask(&call, ret, &output);
        if (r > 0)
                return pip_explain(x->recipe, w->path, &call, output);
        for (size_t i = 0; r == 0 && i < ret->n; i++)
                if (!(ret->list[i].wheel.role = strdup("installer")))
                        return log_oom();
        return r;
}

static int size_of(Context *ctx, const char *sha256, uint64_t *ret) {
        _cleanup_free_ char *path = store_blob_path(ctx->store, sha256);
        struct stat st;

        if (!path)
                return -ENOMEM;
        if (stat(path, &st) < 0)
                return -errno;
        *ret = (uint64_t) st.st_size;
        return 0;
}

/* At once, so that a lock never names what was not there, and knows its size. */
static int fetch_and_lock(Context *ctx, PipWheels *wheels, LockedEnvironment *e) {
        _cleanup_free_ FetchItem *items = calloc(wheels->n + 1, sizeof(*items));
        int r;

        if (!items)
                return log_oom();
        for (size_t i = 0; i < wheels->n; i++)
                items[i] = (FetchItem) { .url = wheels->list[i].url,
                        .sha256 = wheels->list[i].wheel.sha256,
                        .what = wheels->list[i].wheel.file };
        r = fetch_all(ctx, "resolve", items, wheels->n);
        if (r < 0)
                return r;
        for (size_t i = 0; i < wheels->n; i++) {
                LockedWheel w = wheels->list[i].wheel; /* borrowed */

                if (!w.sha256)
                        w.sha256 = items[i].result;
                r = size_of(ctx, w.sha256, &w.size);
                if (r < 0)
                        return log_error_errno(r, "%s cannot be locked", w.file);
                if (locked_environment_add(e, &w) < 0)
                        return log_oom();
        }
        return 0;
}

static int solve(const Resolution *x, Wanted *w, const PythonTarget *t, Lock *l) {
        _cleanup_pip_wheels_ PipWheels wheels = {}, installer = {};
        LockedEnvironment *e;
        int r;

        r = store_scratch(x->ctx->store, "pip", &w->folder);
        if (r < 0)
                return log_error_errno(r, "Environment %s: no room to resolve it", w->path);
        r = write_requirements(x->recipe, w);
        if (r < 0)
                return r;
        r = ask(x, w, t, &wheels);
        if (r < 0)
                return r;
        r = ask_installer(x, w, t, &installer);
        if (r < 0)
                return r;
        if (lock_add_environment(l, w->path, w->request, t->name, &e) < 0)
                return log_oom();
        r = fetch_and_lock(x->ctx, &wheels, e);
        return r < 0 ? r : fetch_and_lock(x->ctx, &installer, e);
}

static int keep(const Wanted *w, Lock *l) {
        LockedEnvironment *e;

        if (lock_add_environment(l, w->path, w->request, w->old->target, &e) < 0)
                return log_oom();
        for (size_t i = 0; i < w->old->n_wheels; i++)
                if (locked_environment_add(e, w->old->wheels + i) < 0)
                        return log_oom();
        return 0;
}

static bool is_kept(const Resolution *x, const Wanted *w) {
        if (!w->old || !streq(w->old->request, w->request) || resolution_updates_all(x))
                return false;
        for (size_t i = 0; i < w->old->n_wheels; i++)
                if (updates(x, w->old->wheels[i].name))
                        return false;
        return true;
}

/* 1: it was not locked yet. */
static int resolve_one(const Resolution *x, size_t i, Lock *l) {
        _cleanup_(python_target_done) PythonTarget t = {};
        _cleanup_(wanted_done) Wanted w = {};
        bool kept;
        int r;

        r = describe(x, i, &w);
        if (r < 0)
                return r;
        if (!l)
                return !is_kept(x, &w);
        kept = is_kept(x, &w);
        r = resolution_python(x, l, x->recipe->overlays[i], kept ? w.old : NULL, &t);
        if (r < 0)
                return r;
        if (kept && streq(w.old->target, t.name))
                return keep(&w, l);
        r = solve(x, &w, &t, l);
        return r < 0 ? r : 1;
}

int resolve_environments(const Resolution *x, Lock *l) {
        int n = 0;

        for (size_t i = 0; i < x->recipe->n_overlays; i++) {
                int r;

                if (!lock_leads_environment(x->recipe, i))
                        continue;
                r = resolve_one(x, i, l);
                if (r < 0)
                        return r;
                n += r;
        }
        return n;
}
