/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Driver = kernel = user space: the modules are there for every kernel, fit it, and are of the same
 * version as the libraries that talk to them. */

#include "check/internal.h"
#include "shared/file-util.h"

#include <ctype.h>
#include <fcntl.h>

/* Modules that a GPU node cannot do without; drm, modeset and peermem may be left out on
 * purpose. */
static const char *const needed[] = { "nvidia", "nvidia_uvm" };

#define CATALOG_MAX (16u * 1024 * 1024)

static bool is_module_file(const char *name) {
        return strstr(name, ".ko") &&
               (endswith(name, ".ko") || endswith(name, ".ko.xz") || endswith(name, ".ko.zst") ||
                               endswith(name, ".ko.gz"));
}

/* nvidia.ko, nvidia-uvm.ko.xz, nvidia-current.ko: yes; nvidiafb.ko, nvidia-wmi-…: the kernel's
 * own. */
static bool may_be_driver(const char *name) {
        const char *rest = startswith(name, "nvidia");
        return rest && (*rest == '.' || *rest == '-' || *rest == '_') &&
               !startswith(rest, "-wmi") && is_module_file(name);
}

typedef struct ModuleSearch {
        Tree *tree;
        const char *kernel;
} ModuleSearch;

static int module_add(const Tree *t, const char *path, const struct stat *st, void *userdata) {
        ModuleSearch *s = userdata;
        _cleanup_close_ int fd = -EBADF;
        DriverModule m = {}, *grown;
        int r;

        if (!S_ISREG(st->st_mode) || !may_be_driver(path_basename(path)))
                return 0;
        fd = tree_open_file(t, path, O_RDONLY);
        if (fd < 0)
                return fd;
        r = module_info_read(fd, &m.info);
        if (r < 0 && r != -EBADMSG) /* a damaged one is a finding of its own, not the end of looking */
                return r;
        m.kernel = strdup(s->kernel);
        m.path = strdup(path);
        grown = reallocarray(s->tree->modules, s->tree->n_modules + 1, sizeof(*grown));
        if (grown)
                s->tree->modules = grown;
        if (!m.kernel || !m.path || !grown) {
                free(m.kernel);
                free(m.path);
                module_info_done(&m.info);
                return -ENOMEM;
        }
        s->tree->modules[s->tree->n_modules++] = m;
        return 0;
}

int tree_read_modules(Tree *t) {
        STRV_FOREACH (kernel, t->kernels) {
                _cleanup_free_ char *folder = strf("usr/lib/modules/%s", *kernel);
                ModuleSearch s = { t, *kernel };
                int r = folder ? tree_walk(t, folder, module_add, &s) : -ENOMEM;

                if (r < 0)
                        return r;
        }
        return 0;
}

static const DriverModule *find_module(const Tree *t, const char *kernel, const char *name) {
        for (size_t i = 0; i < t->n_modules; i++)
                if (streq(t->modules[i].kernel, kernel) && streq_ptr(t->modules[i].info.name, name))
                        return t->modules + i;
        return NULL;
}

const char *tree_driver_version(const Tree *t) {
        STRV_FOREACH (kernel, t->kernels) {
                const DriverModule *m = find_module(t, *kernel, "nvidia");
                if (m && m->info.version)
                        return m->info.version;
        }
        return NULL;
}

int check_nvidia_modules(const Tree *t, const char *rule, Findings *f) {
        int r;

        if (!t->kernels)
                return finding_add(f, rule, strdup("an NVIDIA driver without any kernel"),
                                strdup("name a kernel package in the recipe"));
        STRV_FOREACH (kernel, t->kernels)
                for (size_t i = 0; i < ELEMENTSOF(needed); i++) {
                        if (find_module(t, *kernel, needed[i]))
                                continue;
                        r = finding_add(f, rule,
                                        strf("kernel %s has no module %s", *kernel, needed[i]),
                                        strf("compile the driver for it (overlay nvidia-driver does, for the kernel of the recipe), or remove kernel %s from the image",
                                                        *kernel));
                        if (r < 0)
                                return r;
                }
        for (size_t i = 0; i < t->n_modules; i++)
                if (!t->modules[i].info.name) {
                        r = finding_add(f, rule,
                                        strf("/%s is not a whole kernel module",
                                                        t->modules[i].path),
                                        strdup("build it again; the file is damaged"));
                        if (r < 0)
                                return r;
                }
        return 0;
}

/* Any module of the kernel's own says what fits it. */
static int take_reference(const Tree *t, const char *path, const struct stat *st, void *userdata) {
        ModuleInfo *info = userdata;
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (!S_ISREG(st->st_mode) || !is_module_file(path_basename(path)))
                return 0;
        fd = tree_open_file(t, path, O_RDONLY);
        if (fd < 0)
                return fd;
        r = module_info_read(fd, info);
        return r < 0 ? r : -ECANCELED; /* one will do */
}

static int check_vermagic(
                const char *rule, const DriverModule *m, const char *expected, Findings *f) {
        size_t n = strlen(m->kernel);
        const char *magic = strempty(m->info.vermagic);

        if (expected ? streq(magic, expected)
                     : strncmp(magic, m->kernel, n) == 0 && magic[n] == ' ')
                return 0;
        return finding_add(f, rule,
                        strf("/%s is built for \"%s\", the kernel wants \"%s\"", m->path, magic,
                                        expected ? expected : m->kernel),
                        strf("compile the driver against the headers of %s, the same version of them",
                                        m->kernel));
}

