/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Locked wheels into the store. pip says where on this host's index each lies; which bytes are
 * right, the lock says. */

#include "lock/python.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "store/fetch.h"
#include "store/store.h"

typedef struct Fetch {
        Context *ctx;
        const Recipe *recipe;
        const LockedEnvironment *environment;
        char *folder;
        PipWheels found[2]; /* of the environment, of what installs it */
        FetchItem *items;
        char **updates;
        size_t n;
} Fetch;

static void fetch_done(Fetch *f) {
        if (f->folder)
                (void) rm_rf(f->folder);
        free(f->folder);
        pip_wheels_done(f->found);
        pip_wheels_done(f->found + 1);
        free(f->items);
        strv_free(f->updates);
}

static const char *index_of(const Recipe *recipe, const char *environment) {
        for (size_t i = 0; i < recipe->n_overlays; i++)
                if (streq_ptr(recipe->overlays[i]->python.environment, environment))
                        return recipe->overlays[i]->python.index;
        return NULL;
}

/* The missing ones of one role, a requirement each. */
static int missing_lines(const Fetch *f, bool installer, char ***ret) {
        for (size_t i = 0; i < f->environment->n_wheels; i++) {
                const LockedWheel *w = f->environment->wheels + i;

                if (!w->role == installer || store_has_blob(f->ctx->store, w->sha256))
                        continue;
                if (strv_extendf(ret, "%s==%s", w->name, w->version) < 0)
                        return log_oom();
        }
        return 0;
}

/* Where pip finds them. */
static int find(Fetch *f, const PythonTarget *t, bool installer) {
        _cleanup_strv_free_ char **lines = NULL;
        _cleanup_free_ char *path = path_join(f->folder, "wanted.txt"), *text = NULL,
                            *output = NULL;
        int r;

        r = missing_lines(f, installer, &lines);
        if (r < 0 || !lines)
                return r;
        text = strv_join(lines, "\n");
        if (!path || !text)
                return log_oom();
        r = write_file_atomic(path, text, strlen(text), 0644);
        if (r < 0)
                return log_error_errno(r, "%s: cannot be written", path);

        PipCall call = { .target = t,
                .index = installer ? NULL : index_of(f->recipe, f->environment->path),
                .folder = f->folder,
                .requirements = ARGV(path),
                .alone = true };
        r = pip_ask(&call, f->found + installer, &output);
        return r <= 0 ? r : pip_explain(f->recipe, f->environment->path, &call, output);
}

static const PipWheel *find_file(const Fetch *f, const LockedWheel *w) {
        const PipWheels *found = f->found + (w->role != NULL);

        for (size_t i = 0; i < found->n; i++)
                if (streq(found->list[i].wheel.file, w->file))
                        return found->list + i;
        return NULL;
}

static int add_item(Fetch *f, const LockedWheel *w) {
        const PipWheel *found = find_file(f, w);

        if (!found && !f->ctx->offline) {
                log_error("Environment %s: the index does not offer %s any more. 'imgbuild lock %s --update %s' takes what it has now",
                                f->environment->path, w->file, f->recipe->path, w->name);
                return -EREMOTEIO;
        }
        if (strv_extendf(&f->updates, "imgbuild lock %s --update %s", f->recipe->path, w->name) < 0)
                return log_oom();
        f->items[f->n] = (FetchItem) { .url = found ? found->url : "",
                .sha256 = w->sha256,
                .size = w->size,
                .what = w->file,
                .update = f->updates[f->n] };
        f->n++;
        return 0;
}

static int find_all(Fetch *f) {
        _cleanup_python_target_ PythonTarget t = {};
        int r;

        if (f->ctx->offline)
                return 0;
        r = python_target_parse(f->environment->target, &t);
        if (r < 0)
                return log_error_errno(r, "%s: environment %s: \"target\" is no Python's",
                                f->recipe->lock_path, f->environment->path);
        r = store_scratch(f->ctx->store, "pip", &f->folder);
        if (r < 0)
                return log_error_errno(r, "Environment %s: no room to ask for its wheels",
                                f->environment->path);
        r = find(f, &t, false);
        return r < 0 ? r : find(f, &t, true);
}

int fetch_wheels(Context *ctx, const Recipe *recipe, const LockedEnvironment *environment,
                const char *progress) {
        _cleanup_(fetch_done)
                        Fetch f = { .ctx = ctx, .recipe = recipe, .environment = environment };
        int r;

        f.items = calloc(environment->n_wheels + 1, sizeof(*f.items));
        if (!f.items)
                return log_oom();
        r = find_all(&f);
        if (r < 0)
                return r;
        for (size_t i = 0; i < environment->n_wheels; i++) {
                if (store_has_blob(ctx->store, environment->wheels[i].sha256))
                        continue;
                r = add_item(&f, environment->wheels + i);
                if (r < 0)
                        return r;
        }
        return f.n > 0 ? fetch_all(ctx, progress, f.items, f.n) : 0;
}
