/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Recipes and overlays in memory: asked and freed. */

#include "recipe/overlay.h"

bool recipe_overlay_needs(const Overlay *overlay, const Overlay *other) {
        return overlay &&
               (overlay == other || (other && strv_contains(overlay->needs, other->name)));
}

static void repository_done(Repository *r) {
        free(r->name);
        free(r->uri);
        free(r->suite);
        strv_free(r->components);
        free(r->key);
        free(r->fingerprint);
        strv_free(r->modules);
}

void artifact_done(Artifact *a) {
        free(a->name);
        free(a->version);
        free(a->url);
        free(a->sha256);
        free(a->path);
}

static void compile_done(Compile *c) {
        strv_free(c->packages);
        strv_free(c->without);
        free(c->source);
        free(c->script);
}

static void run_done(Run *r) {
        free(r->script);
        strv_free(r->secrets);
}

static void python_done(Python *p) {
        free(p->environment);
        free(p->interpreter);
        strv_free(p->requirements);
        strv_free(p->constraints);
        free(p->index);
}

Overlay *overlay_free(Overlay *o) {
        if (!o)
                return NULL;

        for (size_t i = 0; i < o->n_repositories; i++)
                repository_done(&o->repositories[i]);
        for (size_t i = 0; i < o->n_artifacts; i++)
                artifact_done(&o->artifacts[i]);
        for (size_t i = 0; i < o->n_compile; i++)
                compile_done(&o->compile[i]);
        for (size_t i = 0; i < o->n_run; i++)
                run_done(&o->run[i]);
        for (size_t i = 0; i < o->n_steps; i++)
                step_clear(&o->steps[i]);
        python_done(&o->python);
        free(o->steps);
        free(o->repositories);
        free(o->artifacts);
        free(o->compile);
        free(o->run);
        free(o->name);
        free(o->path);
        free(o->file);
        free(o->description);
        strv_free(o->requires);
        strv_free(o->needs);
        strv_free(o->conflicts);
        strv_free(o->packages);
        strv_free(o->services.enable);
        strv_free(o->services.disable);
        strv_free(o->services.mask);
        strv_free(o->checks);
        json_object_put(o->modes);
        json_object_put(o->node);
        free(o);
        return NULL;
}

void overlays_free(Overlay **overlays, size_t n) {
        for (size_t i = 0; i < n; i++)
                overlay_free(overlays[i]);
        free(overlays);
}

Recipe *recipe_free(Recipe *r) {
        if (!r)
                return NULL;
        overlays_free(r->overlays, r->n_overlays);
        free(r->name);
        free(r->path);
        free(r->lock_path);
        strv_free(r->sources);
        free(r->base.distro);
        free(r->base.release);
        free(r->base.arch);
        strv_free(r->base.components);
        free(r->base.mirror);
        strv_free(r->base.packages);
        for (size_t i = 0; i < r->base.n_repositories; i++)
                repository_done(r->base.repositories + i);
        free(r->base.repositories);
        free(r->base.image);
        free(r->base.sha256);
        free(r->base.root);
        free(r->base.signature.file);
        free(r->base.signature.checksums);
        free(r->base.signature.key);
        free(r->base.signature.fingerprint);
        free(r->kernel.package);
        free(r->kernel.cmdline);
        strv_free(r->kernel.options);
        strv_free(r->packages);
        free(r->disk.filesystem);
        strv_free(r->disk.firmware);
        strv_free(r->disk.formats);
        json_object_put(r->node);
        for (size_t i = 0; i < r->n_secrets; i++) {
                free(r->secrets[i].name);
                free(r->secrets[i].overlay);
        }
        free(r->secrets);
        free(r);
        return NULL;
}
