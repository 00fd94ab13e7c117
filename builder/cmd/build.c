/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild build: the whole of a build, from the recipe to a finished folder under out/.
 * Everything is made in OUT/.NAME.new and appears as OUT/NAME in one rename. */

#include "check/check.h"
#include "cmd/build.h"
#include "common/apart.h"
#include "disk/disk.h"
#include "plan/plan.h"
#include "shared/file-util.h"
#include "shared/time-util.h"
#include "stage/stage.h"
#include "store/store.h"

enum {
        OPT_NO_PROOF = OPT_VERB,
        OPT_FORCE,
        OPT_LOCKED,
        OPT_DROP_DOWNLOADS,
        OPT_ON_ERROR,
        OPT_SECRET
};

typedef struct Clock {
        ManifestTiming timings[16];
        size_t n;
        uint64_t last;
} Clock;

static void lap(Clock *c, const char *what) {
        uint64_t now = now_usec();

        if (c->n < ELEMENTSOF(c->timings))
                c->timings[c->n++] = (ManifestTiming) { what, now - c->last };
        c->last = now;
}

static int run_checks(Context *ctx, const Plan *plan, char *const *layers, Findings *findings) {
        int r;

        progress_set(ctx->progress, "check", PROGRESS_RUNNING);
        r = check_tree(ctx, plan, layers, findings);
        progress_set(ctx->progress, "check",
                        r < 0 || findings_errors(findings) > 0 ? PROGRESS_FAILED : PROGRESS_DONE);
        if (r < 0)
                return log_error_errno(r, "The finished tree could not be checked");
        for (size_t i = 0; i < findings->n; i++) {
                const Finding *f = findings->findings + i;

                log_full(f->warning ? LOG_WARNING : LOG_ERR, 0, "check %s: %s\n  what to do: %s",
                                f->rule, f->found, f->remedy);
        }
        return findings_errors(findings) > 0 ? -EIO : 0;
}

/* Reads back what is delivered: `files` in `folder`, of these formats. */
static int prove(Context *ctx, DiskProof *proof, const DiskInfo *disk, char *const *formats,
                const char *folder, char *const *files) {
        int r = 0;

        progress_set(ctx->progress, "proof", PROGRESS_RUNNING);
        for (size_t i = 0; files[i] && r >= 0; i++) {
                _cleanup_free_ char *image = path_join(folder, files[i]);

                r = !image ? log_oom()
                           : disk_proof_finish(proof, disk, image,
                                             image_format_find(formats[i])->driver);
        }
        progress_set(ctx->progress, "proof", r < 0 ? PROGRESS_FAILED : PROGRESS_DONE);
        return r;
}

/* What is under way while the tree is checked. */
typedef struct Baking {
        char *raw; /* in scratch */
        DiskProof *proof;
        DiskWriting *writing;
        Apart *removal; /* of the raw disk, once it is exported: a large file takes its time */
} Baking;

static void baking_done(Baking *b) {
        if (b->removal)
                (void) apart_finish(b->removal, "The removal of the raw disk");
        apart_free(b->removal);
        disk_writing_free(b->writing);
        disk_proof_free(b->proof);
        free(b->raw);
}

static int remove_raw(Context *ctx _unused_, void *userdata) {
        const Baking *b = userdata;

        return unlink(b->raw) < 0 ? -errno : 0;
}

static int begin_disk(Context *ctx, const Plan *plan, Tools *tools, char *const *layers,
                const BuildOptions *o, Baking *b) {
        _cleanup_free_ char *scratch = NULL;
        int r;

        r = store_scratch(ctx->store, "disk", &scratch);
        if (r < 0)
                return log_error_errno(r, "Cannot make room for the disk");
        b->raw = path_join(scratch, "disk.raw");
        if (!b->raw)
                return log_oom();
        if (!o->no_proof) {
                r = disk_proof_begin(ctx, plan, layers, &b->proof);
                if (r < 0)
                        return r;
        }
        return disk_writing_begin(ctx, plan, tools, layers, b->raw, &b->writing);
}

