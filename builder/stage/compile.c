/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Compile stages: the build packages live in a layer of scratch that nobody keeps; what the script
 * puts into $DESTDIR becomes the stage's layer. So neither compilers nor headers ever are in an
 * image. */

#include "stage/internal.h"
#include "store/store.h"
#include "stage/unpack.h"
#include "lock/lock.h"
#include "sandbox/complaint.h"
#include "sandbox/copy-tree.h"
#include "sandbox/open-inside.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <fts.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define INSIDE_SOURCE INSIDE "/source"
#define INSIDE_DEST INSIDE "/dest"
#define INSIDE_BUILD INSIDE "/build"
#define INSIDE_ARTIFACTS INSIDE "/artifacts"
#define INSIDE_CONTEXT INSIDE "/context"
#define CONTEXT "context"
#define CONTEXT_MAX 1024 /* bytes */

/* The compiler's first complaint; everything after it is often only its echo. */
static void remember_error(const char *line, void *userdata) {
        complaint_take(userdata, line, 0, 0);
}

/* "g++ is not in the tree …: in compile[0].packages of overlays/x/overlay.json" */
static char *missing_text(const StageBuild *b, const Complaint *c) {
        _cleanup_free_ char *remedy = c->missing ? complaint_remedy(c->missing) : NULL;

        return remedy ? strf(". %s to $.compile[%zu].packages of %s", remedy, b->stage->index,
                                        b->stage->overlay->file)
                      : strdup("");
}

/* Of the kernel that the script builds for; NULL: of none. */
static const char *seen_kernel(const StageBuild *b) {
        return b->stage->overlay->compile[b->stage->index].on == COMPILE_ON_BASE ? NULL
                                                                                 : b->plan->kernel;
}

/* One message with all that matters: what was compiled for what (the script's own line where it
 * wrote one), and the compiler's first error. */
static int explain(const StageBuild *b, const Complaint *c, const char *folder, int status) {
        _cleanup_free_ char *context = NULL, *missing = missing_text(b, c);
        const char *kernel = seen_kernel(b);

        if (inside_read_output(folder, CONTEXT, CONTEXT_MAX, &context, NULL) >= 0)
                context[strcspn(context, "\n")] = '\0';
        if (isempty(context)) {
                free(context);
                context = strf("%s%s%s", b->stage->overlay->name, kernel ? " with kernel " : "",
                                strempty(kernel));
        }

        if (c->first)
                log_error("Stage %s: %s does not compile: %s%s", b->stage->id, strempty(context),
                                c->first, strempty(missing));
        else
                log_error("Stage %s: %s does not compile: the script ended with exit code %d",
                                b->stage->id, strempty(context), status);
        return -EIO;
}

typedef struct Folders {
        char *upper, *work, *dest, *temporary, *build, *artifacts, *context;
} Folders;

static void folders_done(Folders *f) {
        char **const all[] = { &f->upper, &f->work, &f->dest, &f->temporary, &f->build,
                &f->artifacts };

        for (size_t i = 0; i < ELEMENTSOF(all); i++) {
                if (*all[i])
                        (void) rm_rf(*all[i]);
                free(*all[i]);
        }
        free(f->context);
}

static int folders_make(StageBuild *b, Folders *f) {
        const struct {
                const char *name;
                char **path;
        } wanted[] = {
                { "compile-upper", &f->upper },
                { "compile-work", &f->work },
                { "compile-dest", &f->dest },
                { "compile-tmp", &f->temporary },
                { "compile-build", &f->build },
                { "compile-artifacts", &f->artifacts },
        };

        for (size_t i = 0; i < ELEMENTSOF(wanted); i++) {
                int r = store_scratch(b->ctx->store, wanted[i].name, wanted[i].path);

                if (r < 0)
                        return r;
        }
        if (chmod(f->temporary, 01777) < 0)
                return -errno;
        f->context = path_join(f->build, CONTEXT);
        return f->context ? write_file_atomic(f->context, "", 0, 0644) : -ENOMEM;
}

