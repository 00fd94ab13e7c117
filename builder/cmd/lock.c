/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild lock: writes or moves a recipe's lock file, and says what moved. */

#include "cmd/fetch-locked.h"
#include "lock/lock.h"
#include "shared/file-util.h"
#include "shared/json-util.h"
#include "shared/size.h"
#include "shared/spawn.h"
#include "cmd/verb.h"

enum { OPT_UPDATE = OPT_VERB, OPT_CHECK, OPT_FETCH, OPT_JSON };

typedef struct LockOptions {
        bool update, check, fetch, json;
        char *const *names;
} LockOptions;

static size_t count_packages(const Lock *l, uint64_t *ret_bytes) {
        size_t n = 0;

        *ret_bytes = 0;
        for (size_t i = 0; i < l->n_stages; i++)
                for (size_t k = 0; k < l->stages[i].n_packages; k++) {
                        *ret_bytes += l->stages[i].packages[k].size;
                        n++;
                }
        for (size_t i = 0; i < l->n_artifacts; i++)
                *ret_bytes += l->artifacts[i].size;
        for (size_t i = 0; i < l->n_environments; i++)
                for (size_t k = 0; k < l->environments[i].n_wheels; k++)
                        *ret_bytes += l->environments[i].wheels[k].size;
        return n;
}

static void print_for_people(const Recipe *recipe, const Lock *old, const Lock *new,
                const LockDiff *diff, bool changed, bool check) {
        char size[FORMAT_BYTES_MAX];
        uint64_t bytes;
        size_t packages = count_packages(new, &bytes);

        if (!changed) {
                printf("%s: up to date, nothing moved\n", recipe->lock_path);
                return;
        }
        if (!old) {
                printf("%s: %s %zu packages in %zu stages and %zu artifacts, %s to download in all\n",
                                recipe->lock_path, check ? "would lock" : "locks", packages,
                                new->n_stages, new->n_artifacts, format_bytes(size, bytes));
                return;
        }

        lock_diff_print(diff, stdout);
        if (diff->n == 0)
                printf("%s: %s for the recipe's new wording; no package and no artifact moved\n",
                                recipe->lock_path, check ? "would be rewritten" : "rewritten");
        else
                printf("%s: %zu moved, %zu added, %zu removed%s\n", recipe->lock_path, diff->moved,
                                diff->added, diff->removed, check ? " (nothing was written)" : "");
}

/* What came with --fetch, and what may be done now. */
static void print_fetched(const char *path, const FetchedLocks *f) {
        char size[FORMAT_BYTES_MAX], known[FORMAT_BYTES_MAX];

        printf("Fetched %llu downloads, %s; %llu, %s, were there already\n",
                        (unsigned long long) f->downloads, format_bytes(size, f->bytes),
                        (unsigned long long) f->known, format_bytes(known, f->known_bytes));
        printf("'imgbuild build %s --locked --offline' needs no network now\n", path);
}

static int add_fetched(json_object *o, const FetchedLocks *f) {
        json_object *fetched = NULL;

        if (!f)
                return 0;
        if (json_add_object(o, "fetched", &fetched) < 0)
                return -ENOMEM;
        return json_set_fields(fetched, JSON_INT("downloads", f->downloads),
                        JSON_INT("bytes", f->bytes), JSON_INT("known", f->known),
                        JSON_INT("known_bytes", f->known_bytes));
}

static int print_json(const Recipe *recipe, const Lock *new, const LockDiff *diff, bool changed,
                const FetchedLocks *fetched) {
        _cleanup_json_ json_object *o = json_object_new_object();
        json_object *changes = NULL;
        uint64_t bytes;
        size_t packages = count_packages(new, &bytes);

        if (lock_diff_to_json(diff, &changes) < 0)
                return log_oom();
        if (json_set_fields(o, JSON_STRING("lock", recipe->lock_path),
                            JSON_BOOL("changed", changed), JSON_INT("epoch", new->epoch),
                            JSON_INT("packages", packages), JSON_INT("artifacts", new->n_artifacts),
                            JSON_INT("bytes", bytes), JSON_TAKE("changes", changes)) < 0 ||
                        add_fetched(o, fetched) < 0)
                return log_oom();
        json_print(o, JSON_C_TO_STRING_SPACED);
        return 0;
}

