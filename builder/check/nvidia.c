/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Driver = kernel = user space: the modules are there for every kernel, fit it, and are of the same
 * version as the libraries that talk to them. */

#include "check/internal.h"
#include "shared/file-util.h"

#include <ctype.h>
#include <fcntl.h>

/* Modules that a GPU node cannot do without; drm, modeset and peermem may be
 * left out on purpose. */
static const char *const needed[] = { "nvidia", "nvidia_uvm" };

#define CATALOG_MAX (16u * 1024 * 1024)

static int check_needed_modules(const Tree *t, const char *rule, const char *kernel, Findings *f) {
        for (size_t i = 0; i < ELEMENTSOF(needed); i++) {
                int r;

                if (tree_module(t, kernel, needed[i]))
                        continue;
                r = finding_add(f, rule, strf("kernel %s has no module %s", kernel, needed[i]),
                                strf("compile the driver for it (overlay nvidia-driver does, for the kernel of the recipe), or remove kernel %s from the image",
                                                kernel));
                if (r < 0)
                        return r;
        }
        return 0;
}

int check_nvidia_modules(const Tree *t, const char *rule, Findings *f) {
        int r;

        if (!t->kernels)
                return finding_add(f, rule, strdup("an NVIDIA driver without any kernel"),
                                strdup("name a kernel package in the recipe"));

        STRV_FOREACH (kernel, t->kernels) {
                r = check_needed_modules(t, rule, *kernel, f);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < t->n_modules; i++) {
                const DriverModule *m = t->modules + i;

                if (m->info.name)
                        continue;
                r = finding_add(f, rule, strf("/%s is not a whole kernel module", m->path),
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

/* The modules of one kernel. `expected` is NULL where no module of the kernel's own is there to
 * compare with; then the release counts. */
static int check_vermagic(const Tree *t, const char *rule, const char *kernel, const char *expected,
                Findings *f) {
        for (size_t i = 0; i < t->n_modules; i++) {
                const DriverModule *m = t->modules + i;
                const char *magic = strempty(m->info.vermagic), *rest;
                int r;

                if (!streq(m->kernel, kernel) || !m->info.name)
                        continue;
                rest = startswith(magic, kernel);
                if (expected ? streq(magic, expected) : rest && *rest == ' ')
                        continue;
                r = finding_add(f, rule,
                                strf("/%s is built for \"%s\", the kernel wants \"%s\"", m->path,
                                                magic, expected ? expected : kernel),
                                strf("compile the driver against the headers of %s, the same version of them",
                                                kernel));
                if (r < 0)
                        return r;
        }
        return 0;
}

int check_nvidia_vermagic(const Tree *t, const char *rule, Findings *f) {
        STRV_FOREACH (kernel, t->kernels) {
                _cleanup_free_ char *folder = strf("usr/lib/modules/%s/kernel", *kernel);
                _cleanup_(module_info_done) ModuleInfo reference = {};
                int r;

                if (!folder)
                        return -ENOMEM;
                r = tree_walk(t, folder, take_reference, &reference);
                if (r < 0 && r != -ECANCELED)
                        return r;
                r = check_vermagic(t, rule, *kernel, reference.vermagic, f);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* A module that depmod has not seen cannot be loaded by name. `text` is what `path` says; NULL
 * where it is missing. */
static int check_listed(const Tree *t, const char *rule, const char *kernel, const char *path,
                const char *text, Findings *f) {
        for (size_t i = 0; i < t->n_modules; i++) {
                const DriverModule *m = t->modules + i;
                _cleanup_free_ char *entry = NULL;
                int r;

                if (!streq(m->kernel, kernel))
                        continue;
                entry = strf("%s:", m->path + strlen("usr/lib/modules/") + strlen(kernel) + 1);
                if (!entry)
                        return -ENOMEM;
                if (text && strstr(text, entry))
                        continue;
                r = finding_add(f, rule, strf("/%s does not list /%s", path, m->path),
                                strf("run \"depmod %s\" after the module is installed", kernel));
                if (r < 0)
                        return r;
        }
        return 0;
}

int check_nvidia_depmod(const Tree *t, const char *rule, Findings *f) {
        STRV_FOREACH (kernel, t->kernels) {
                _cleanup_free_ char *path = strf("usr/lib/modules/%s/modules.dep", *kernel),
                                    *text = NULL;
                int r;

                if (!path)
                        return -ENOMEM;
                r = tree_read(t, path, CATALOG_MAX, &text);
                if (r < 0 && r != -ENOENT)
                        return r;
                r = check_listed(t, rule, *kernel, path, text, f);
                if (r < 0)
                        return r;
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
                int r;

                if (!path)
                        return -ENOMEM;
                r = tree_resolve(t, path, &real);
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
        if (r < 0)
                return r;
        r = check_library(t, rule, "libnvidia-ml.so.1", driver, f);
        if (r < 0)
                return r;
        return check_smi(t, rule, driver, f);
}

/* Every GPU since Turing runs the driver's GSP firmware, and the driver asks for
 * exactly its own version. */
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
