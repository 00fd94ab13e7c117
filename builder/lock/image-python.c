/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* For which Python an environment's wheels are. What stages install is in the lock; what a base
 * image had before, its database of packages says: dpkg's status file, or rpm's, which only rpm
 * reads, in its sandbox. That takes seconds, and is not asked again while nothing moved. */

#include "lock/dnf.h"
#include "lock/python.h"
#include "lock/resolution.h"

#include "common/dpkg-status.h"
#include "shared/log.h"

/* What of a base image matters here. */
typedef struct Wanted {
        char *const *names;
        LockedStage *stage;
} Wanted;

static int take(const Wanted *w, const char *name, const char *version) {
        if (!strv_contains(w->names, name))
                return 0;
        return locked_stage_add(w->stage,
                        &(LockedPackage) { .name = (char *) name, .version = (char *) version });
}

static int take_dpkg(const DpkgPackage *p, void *userdata) {
        return p->installed ? take(userdata, p->name, p->version) : 0;
}

static int read_dpkg(const char *path, Wanted *w) {
        _cleanup_fclose_ FILE *f = fopen(path, "re");
        int r = f ? dpkg_status_read(f, take_dpkg, w) : -errno;

        return r < 0 ? log_error_errno(r, "%s: cannot read it", path) : 0;
}

static int ask_rpm(const Resolution *x, const char *path, Wanted *w) {
        _cleanup_json_ json_object *question = NULL, *answer = NULL;
        _cleanup_dnf_free_ Dnf *d = NULL;
        json_object *list;
        int r;

        r = dnf_new(x->ctx, x->recipe, &d);
        if (r < 0)
                return r;
        r = dnf_install_database(d, path);
        if (r < 0)
                return r;
        if (dnf_question(d, w->names, &question) < 0)
                return log_oom();
        r = dnf_ask(d, "The base image's Python", "installed", TAKE_PTR(question), &answer);
        if (r < 0)
                return r;
        list = json_get(answer, "packages");
        for (size_t i = 0; i < json_array_length(list); i++) {
                json_object *o = json_object_array_get_idx(list, i);
                const char *name = json_get_string(o, "name"),
                           *version = json_get_string(o, "version");

                if (name && version && take(w, name, version) < 0)
                        return log_oom();
        }
        return 0;
}

static int read_image(const Resolution *x, const char *interpreter, Lock **ret) {
        char *const *names = ARGV("glibc", "libc6", "python3", interpreter);
        _cleanup_lock_free_ Lock *l = NULL;
        _cleanup_free_ char *path = NULL;
        Wanted w = { .names = names };
        int r;

        r = resolution_image_packages(x, &path);
        if (r < 0)
                return r;
        if (lock_new(x->recipe->name, &l) < 0 || lock_add_stage(l, "image", "", &w.stage) < 0)
                return log_oom();
        r = x->recipe->family == FAMILY_EL ? ask_rpm(x, path, &w) : read_dpkg(path, &w);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(l);
        return 0;
}

/* Whether the image has what it had when `old` was locked. */
static bool nothing_moved(const Resolution *x, const Lock *l) {
        if (!streq_ptr(x->old->image.sha256, x->image.sha256) || x->old->n_stages != l->n_stages)
                return false;
        for (size_t i = 0; i < l->n_stages; i++) {
                const LockedStage *before = lock_find_stage(x->old, l->stages[i].id);

                if (!before || !locked_stages_equal(before, l->stages + i))
                        return false;
        }
        return true;
}

int resolution_python(const Resolution *x, const Lock *l, const Overlay *o,
                const LockedEnvironment *old, PythonTarget *ret) {
        const char *interpreter = recipe_interpreter(x->recipe, o->python.environment);
        _cleanup_lock_free_ Lock *image = NULL;
        int r;

        r = python_target(l, NULL, x->recipe, interpreter, ret);
        if (r == -ENOENT && x->image.name && old && nothing_moved(x, l) &&
                        python_target_parse(old->target, ret) >= 0)
                return 0;
        if (r == -ENOENT && x->image.name) {
                r = read_image(x, interpreter, &image);
                if (r < 0)
                        return r;
                r = python_target(l, image, x->recipe, interpreter, ret);
        }
        if (r == -ENOENT)
                return log_error_return(-EINVAL,
                                "Overlay %s fills the Python environment %s, and the image has no %s: add \"%s\" to the overlay's packages, or say another one under python.interpreter",
                                o->name, o->python.environment, interpreter, interpreter);
        return r < 0 ? log_oom() : 0;
}
