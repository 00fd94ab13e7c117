/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The lock in memory: made, searched, sorted, freed. read.c and write.c have its file. */

#include "lock/internal.h"

#include <ctype.h>

/* Grows an array by one zeroed element and returns it. */
static void *grow(void *array, size_t *n, size_t size) {
        void **a = array;
        char *more = reallocarray(*a, *n + 1, size);

        if (!more)
                return NULL;
        *a = more;
        memset(more + *n * size, 0, size);
        return more + (*n)++ * size;
}

/* Copies `from` (NULL stays NULL) and remembers in *failed that memory ran out. */
static char *copy(const char *from, bool *failed) {
        char *s = from ? strdup(from) : NULL;

        *failed = *failed || (from && !s);
        return s;
}

int lock_new(const char *recipe, Lock **ret) {
        _cleanup_lock_free_ Lock *l = calloc(1, sizeof(Lock));

        if (!l || !(l->recipe = strdup(recipe)))
                return -ENOMEM;
        *ret = TAKE_PTR(l);
        return 0;
}

int lock_add_origin(Lock *l, const LockedOrigin *origin) {
        LockedOrigin *o = grow(&l->origins, &l->n_origins, sizeof(*o));
        bool failed = false;

        if (!o)
                return -ENOMEM;
        o->name = copy(origin->name, &failed);
        o->uri = copy(origin->uri, &failed);
        o->suite = copy(origin->suite, &failed);
        o->fingerprint = copy(origin->fingerprint, &failed);
        o->key = copy(origin->key, &failed);
        return failed ? -ENOMEM : 0;
}

int lock_set_image(Lock *l, const LockedImage *image) {
        bool failed = false;

        locked_image_done(&l->image);
        l->image = (LockedImage) { .size = image->size, .newest = image->newest };
        l->image.name = copy(image->name, &failed);
        l->image.root = copy(image->root, &failed);
        l->image.signed_by = copy(image->signed_by, &failed);
        l->image.sha256 = copy(image->sha256, &failed);
        l->image.distro = copy(image->distro, &failed);
        l->image.release = copy(image->release, &failed);
        l->image.kernel = copy(image->kernel, &failed);
        l->image.status = copy(image->status, &failed);
        return failed ? -ENOMEM : 0;
}

void locked_image_done(LockedImage *i) {
        free(i->name);
        free(i->root);
        free(i->signed_by);
        free(i->sha256);
        free(i->distro);
        free(i->release);
        free(i->kernel);
        free(i->status);
        *i = (LockedImage) {};
}

int lock_add_stage(Lock *l, const char *id, const char *request, LockedStage **ret) {
        LockedStage *s = grow(&l->stages, &l->n_stages, sizeof(*s));
        bool failed = false;

        if (!s)
                return -ENOMEM;
        s->id = copy(id, &failed);
        s->request = copy(request, &failed);
        if (failed)
                return -ENOMEM;
        *ret = s;
        return 0;
}

int lock_add_artifact(Lock *l, const LockedArtifact *artifact) {
        LockedArtifact *a = grow(&l->artifacts, &l->n_artifacts, sizeof(*a));
        bool failed = false;

        if (!a)
                return -ENOMEM;
        a->overlay = copy(artifact->overlay, &failed);
        a->name = copy(artifact->name, &failed);
        a->version = copy(artifact->version, &failed);
        a->url = copy(artifact->url, &failed);
        a->sha256 = copy(artifact->sha256, &failed);
        a->size = artifact->size;
        return failed ? -ENOMEM : 0;
}

int locked_stage_add(LockedStage *s, const LockedPackage *package) {
        LockedPackage *p = grow(&s->packages, &s->n_packages, sizeof(*p));
        bool failed = false;

        if (!p)
                return -ENOMEM;
        p->name = copy(package->name, &failed);
        p->version = copy(package->version, &failed);
        p->arch = copy(package->arch, &failed);
        p->sha256 = copy(package->sha256, &failed);
        p->size = package->size;
        p->origin = copy(package->origin, &failed);
        p->path = copy(package->path, &failed);
        p->kernel = copy(package->kernel, &failed);
        return failed ? -ENOMEM : 0;
}