static int write_lock(const Lock *l, const char *path) {
        int r;

        r = mkdir_parents(path, 0755);
        if (r < 0)
                return log_error_errno(r, "%s: cannot make its folder", path);
        r = lock_write(l, path);
        return r < 0 ? log_error_errno(r, "%s: cannot write the lock", path) : 0;
}

/* An exit code. */
static int lock(Context *ctx, const LockOptions *o, const char *path) {
        _cleanup_lock_free_ Lock *old = NULL, *new = NULL;
        _cleanup_lock_diff_ LockDiff diff = {};
        _cleanup_recipe_free_ Recipe *recipe = NULL;
        _cleanup_fetched_locks_ FetchedLocks fetched = {};
        ResolveOptions options = { .update = o->update, .names = o->names };
        bool changed;
        int r;

        r = recipe_load(path, ctx->overlay_dirs, &recipe);
        if (r < 0)
                return r == -ENOENT ? EXIT_BAD_INPUT : r;
        r = lock_read(recipe->lock_path, &old);
        if (r < 0 && r != -ENOENT)
                return r;
        options.target = o->check ? NULL : recipe->lock_path;
        r = resolve(ctx, recipe, old, &options, &new);
        if (r < 0)
                return r;
        changed = r > 0;
        if (lock_diff(old, new, &diff) < 0)
                return log_oom();
        if (changed && !o->check) {
                r = write_lock(new, recipe->lock_path);
                if (r < 0)
                        return r;
        }
        r = o->fetch ? fetch_locked(ctx, path, &fetched) : 0;
        if (r < 0)
                return r;
        /* The live list shall be off the screen before the table comes. */
        ctx->progress = progress_free(ctx->progress);
        if (o->json)
                r = print_json(recipe, new, &diff, changed, o->fetch ? &fetched : NULL);
        else
                print_for_people(recipe, old, new, &diff, changed, o->check);
        if (o->fetch && !o->json)
                print_fetched(path, &fetched);
        if (r < 0)
                return r;
        return changed && o->check ? EXIT_FAILED : EXIT_OK;
}

static const OptionSpec options[] = {
        { "update", OPT_UPDATE, NULL,
                        "move to what the repositories have now: all, or only the packages and\nartifacts named" },
        { "check", OPT_CHECK, NULL, "write nothing; exit code 1 when the lock would change" },
        { "fetch", OPT_FETCH, NULL,
                        "bring all that this lock and that of the tools name into the store, so that a build\nneeds no network; -j N: at most N downloads at once" },
        { "json", OPT_JSON, NULL, "what moved, as JSON" },
        {},
};

static int take(void *values, int id, const char *value _unused_) {
        LockOptions *o = values;

        switch (id) {
        case OPT_UPDATE:
                o->update = true;
                return 0;
        case OPT_CHECK:
                o->check = true;
                return 0;
        case OPT_FETCH:
                o->fetch = true;
                return 0;
        default:
                o->json = true;
                return 0;
        }
}

/* "--update tmux RECIPE" is as good as "RECIPE --update tmux": the recipe is what is called
 * *.json. */
static void recipe_first(VerbCall *call) {
        char **a = call->arguments;
        size_t i = 0;

        while (i < call->n_arguments && !endswith(a[i], ".json"))
                i++;
        if (i == call->n_arguments)
                return;
        for (; i > 0; i--) {
                char *name = a[i - 1];

                a[i - 1] = a[i];
                a[i] = name;
        }
}

static int check(VerbCall *call) {
        LockOptions *o = call->options;

        if (call->n_arguments == 0 || (call->n_arguments > 1 && !o->update))
                return -EINVAL;
        if (o->fetch && o->check) {
                log_error("--check writes nothing, and --fetch does: give one of them");
                return EXIT_USAGE;
        }

        recipe_first(call);
        if (call->n_arguments > 1)
                o->names = call->arguments + 1;
        return 0;
}

static int run(VerbCall *call) {
        call->ctx->downloads = call->common.jobs;
        return lock(call->ctx, call->options, call->arguments[0]);
}

const Verb verb_lock = {
        .spec = { "lock", "write or move the lock file: exact packages and artifacts", options,
                        "RECIPE", COMPLETE_FILE, "*.json" },
        .usage = "RECIPE [--update [NAME…]] [OPTION…]",
        .about = "Completes the recipe's lock file with what it lacks: exact packages and artifacts. What is locked stays.",
        .needs_store = true,
        .wanted = "takes one recipe, and names of packages only with --update",
        .options_size = sizeof(LockOptions),
        .take = take,
        .check = check,
        .run = run,
};
