/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/plan.h"
#include "plan/dpkg-options.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "plan/stage-digest.h"
#include "shared/strv.h"

#include <dirent.h>
#include <sys/stat.h>

/* What mkinitramfs and depmod read, besides what packages install. A file below one of these is
 * copied before the initramfs is made, everything else after it. */
const char *const plan_early_prefixes[] = {
        "etc/cryptsetup-initramfs",
        "etc/crypttab",
        "etc/depmod.d",
        "etc/dracut.conf",
        "etc/dracut.conf.d",
        "etc/fstab",
        "etc/initramfs-tools",
        "etc/kernel",
        "etc/lvm",
        "etc/mdadm",
        "etc/modprobe.d",
        "etc/modules",
        "etc/modules-load.d",
        "etc/multipath",
        "etc/multipath.conf",
        "etc/udev",
        "lib/firmware",
        "lib/modprobe.d",
        "lib/modules",
        "lib/udev",
        "usr/lib/dracut",
        "usr/lib/firmware",
        "usr/lib/modprobe.d",
        "usr/lib/modules",
        "usr/lib/modules-load.d",
        "usr/lib/udev",
        "usr/share/initramfs-tools",
        NULL,
};

/* path: relative to the image's root. */
bool plan_path_is_early(const char *path) {
        while (*path == '/')
                path++;
        for (const char *const *p = plan_early_prefixes; *p; p++) {
                const char *rest = startswith(path, *p);
                if (rest && (*rest == '\0' || *rest == '/'))
                        return true;
        }
        return false;
}

/* Whether files/ has anything for the early (or the other) copy. 1, 0 or negative errno. */
static int has_files(const char *root, const char *below, bool early) {
        _cleanup_free_ char *folder = path_join(root, below);
        int found = 0;
        DIR *d;

        if (!folder)
                return -ENOMEM;
        d = opendir(folder);
        if (!d)
                return -errno;
        for (struct dirent *e; found == 0 && (e = readdir(d));) {
                _cleanup_free_ char *path = NULL, *full = NULL;
                struct stat st;

                if (streq(e->d_name, ".") || streq(e->d_name, ".."))
                        continue;
                path = *below ? path_join(below, e->d_name) : strdup(e->d_name);
                full = path ? path_join(root, path) : NULL;
                if (!full) {
                        found = -ENOMEM;
                        break;
                }
                if (lstat(full, &st) < 0)
                        found = -errno;
                else if (plan_path_is_early(path))
                        found = early;
                else if (S_ISDIR(st.st_mode)) {
                        found = has_files(root, path, early);
                        if (found == 0 && !early) { /* an empty folder is meant too */
                                int other = has_files(root, path, true);
                                found = other < 0 ? other : other == 0;
                        }
                } else
                        found = !early;
        }
        closedir(d);
        return found;
}

static int overlay_has_files(const Overlay *o, bool early) {
        _cleanup_free_ char *root = NULL;

        if (!o->has_files)
                return 0;
        root = path_join(o->path, "files");
        return root ? has_files(root, "", early) : -ENOMEM;
}

static int request_add(PackageRequest **l, size_t *n, char *id, char *const *packages,
                const Overlay *overlay, const Compile *compile) {
        PackageRequest *grown;
        char **copy = strv_copy(packages);

        if (!id || !copy || !(grown = reallocarray(*l, *n + 1, sizeof(*grown)))) {
                free(id);
                strv_free(copy);
                return -ENOMEM;
        }
        *l = grown;
        (*l)[(*n)++] = (PackageRequest) { id, copy, compile ? compile->without : NULL, overlay,
                compile != NULL };
        return 0;
}

void package_requests_free(PackageRequest *requests, size_t n) {
        for (size_t i = 0; i < n; i++) {
                free(requests[i].id);
                strv_free(requests[i].packages);
        }
        free(requests);
}

static const Overlay *find_overlay(const Recipe *recipe, const char *name) {
        for (size_t i = 0; i < recipe->n_overlays; i++)
                if (streq(recipe->overlays[i]->name, name))
                        return recipe->overlays[i];
        return NULL;
}