/* The disk, its formats, its proof and its manifest, all below `folder`. */
static int make_disk(Context *ctx, const Plan *plan, Tools *tools, Baking *b,
                const Findings *findings, const char *folder, Clock *c) {
        _cleanup_free_ char *manifest = path_join(folder, "manifest.json");
        _cleanup_json_ json_object *base = NULL, *compiled = NULL;
        _cleanup_strv_free_ char **files = NULL;
        bool proved = b->proof;
        DiskInfo disk = {};
        int r;

        if (!manifest)
                return log_oom();
        progress_set(ctx->progress, "disk", PROGRESS_RUNNING);
        r = disk_writing_finish(b->writing, &disk);
        progress_set(ctx->progress, "disk", r < 0 ? PROGRESS_FAILED : PROGRESS_DONE);
        if (r < 0)
                return r;
        lap(c, "disk");

        progress_set(ctx->progress, "export", PROGRESS_RUNNING);
        r = disk_export(ctx, plan, tools, b->raw, folder, &files);
        progress_set(ctx->progress, "export", r < 0 ? PROGRESS_FAILED : PROGRESS_DONE);
        if (r < 0)
                return r;
        lap(c, "export");
        if (ctx->jobs > 1)
                (void) apart_begin(ctx, remove_raw, b, &b->removal); /* or it goes with scratch */

        if (proved) {
                r = prove(ctx, b->proof, &disk, plan->recipe->disk.formats, folder, files);
                if (r < 0)
                        return r;
                lap(c, "proof");
        }

        r = store_read_layer_meta(ctx->store, plan->stages[0].digest, &base);
        if (r < 0)
                return log_error_errno(r, "The base's layer says nothing of itself");
        r = disk_list_compiled(ctx, plan, &compiled);
        if (r < 0)
                return r;
        r = manifest_write(plan, findings, &disk, files, tools_digest(tools),
                        json_get(base, "made_with"), compiled, proved, c->timings, c->n, manifest);
        if (r < 0)
                return log_error_errno(r, "%s: cannot write the manifest", manifest);
        return 0;
}

/* What nobody asks for may be a misspelt name. */
static int check_secrets(const Context *ctx, const Recipe *recipe) {
        for (size_t i = 0; i < ctx->secrets.n; i++) {
                const char *name = ctx->secrets.secrets[i].name;

                if (!recipe_names_secret(recipe, name))
                        return log_error_return(-EINVAL,
                                        "--secret=%s=…: %s has no such secret under \"secrets\"",
                                        name, recipe->path);
        }
        return 0;
}

static int build(Context *ctx, const BuildOptions *o, const char *recipe_path) {
        _cleanup_loaded_ Loaded loaded = {};
        _cleanup_tools_free_ Tools *tools = NULL;
        _cleanup_output_free_ Output *output = NULL;
        _cleanup_strv_free_ char **layers = NULL;
        _cleanup_(findings_done) Findings findings = {};
        _cleanup_maker_ Maker maker = {};
        _cleanup_(baking_done) Baking baking = {};
        Clock clock = { .last = now_usec() };
        int r;

        r = lock_and_plan(ctx, recipe_path, NULL, &loaded);
        if (r < 0)
                return r;
        r = check_secrets(ctx, loaded.recipe);
        if (r < 0)
                return r;
        const Plan *plan = loaded.plan;
        lap(&clock, "plan");

        if (loaded.recipe->kind == RECIPE_DISK) {
                r = output_open(o->output, plan, !o->no_proof, &output);
                if (r < 0)
                        return r;
                r = output_settle(output);
                if (r < 0)
                        return r;
                r = o->force ? 0 : output_is_current(output, ctx, recipe_path);
                if (r < 0)
                        return r;
                if (r > 0) {
                        log_info("%s is up to date", output_folder(output));
                        return 0;
                }
                r = output_check(output);
                if (r < 0)
                        return r;
                r = tools_open(ctx, recipe_path, &tools);
                if (r < 0)
                        return r;
                lap(&clock, "tools");
        }

        r = tools_maker(ctx, loaded.plan, &maker);
        if (r < 0)
                return r;
        r = stages_build(ctx, plan, &maker, plan->n_stages - 1);
        if (r < 0)
                return r;
        lap(&clock, "stages");

        r = stages_layers(ctx, plan, plan->n_stages - 1, &layers);
        if (r < 0)
                return log_oom();
        if (loaded.recipe->kind == RECIPE_DISK) {
                r = begin_disk(ctx, plan, tools, layers, o, &baking);
                if (r < 0)
                        return r;
        }
        r = run_checks(ctx, plan, layers, &findings);
        if (r < 0)
                return r;
        lap(&clock, "check");

        if (loaded.recipe->kind == RECIPE_TREE) {
                log_info("The tree %s is in the store, digest %s", loaded.recipe->name,
                                plan->stages[plan->n_stages - 1].digest);
                return 0;
        }

        r = output_begin(output);
        if (r < 0)
                return r;
        r = make_disk(ctx, plan, tools, &baking, &findings, output_draft(output), &clock);
        if (r < 0)
                return r;
        r = output_commit(output);
        if (r < 0)
                return r;
        log_info("Baked %s", output_folder(output));
        return 0;
}