static int script_environment(const StageBuild *b, const Compile *c, char ***ret) {
        _cleanup_strv_free_ char **env = NULL;
        int r;

        r = strv_extend_strv(&env, ARGV("DESTDIR=" INSIDE_DEST, "IMGBUILD_CONTEXT=" INSIDE_CONTEXT,
                                                   "ARTIFACTS=" INSIDE_ARTIFACTS));
        if (r < 0)
                return r;
        r = strv_extendf(&env, "JOBS=%u", b->ctx->jobs);
        if (r < 0)
                return r;
        if (c->source) {
                r = strv_extend(&env, "SRCDIR=" INSIDE_SOURCE);
                if (r < 0)
                        return r;
        }
        if (seen_kernel(b)) {
                r = strv_extendf(&env, "KERNEL=%s", seen_kernel(b));
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(env);
        return 0;
}

static int run_script(StageBuild *b, Sandbox *s, const Compile *c, const Folders *f) {
        _cleanup_strv_free_ char **env = NULL;
        _cleanup_(complaint_done) Complaint complaint = {};
        _cleanup_free_ char *build = path_join(f->build, "build");
        const SpawnOptions options = { .on_line = remember_error, .line_data = &complaint };
        int r, status;

        if (!build || script_environment(b, c, &env) < 0)
                return log_oom();
        if (mkdir(build, 0755) < 0)
                return log_error_errno(-errno, "Stage %s: no room to build", b->stage->id);

        const SandboxBind binds[] = {
                { c->script, INSIDE_SCRIPT, false },
                { f->dest, INSIDE_DEST, true },
                { f->context, INSIDE_CONTEXT, true },
                { f->temporary, "/tmp", true },
                { build, INSIDE_BUILD, true },
                { f->artifacts, INSIDE_ARTIFACTS, true },
                { c->source, INSIDE_SOURCE, false },
        };
        s->binds = binds;
        s->n_binds = ELEMENTSOF(binds) - (c->source ? 0 : 1);
        s->env = env;
        s->cwd = INSIDE_BUILD;
        s->script = c->script;
        r = logged_command_status(
                        b->ctx, b->stage->id, s, &options, ARGV(INSIDE_SCRIPT), false, &status);
        if (r < 0)
                return r;
        return status == 0 ? 0 : explain(b, &complaint, f->build, status);
}

static int copy_dest(const char *root, void *userdata) {
        const CopyOptions options = { .what = "$DESTDIR" };

        return copy_tree(userdata, root, "/", &options);
}

static int add_assumed(const char *root, void *userdata) {
        const StageBuild *b = userdata;

        return assumed_add(root, b->stage->overlay->compile[b->stage->index].without,
                        b->plan->recipe->base.arch);
}

static void fts_closep(FTS **f) {
        if (*f)
                fts_close(*f);
}

static int remove_attribute(const char *folder, const char *attribute) {
        char *const paths[] = { (char *) folder, NULL };
        _cleanup_(fts_closep) FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);

        if (!fts)
                return -errno;
        for (;;) {
                const FTSENT *e;

                errno = 0;
                e = fts_read(fts);
                if (!e)
                        return -errno;
                if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR || e->fts_info == FTS_NS)
                        return -e->fts_errno;
                if (e->fts_info == FTS_D && lremovexattr(e->fts_accpath, attribute) < 0 &&
                                errno != ENODATA)
                        return -errno;
        }
}

/* A folder that overlayfs makes hides one of its name in layers below: right where this stage was
 * made, for there was none. Packages that this stage did not see may bring one. */
static int uncover(StageBuild *b) {
        int r = remove_attribute(b->sandbox.upper, store_userxattr(b->ctx->store)
                                                                   ? "user.overlay.opaque"
                                                                   : "trusted.overlay.opaque");

        return r < 0 ? log_error_errno(r, "Stage %s: cannot finish its layer", b->stage->id) : 0;
}

/* One source archive, in the child that may be confused by it. */
typedef struct Source {
        const Artifact *artifact;
        const char *blob, *folder;
} Source;

static int unpack_source(const char *root _unused_, void *userdata) {
        const Source *s = userdata;
        _cleanup_free_ char *why = NULL;
        int r;

        r = unpack_archive(s->blob, s->folder, s->artifact->strip, &why);
        if (r == -EBADMSG) {
                log_error("Artifact %s cannot be unpacked: %s. What is at %s?", s->artifact->name,
                                strempty(why), s->artifact->url);
                return -EIO;
        }
        return r < 0 ? log_error_errno(r, "Artifact %s cannot be unpacked", s->artifact->name) : 0;
}

static int add_source(StageBuild *b, const Artifact *a, const Folders *f) {
        const LockedArtifact *locked =
                        lock_find_artifact(b->plan->lock, b->stage->overlay->name, a->name);
        _cleanup_free_ char *blob = NULL, *folder = path_join(f->artifacts, a->name);

        if (!locked)
                return log_error_return(-ESTALE,
                                "Stage %s: the lock does not have %s: 'imgbuild lock %s' adds it",
                                b->stage->id, a->name, b->plan->recipe->path);
        blob = store_blob_path(b->ctx->store, locked->sha256);
        if (!blob || !folder)
                return log_oom();
        if (mkdir(folder, 0755) < 0)
                return log_error_errno(
                                -errno, "Stage %s: no room to unpack %s", b->stage->id, a->name);

        progress_detail(b->ctx->progress, b->stage->id, a->name);
        return sandbox_call(&b->sandbox, unpack_source,
                        &(Source) { .artifact = a, .blob = blob, .folder = folder });
}

static int add_sources(StageBuild *b, const Folders *f) {
        const Overlay *o = b->stage->overlay;

        for (size_t i = 0; i < o->n_artifacts; i++) {
                int r;

                if (!plan_stage_uses(b->stage, o->artifacts + i))
                        continue;
                r = add_source(b, o->artifacts + i, f);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int compile(StageBuild *b, const Compile *c, const Folders *f) {
        _cleanup_strv_free_ char **blobs = NULL, **names = NULL;
        Sandbox s = b->sandbox;
        int r;

        s.upper = f->upper;
        s.work = f->work;
        r = stage_locked_debs(b, b->stage->locked, &blobs, &names);
        if (r < 0)
                return r == -ENOMEM ? log_oom() : r;
        if (c->without) {
                r = sandbox_call(&s, add_assumed, b);
                if (r < 0)
                        return log_error_errno(r, "Stage %s: dpkg's status cannot be completed",
                                        b->stage->id);
        }
        r = stage_install(b, &s, blobs, names);
        if (r < 0)
                return r;
        r = add_sources(b, f);
        return r < 0 ? r : run_script(b, &s, c, f);
}

int stage_compile(StageBuild *b) {
        const Compile *c = b->stage->overlay->compile + b->stage->index;
        _cleanup_(folders_done) Folders f = {};
        int r;

        r = folders_make(b, &f);
        if (r < 0)
                return log_error_errno(r, "Stage %s: cannot make room for it", b->stage->id);
        r = compile(b, c, &f);
        if (r < 0)
                return r;
        r = sandbox_call(&b->sandbox, copy_dest, f.dest);
        return r < 0 ? r : uncover(b);
}