/* Whether `o` is `other` or requires it, itself or through others. */
static bool builds_on(const Recipe *recipe, const Overlay *o, const Overlay *other) {
        if (!o || o == other)
                return o;
        STRV_FOREACH (name, o->requires)
                if (builds_on(recipe, find_overlay(recipe, *name), other))
                        return true;
        return false;
}

/* A repository without packages still counts: later overlays may install from it. */
static bool has_package_stage(const Overlay *o) {
        return strv_length(o->packages) > 0 || o->n_repositories > 0;
}

/* The overlay whose packages are the last that the compile stages of `o` see; NULL: none, only
 * base and kernel. */
static const Overlay *compile_base(const Recipe *recipe, const Overlay *o) {
        const Overlay *last = NULL;

        for (size_t i = 0; i < recipe->n_overlays; i++)
                if (has_package_stage(recipe->overlays[i]) &&
                                builds_on(recipe, o, recipe->overlays[i]))
                        last = recipe->overlays[i];
        return last;
}

/* The requests of all compile stages that see the packages up to those of `base` and no more. */
static int request_compiles(
                PackageRequest **l, size_t *n, const Recipe *recipe, const Overlay *base) {
        int r = 0;

        for (size_t i = 0; r >= 0 && i < recipe->n_overlays; i++) {
                const Overlay *o = recipe->overlays[i];

                if (o->n_compile == 0 || compile_base(recipe, o) != base)
                        continue;
                for (size_t k = 0; r >= 0 && k < o->n_compile; k++)
                        r = request_add(l, n, strf("compile:%s/%zu", o->name, k),
                                        o->compile[k].packages, o, o->compile + k);
        }
        return r;
}

int plan_package_requests(const Recipe *recipe, PackageRequest **ret, size_t *ret_n) {
        PackageRequest *l = NULL;
        size_t n = 0;
        int r;

        r = request_add(&l, &n, strdup("base"), recipe->base.packages, NULL, NULL);
        if (r >= 0 && recipe->kernel.package) {
                char *packages[] = { recipe->kernel.package, NULL };
                r = request_add(&l, &n, strdup("kernel"), packages, NULL, NULL);
        }
        if (r >= 0)
                r = request_compiles(&l, &n, recipe, NULL);
        for (size_t i = 0; r >= 0 && i < recipe->n_overlays; i++) {
                const Overlay *o = recipe->overlays[i];

                if (!has_package_stage(o))
                        continue;
                r = request_add(&l, &n, strf("packages:%s", o->name), o->packages, o, NULL);
                if (r >= 0)
                        r = request_compiles(&l, &n, recipe, o);
        }
        if (r >= 0 && strv_length(recipe->packages) > 0)
                r = request_add(&l, &n, strdup("packages"), recipe->packages, NULL, NULL);
        if (r < 0) {
                package_requests_free(l, n);
                return r;
        }
        *ret = l;
        *ret_n = n;
        return 0;
}

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

static int add_files(Plan *p, const Overlay *o, bool early) {
        int r = overlay_has_files(o, early);
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
                if (o->run[k].early != early)
                        continue;
                Stage *s = stage_add(p, STAGE_RUN, o, k, strf("run:%s/%zu", o->name, k));
                if (!s)
                        return -ENOMEM;
                s->early = early;
        }
        return 0;
}