static int compare_package(const void *a, const void *b) {
        const LockedPackage *x = a, *y = b;
        int r = strcmp(x->name, y->name);

        return r != 0 ? r : strcmp(x->arch, y->arch);
}

static int compare_origin(const void *a, const void *b) {
        return strcmp(((const LockedOrigin *) a)->name, ((const LockedOrigin *) b)->name);
}

static int compare_artifact(const void *a, const void *b) {
        const LockedArtifact *x = a, *y = b;
        int r = strcmp(x->overlay, y->overlay);

        return r != 0 ? r : strcmp(x->name, y->name);
}

/* qsort() must not be handed a NULL array. */
static void sort(void *array, size_t n, size_t size, int (*compare)(const void *, const void *)) {
        if (n > 1)
                qsort(array, n, size, compare);
}

void locked_stage_sort(LockedStage *s) {
        sort(s->packages, s->n_packages, sizeof(*s->packages), compare_package);
}

void lock_sort(Lock *l) {
        sort(l->origins, l->n_origins, sizeof(*l->origins), compare_origin);
        sort(l->artifacts, l->n_artifacts, sizeof(*l->artifacts), compare_artifact);
        for (size_t i = 0; i < l->n_stages; i++) /* stages keep the plan's order */
                locked_stage_sort(l->stages + i);
        lock_sort_environments(l);
}

const LockedStage *lock_find_stage(const Lock *l, const char *id) {
        for (size_t i = 0; l && i < l->n_stages; i++)
                if (streq(l->stages[i].id, id))
                        return l->stages + i;
        return NULL;
}

const LockedArtifact *lock_find_artifact(const Lock *l, const char *overlay, const char *name) {
        for (size_t i = 0; l && i < l->n_artifacts; i++)
                if (streq(l->artifacts[i].overlay, overlay) && streq(l->artifacts[i].name, name))
                        return l->artifacts + i;
        return NULL;
}

const LockedOrigin *lock_find_origin(const Lock *l, const char *name) {
        for (size_t i = 0; l && i < l->n_origins; i++)
                if (streq(l->origins[i].name, name))
                        return l->origins + i;
        return NULL;
}

const LockedPackage *locked_stage_find(const LockedStage *s, const char *name) {
        for (size_t i = 0; s && i < s->n_packages; i++)
                if (streq(s->packages[i].name, name))
                        return s->packages + i;
        return NULL;
}

const char *lock_kernel_release(const Lock *l) {
        const LockedStage *s = lock_find_stage(l, "kernel");

        /* linux-image-amd64 only depends on the package that carries the kernel:
         * linux-image-6.12.57+deb13-amd64. */
        for (size_t i = 0; s && i < s->n_packages; i++) {
                const char *release = startswith(s->packages[i].name, "linux-image-");

                if (s->packages[i].kernel)
                        return s->packages[i].kernel;
                if (release && isdigit((unsigned char) *release))
                        return release;
        }
        return l ? l->image.kernel : NULL; /* kernel.package may be what the image has already */
}

Lock *lock_free(Lock *l) {
        if (!l)
                return NULL;
        for (size_t i = 0; i < l->n_origins; i++) {
                free(l->origins[i].name);
                free(l->origins[i].uri);
                free(l->origins[i].suite);
                free(l->origins[i].fingerprint);
                free(l->origins[i].key);
        }
        for (size_t i = 0; i < l->n_stages; i++) {
                LockedStage *s = l->stages + i;

                for (size_t k = 0; k < s->n_packages; k++) {
                        LockedPackage *p = s->packages + k;

                        free(p->name);
                        free(p->version);
                        free(p->arch);
                        free(p->sha256);
                        free(p->origin);
                        free(p->path);
                        free(p->kernel);
                }
                free(s->packages);
                free(s->id);
                free(s->request);
        }
        for (size_t i = 0; i < l->n_artifacts; i++) {
                LockedArtifact *a = l->artifacts + i;

                free(a->overlay);
                free(a->name);
                free(a->version);
                free(a->url);
                free(a->sha256);
        }
        lock_free_environments(l);
        locked_image_done(&l->image);
        free(l->origins);
        free(l->stages);
        free(l->artifacts);
        free(l->recipe);
        free(l);
        return NULL;
}