int check_nvidia_vermagic(const Tree *t, const char *rule, Findings *f) {
        STRV_FOREACH (kernel, t->kernels) {
                _cleanup_free_ char *folder = strf("usr/lib/modules/%s/kernel", *kernel);
                ModuleInfo reference = {};
                int r = folder ? tree_walk(t, folder, take_reference, &reference) : -ENOMEM;

                if (r == -ECANCELED)
                        r = 0;
                for (size_t i = 0; r >= 0 && i < t->n_modules; i++)
                        if (streq(t->modules[i].kernel, *kernel) && t->modules[i].info.name)
                                r = check_vermagic(rule, t->modules + i, reference.vermagic, f);
                module_info_done(&reference);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* A module that depmod has not seen cannot be loaded by name. */
int check_nvidia_depmod(const Tree *t, const char *rule, Findings *f) {
        STRV_FOREACH (kernel, t->kernels) {
                _cleanup_free_ char *path = strf("usr/lib/modules/%s/modules.dep", *kernel),
                                    *text = NULL;
                int r = path ? tree_read(t, path, CATALOG_MAX, &text) : -ENOMEM;

                if (r < 0 && r != -ENOENT)
                        return r;
                for (size_t i = 0; i < t->n_modules; i++) {
                        const DriverModule *m = t->modules + i;
                        _cleanup_free_ char *entry = NULL;

                        if (!streq(m->kernel, *kernel))
                                continue;
                        entry = strf("%s:",
                                        m->path + strlen("usr/lib/modules/") + strlen(*kernel) + 1);
                        if (!entry)
                                return -ENOMEM;
                        if (text && strstr(text, entry))
                                continue;
                        r = finding_add(f, rule, strf("/%s does not list /%s", path, m->path),
                                        strf("run \"depmod %s\" after the module is installed",
                                                        *kernel));
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}

const char *soname_version(const char *path) {
        const char *so = strstr(path_basename(path), ".so.");
        return so && isdigit((unsigned char) so[4]) ? so + 4 : NULL;
}

static const char *const library_folders[] = { "usr/lib/x86_64-linux-gnu", "usr/lib64", "usr/lib" };

static int check_library(const Tree *t, const char *rule, const char *soname, const char *driver,
                Findings *f) {
        for (size_t i = 0; i < ELEMENTSOF(library_folders); i++) {
                _cleanup_free_ char *path = path_join(library_folders[i], soname), *real = NULL;
                const char *version;
                int r = path ? tree_resolve(t, path, &real) : -ENOMEM;

                if (r == -ENOENT)
                        continue;
                if (r < 0)
                        return r;
                version = soname_version(real);
                if (streq_ptr(version, driver))
                        return 0;
                return finding_add(f, rule,
                                strf("the kernel modules are %s, %s is %s (%s)", driver, soname,
                                                version ? version : "of no version", real),
                                strdup("take modules and libraries from the same driver release; update the lock's packages together"));
        }
        return finding_add(f, rule,
                        strf("the kernel modules are %s, %s is missing", driver, soname),
                        strf("install the driver's user space (overlay nvidia-common), or look where %s went",
                                        soname));
}

static int is_version(const char *s, void *userdata) {
        return streq(s, userdata);
}

static int check_smi(const Tree *t, const char *rule, const char *driver, Findings *f) {
        _cleanup_close_ int fd = tree_open_file(t, "usr/bin/nvidia-smi", O_RDONLY);
        int r;

        if (fd == -ENOENT)
                return finding_add(f, rule,
                                strf("the kernel modules are %s, /usr/bin/nvidia-smi is missing",
                                                driver),
                                strdup("install nvidia-smi of the same version"));
        if (fd < 0)
                return fd;
        r = elf_section_strings(fd, ".rodata", 5, is_version, (void *) driver);
        if (r == 1)
                return 0;
        if (r < 0 && r != -ENOENT && r != -EBADMSG)
                return r;
        return finding_add(f, rule,
                        strf("the kernel modules are %s, /usr/bin/nvidia-smi is of another version",
                                        driver),
                        strdup("take modules and programs from the same driver release"));
}

int check_nvidia_version(const Tree *t, const char *rule, Findings *f) {
        const char *driver = tree_driver_version(t);
        int r;

        if (!driver)
                return finding_add(f, rule, strdup("no nvidia module tells its version"),
                                strdup("see nvidia.modules: without modules nothing can be compared"));
        for (size_t i = 0; i < t->n_modules; i++) {
                const DriverModule *m = t->modules + i;
                /* nvidia-peermem and others of the driver carry its version too */
                if (!m->info.version || streq(m->info.version, driver))
                        continue;
                r = finding_add(f, rule,
                                strf("/%s is %s, another module is %s", m->path, m->info.version,
                                                driver),
                                strdup("build all modules of all kernels from the same source"));
                if (r < 0)
                        return r;
        }
        r = check_library(t, rule, "libcuda.so.1", driver, f);
        if (r >= 0)
                r = check_library(t, rule, "libnvidia-ml.so.1", driver, f);
        return r < 0 ? r : check_smi(t, rule, driver, f);
}

/* Every GPU since Turing runs the driver's GSP firmware, and the driver asks for exactly its own
 * version. */
int check_nvidia_firmware(const Tree *t, const char *rule, Findings *f) {
        const char *driver = tree_driver_version(t);
        _cleanup_free_ char *folder = driver ? strf("usr/lib/firmware/nvidia/%s", driver) : NULL;
        _cleanup_strv_free_ char **names = NULL;
        int r;

        if (!driver) /* nvidia.version says so */
                return 0;
        if (!folder)
                return -ENOMEM;
        r = tree_list(t, folder, &names);
        if (r < 0)
                return r;
        STRV_FOREACH (name, names)
                if (startswith(*name, "gsp_"))
                        return 0;
        return finding_add(f, rule, strf("/%s has no gsp_*.bin", folder),
                        strdup("install the firmware of the same driver release (Debian: firmware-nvidia-gsp)"));
}