static int add_stages(Plan *p) {
        const Recipe *recipe = p->recipe;
        PackageRequest *requests = NULL;
        size_t n_requests;
        int r;

        r = plan_package_requests(recipe, &requests, &n_requests);
        if (r < 0)
                return r;
        for (size_t i = 0; r >= 0 && i < n_requests; i++) {
                PackageRequest *q = requests + i;
                StageKind kind = streq(q->id, "base") ? STAGE_BASE : STAGE_PACKAGES;

                if (q->throwaway)
                        continue;
                if (!stage_add(p, kind, q->overlay, 0, TAKE_PTR(q->id)))
                        r = -ENOMEM;
        }
        package_requests_free(requests, n_requests);

        for (size_t i = 0; r >= 0 && i < recipe->n_overlays; i++)
                if (recipe->overlays[i]->n_artifacts > 0 &&
                                !stage_add(p, STAGE_ARTIFACTS, recipe->overlays[i], 0,
                                                strf("artifacts:%s", recipe->overlays[i]->name)))
                        r = -ENOMEM;
        for (size_t i = 0; r >= 0 && i < recipe->n_overlays; i++)
                for (size_t k = 0; r >= 0 && k < recipe->overlays[i]->n_compile; k++)
                        if (!stage_add(p, STAGE_COMPILE, recipe->overlays[i], k,
                                            strf("compile:%s/%zu", recipe->overlays[i]->name, k)))
                                r = -ENOMEM;
        for (size_t i = 0; r >= 0 && i < recipe->n_overlays; i++)
                r = add_files(p, recipe->overlays[i], true);
        for (size_t i = 0; r >= 0 && i < recipe->n_overlays; i++)
                r = add_runs(p, recipe->overlays[i], true);
        if (r >= 0 && recipe->kernel.package &&
                        !stage_add(p, STAGE_INITRAMFS, NULL, 0, strdup("initramfs")))
                r = -ENOMEM;
        for (size_t i = 0; r >= 0 && i < recipe->n_overlays; i++)
                r = add_files(p, recipe->overlays[i], false);
        if (r >= 0 && recipe->node && !stage_add(p, STAGE_FILES, NULL, 0, strdup("node")))
                r = -ENOMEM;
        for (size_t i = 0; r >= 0 && i < recipe->n_overlays; i++)
                r = add_runs(p, recipe->overlays[i], false);
        if (r >= 0 && recipe->n_overlays > 0 &&
                        !stage_add(p, STAGE_SERVICES, NULL, 0, strdup("services")))
                r = -ENOMEM;
        if (r >= 0 && !stage_add(p, STAGE_FINALIZE, NULL, 0, strdup("finalize")))
                r = -ENOMEM;
        return r;
}

bool plan_stage_sees(const Plan *p, size_t i, size_t below) {
        const Stage *s = p->stages + i, *t = p->stages + below;
        const Overlay *base;

        if (below >= i || s->kind != STAGE_COMPILE)
                return below < i;
        if (t->kind == STAGE_ARTIFACTS || t->kind == STAGE_COMPILE)
                return builds_on(p->recipe, s->overlay, t->overlay);
        if (t->kind == STAGE_BASE || streq(t->id, "kernel"))
                return true;
        base = compile_base(p->recipe, s->overlay);
        if (!base || !t->overlay)
                return false;
        for (size_t k = 0; k < p->recipe->n_overlays; k++) {
                if (p->recipe->overlays[k] == t->overlay)
                        return true;
                if (p->recipe->overlays[k] == base)
                        return false;
        }
        return false;
}

int plan_new(const Recipe *recipe, const Lock *lock, Plan **ret) {
        _cleanup_plan_free_ Plan *p = calloc(1, sizeof(*p));
        int r;

        if (!p)
                return -ENOMEM;
        p->recipe = recipe;
        p->lock = lock;
        if (recipe->kernel.package) {
                p->kernel = lock_kernel_release(lock);
                if (!p->kernel)
                        return -ESTALE;
        }
        r = dpkg_options_load(recipe, &p->dpkg_options);
        if (r >= 0)
                r = add_stages(p);
        if (r < 0)
                return r;
        r = plan_digest_stages(p);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(p);
        return 0;
}

const Stage *plan_find(const Plan *p, const char *id) {
        for (size_t i = 0; i < p->n_stages; i++)
                if (streq(p->stages[i].id, id))
                        return p->stages + i;
        return NULL;
}

Plan *plan_free(Plan *p) {
        if (!p)
                return NULL;
        for (size_t i = 0; i < p->n_stages; i++)
                free(p->stages[i].id);
        free(p->stages);
        strv_free(p->dpkg_options);
        free(p);
        return NULL;
}
