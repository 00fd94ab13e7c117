/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The list of stages, in the order that plan/plan.h gives. */

#include "plan/internal.h"
#include "shared/log.h"

/* Takes `id`; NULL on out of memory. */
static Stage *stage_add(Plan *p, StageKind kind, const Overlay *overlay, size_t index, char *id) {
        Stage *grown;

        if (!id)
                return NULL;
        grown = reallocarray(p->stages, p->n_stages + 1, sizeof(Stage));
        if (!grown) {
                free(id);
                return NULL;
        }
        p->stages = grown;
        Stage *s = p->stages + p->n_stages++;
        *s = (Stage) { .kind = kind, .id = id, .overlay = overlay, .index = index };
        return s;
}

/* Base, kernel and packages: what the lock has for the image itself. */
static int add_packages(Plan *p, PackageRequest *requests, size_t n) {
        for (size_t i = 0; i < n; i++) {
                PackageRequest *q = requests + i;
                StageKind kind = STAGE_PACKAGES;

                if (streq(q->id, "base"))
                        kind = p->recipe->base.image ? STAGE_IMAGE : STAGE_BASE;

                if (q->throwaway)
                        continue;
                if (!stage_add(p, kind, q->overlay, 0, TAKE_PTR(q->id)))
                        return -ENOMEM;
        }
        return 0;
}

static int add_package_stages(Plan *p) {
        PackageRequest *requests = NULL;
        size_t n;
        int r;

        r = lock_package_requests(p->recipe, &requests, &n);
        if (r < 0)
                return r;
        r = add_packages(p, requests, n);
        package_requests_free(requests, n);
        return r;
}

static int add_artifacts(Plan *p, const Overlay *o) {
        size_t n = 0;

        for (size_t i = 0; i < o->n_artifacts; i++)
                n += o->artifacts[i].kind != INSTALL_SOURCE;
        if (n == 0)
                return 0;
        return stage_add(p, STAGE_ARTIFACTS, o, 0, strf("artifacts:%s", o->name)) ? 0 : -ENOMEM;
}

static int add_compiles_on(Plan *p, const Overlay *o, CompilePlace on) {
        for (size_t k = 0; k < o->n_compile; k++)
                if (o->compile[k].on == on && !stage_add(p, STAGE_COMPILE, o, k,
                                                              strf("compile:%s/%zu", o->name, k)))
                        return -ENOMEM;
        return 0;
}

static int add_compiles_on_packages(Plan *p, const Overlay *o) {
        return add_compiles_on(p, o, COMPILE_ON_PACKAGES);
}

static int add_compiles_on_base(Plan *p, const Overlay *o) {
        return add_compiles_on(p, o, COMPILE_ON_BASE);
}

static int add_compiles_on_python(Plan *p, const Overlay *o) {
        return add_compiles_on(p, o, COMPILE_ON_PYTHON);
}

static int add_environments(Plan *p, const Overlay *o) {
        for (size_t i = 0; i < p->recipe->n_overlays; i++)
                if (p->recipe->overlays[i] == o && lock_leads_environment(p->recipe, i) &&
                                !stage_add(p, STAGE_PYTHON, o, 0,
                                                strf("python:%s", o->python.environment)))
                        return -ENOMEM;
        return 0;
}

static int add_files(Plan *p, const Overlay *o, bool early) {
        int r = plan_has_files(o, early);
        Stage *s;

        if (r < 0)
                return log_error_errno(r, "%s/files: cannot read it", o->path);
        if (r == 0)
                return 0;
        s = stage_add(p, STAGE_FILES, o, 0,
                        strf("%s:%s", early ? "early-files" : "files", o->name));
        if (!s)
                return -ENOMEM;
        s->early = early;
        return 0;
}

static int add_runs(Plan *p, const Overlay *o, bool early) {
        for (size_t k = 0; k < o->n_run; k++) {
                Stage *s;

                if (o->run[k].early != early)
                        continue;
                s = stage_add(p, STAGE_RUN, o, k, strf("run:%s/%zu", o->name, k));
                if (!s)
                        return -ENOMEM;
                s->early = early;
        }
        return 0;
}

static int add_early_files(Plan *p, const Overlay *o) {
        return add_files(p, o, true);
}

static int add_early_runs(Plan *p, const Overlay *o) {
        return add_runs(p, o, true);
}

static int add_other_files(Plan *p, const Overlay *o) {
        return add_files(p, o, false);
}

static int add_other_runs(Plan *p, const Overlay *o) {
        return add_runs(p, o, false);
}

static int add_for_each(Plan *p, int (*add)(Plan *, const Overlay *)) {
        for (size_t i = 0; i < p->recipe->n_overlays; i++) {
                int r = add(p, p->recipe->overlays[i]);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* One of the image's own, which belongs to no overlay. */
static int add_single(Plan *p, StageKind kind, const char *id, bool wanted) {
        if (!wanted)
                return 0;
        return stage_add(p, kind, NULL, 0, strdup(id)) ? 0 : -ENOMEM;
}

bool stage_uses_network(const Stage *s) {
        return s->kind == STAGE_RUN && s->overlay->run[s->index].network;
}

int plan_add_stages(Plan *p) {
        const Recipe *recipe = p->recipe;
        const struct {
                int (*for_each)(Plan *, const Overlay *); /* NULL: a single stage */
                StageKind kind;
                const char *id;
                bool wanted;
        } order[] = {
                { add_artifacts },
                { add_compiles_on_packages },
                { add_early_files },
                { add_early_runs },
                { NULL, STAGE_INITRAMFS, "initramfs", p->kernel },
                { add_compiles_on_base }, /* which may be in the making still */
                { add_environments },
                { add_compiles_on_python },
                { add_other_files },
                { NULL, STAGE_FILES, "node", recipe->node },
                { add_other_runs },
                { NULL, STAGE_SERVICES, "services", recipe->n_overlays > 0 },
                { NULL, STAGE_FINALIZE, "finalize", true },
        };
        int r;

        r = add_package_stages(p);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(order); i++) {
                r = order[i].for_each ? add_for_each(p, order[i].for_each)
                                      : add_single(p, order[i].kind, order[i].id, order[i].wanted);
                if (r < 0)
                        return r;
        }
        return 0;
}
