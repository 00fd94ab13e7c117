/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What every rule needs to know of the tree, read once: its kernels, its
 * packages, NVIDIA's modules. */

#include "check/tree.h"

#include "shared/file-util.h"
#include "shared/strv.h"

#include <fcntl.h>

/* A kernel is a folder of modules that holds more than what packages without one leave behind. */
static int find_kernels(Tree *t) {
        _cleanup_strv_free_ char **releases = NULL;
        int r;

        r = tree_list(t, "usr/lib/modules", &releases);
        if (r < 0)
                return r;
        STRV_FOREACH (release, releases) {
                _cleanup_free_ char *kernel = strf("usr/lib/modules/%s/kernel", *release);
                _cleanup_free_ char *image = strf("boot/vmlinuz-%s", *release);

                if (!kernel || !image)
                        return -ENOMEM;
                if (!tree_has(t, kernel) && !tree_has(t, image))
                        continue;
                r = strv_extend(&t->kernels, *release);
                if (r < 0)
                        return r;
        }
        return 0;
}

bool is_module_file(const char *name) {
        return endswith(name, ".ko") || endswith(name, ".ko.xz") || endswith(name, ".ko.zst") ||
               endswith(name, ".ko.gz");
}

/* nvidia.ko, nvidia-uvm.ko.xz, nvidia-current.ko: yes; nvidiafb.ko,
 * nvidia-wmi-…: the kernel's own. */
static bool may_be_driver(const char *name) {
        const char *rest = startswith(name, "nvidia");

        return rest && (*rest == '.' || *rest == '-' || *rest == '_') &&
               !startswith(rest, "-wmi") && is_module_file(name);
}

static void driver_module_done(DriverModule *m) {
        free(m->kernel);
        free(m->path);
        module_info_done(&m->info);
}

typedef struct ModuleSearch {
        Tree *tree;
        const char *kernel;
} ModuleSearch;

static int add_module(const Tree *t, const char *path, const struct stat *st, void *userdata) {
        const ModuleSearch *s = userdata;
        _cleanup_(driver_module_done) DriverModule m = {};
        _cleanup_close_ int fd = -EBADF;
        DriverModule *grown;
        int r;

        if (!S_ISREG(st->st_mode) || !may_be_driver(path_basename(path)))
                return 0;
        fd = tree_open_file(t, path, O_RDONLY);
        if (fd < 0)
                return fd;
        r = module_info_read(fd, &m.info);
        if (r < 0 && r != -EBADMSG) /* a damaged one is a finding, not the end of looking */
                return r;

        m.kernel = strdup(s->kernel);
        m.path = strdup(path);
        if (!m.kernel || !m.path)
                return -ENOMEM;
        grown = reallocarray(s->tree->modules, s->tree->n_modules + 1, sizeof(*grown));
        if (!grown)
                return -ENOMEM;
        s->tree->modules = grown;
        s->tree->modules[s->tree->n_modules++] = m;
        m = (DriverModule) {};
        return 0;
}

static int read_modules(Tree *t) {
        STRV_FOREACH (kernel, t->kernels) {
                _cleanup_free_ char *folder = strf("usr/lib/modules/%s", *kernel);
                int r;

                if (!folder)
                        return -ENOMEM;
                r = tree_walk(t, folder, add_module, &(ModuleSearch) { t, *kernel });
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Whether NVIDIA's driver is meant to be here: fail closed where an overlay names it and
 * the tree has nothing. */
static bool has_driver(const Tree *t) {
        static const char *const libraries[] = { "usr/lib/x86_64-linux-gnu/libcuda.so.1",
                "usr/lib64/libcuda.so.1" };

        if (t->n_modules > 0)
                return true;
        for (size_t i = 0; i < ELEMENTSOF(libraries); i++)
                if (tree_has(t, libraries[i]))
                        return true;
        for (size_t i = 0; t->recipe && i < t->recipe->n_overlays; i++)
                if (startswith(t->recipe->overlays[i]->name, "nvidia-driver"))
                        return true;
        return false;
}

int tree_survey(Tree *t) {
        int r;

        r = find_kernels(t);
        if (r < 0)
                return r;
        r = tree_read_packages(t);
        if (r < 0)
                return r;
        r = read_modules(t);
        if (r < 0)
                return r;

        t->driver = has_driver(t);
        return 0;
}

const DriverModule *tree_module(const Tree *t, const char *kernel, const char *name) {
        for (size_t i = 0; i < t->n_modules; i++)
                if (streq(t->modules[i].kernel, kernel) && streq_ptr(t->modules[i].info.name, name))
                        return t->modules + i;
        return NULL;
}

const char *tree_driver_version(const Tree *t) {
        STRV_FOREACH (kernel, t->kernels) {
                const DriverModule *m = tree_module(t, *kernel, "nvidia");
                if (m && m->info.version)
                        return m->info.version;
        }
        return NULL;
}