static int run(VerbCall *call) {
        const BuildOptions *o = call->options;
        int r;

        call->ctx->locked = o->locked;
        call->ctx->drop_downloads = o->drop_downloads;
        call->ctx->error_shell = o->error_shell;
        STRV_FOREACH (secret, o->secrets) {
                r = secrets_add(&call->ctx->secrets, *secret);
                if (r < 0)
                        return r;
        }
        r = call->n_arguments > 1 ? build_many(call, build)
                                  : build(call->ctx, o, call->arguments[0]);

        if (r < 0 && interrupt_signal())
                log_error("Interrupted; the next build goes on from the finished stages");
        return interrupt_signal() ? EXIT_INTERRUPTED : r;
}

/* One shell, one terminal. */
static int check(VerbCall *call) {
        const BuildOptions *o = call->options;

        if (o->error_shell && call->n_arguments > 1) {
                log_error("--on-error=shell is for one recipe at a time: bake the one that fails by itself");
                return EXIT_USAGE;
        }
        return 0;
}

static const OptionSpec options[] = {
        { "output", 'o', "FOLDER", "where NAME/ appears (default: out)", COMPLETE_FOLDER },
        { "no-proof", OPT_NO_PROOF, NULL, "do not read the finished disk back through libguestfs" },
        { "locked", OPT_LOCKED, NULL, "build only what the lock pins; make or change no lock" },
        { "drop-downloads", OPT_DROP_DOWNLOADS, NULL,
                        "remove each download once the layers made from it are finished" },
        { "on-error", OPT_ON_ERROR, "WHAT",
                        "shell: where a stage's command fails, a shell in the tree as it saw it; end: none\n(the default)",
                        COMPLETE_CHOICES, "shell end" },
        { "secret", OPT_SECRET, "NAME=FILE",
                        "a secret of the recipe's, for the one script that asks for it; may be given several\ntimes" },
        { "force", OPT_FORCE, NULL, "write the disk again even where nothing changed" },
        {},
};

static int take(void *values, int id, const char *value) {
        BuildOptions *o = values;

        switch (id) {
        case 'o':
                o->output = value;
                return 0;
        case OPT_NO_PROOF:
                o->no_proof = true;
                return 0;
        case OPT_DROP_DOWNLOADS:
                o->drop_downloads = true;
                return 0;
        case OPT_ON_ERROR:
                return option_on_error(value, &o->error_shell);
        case OPT_SECRET:
                if (secrets_check_argument(value) < 0)
                        return -EINVAL;
                return strv_extend(&o->secrets, value);
        case OPT_LOCKED:
                o->locked = true;
                return 0;
        default:
                o->force = true;
                return 0;
        }
}

static void done(void *values) {
        const BuildOptions *o = values;

        strv_free(o->secrets);
}

const Verb verb_build = {
        .spec = { "build", "bake recipes into bootable disk images", options, "RECIPE…",
                        COMPLETE_FILE, "*.json" },
        .usage = "RECIPE… [OPTION…]",
        .about = "Bakes a recipe: stages, checks, disk, proof, manifest. A build with nothing changed only says so.\n"
                 "Several recipes are baked at once, as --jobs and memory allow; stages that they share are made once.",
        .needs_root = true,
        .unproved = "--no-proof",
        .needs_store = true,
        .min_arguments = 1,
        .max_arguments = BUILDS_MAX,
        .wanted = "takes a recipe, or up to 64",
        .options_size = sizeof(BuildOptions),
        .defaults = &(const BuildOptions) { .output = "out" },
        .take = take,
        .check = check,
        .run = run,
        .done = done,
};
