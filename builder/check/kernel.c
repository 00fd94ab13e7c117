/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An image that boots has a kernel, its modules and its initramfs. */

#include "check/internal.h"

#include "common/initramfs.h"
#include "shared/file-util.h"

#include <sys/mman.h>

int check_kernel_present(const Tree *t, const char *rule, Findings *f) {
        int r;

        if (!t->kernels)
                return finding_add(f, rule, strdup("the tree has no kernel below /usr/lib/modules"),
                                strf("install %s, or make the recipe a tree (\"kind\": \"tree\")",
                                                t->recipe && t->recipe->kernel.package
                                                                ? t->recipe->kernel.package
                                                                : "a kernel package"));
        STRV_FOREACH (kernel, t->kernels) {
                _cleanup_free_ char *image = strf("boot/vmlinuz-%s", *kernel);
                _cleanup_free_ char *dep = strf("usr/lib/modules/%s/modules.dep", *kernel);

                if (!image || !dep)
                        return -ENOMEM;
                if (!tree_has(t, image)) {
                        r = finding_add(f, rule,
                                        strf("/usr/lib/modules/%s is there, /%s is not", *kernel,
                                                        image),
                                        strdup("remove the leftover modules, or install the kernel they belong to"));
                        if (r < 0)
                                return r;
                }
                if (!tree_has(t, dep)) {
                        r = finding_add(f, rule,
                                        strf("/%s is missing: modprobe would find no module", dep),
                                        strf("run \"depmod %s\" after the last module is installed",
                                                        *kernel));
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}

#define INITRAMFS_MAX ((size_t) 2 * 1024 * 1024 * 1024) /* bytes; GRUB reads them into memory */

/* What was met in an initramfs. */
typedef struct Met {
        const char *kernel;
        bool init, modules, others; /* its kernel's modules, those of another one */
} Met;

static int meet(const char *path, void *userdata) {
        Met *m = userdata;
        const char *below = startswith(path, "usr/lib/modules/"), *rest;

        if (!below)
                below = startswith(path, "lib/modules/");
        rest = below ? startswith(below, m->kernel) : NULL;
        if (streq(path, "init"))
                m->init = true;
        if (rest && (*rest == '/' || *rest == '\0'))
                m->modules = true;
        else if (below && *below)
                m->others = true;
        return 0;
}

/* Reads the initramfs; -ENOENT where there is none, and an empty one is none. */
static int read_initramfs(const Tree *t, const char *path, Met *met) {
        _cleanup_close_ int fd = -EBADF;
        size_t size;
        void *data;
        int r;

        fd = tree_open_regular(t, path, INITRAMFS_MAX, &size);
        if (fd < 0)
                return fd;
        if (size == 0)
                return -ENOENT;
        data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED)
                return -errno;
        r = initramfs_visit(data, size, meet, met);
        (void) munmap(data, size);
        return r;
}

static const char *what_lacks(const Met *m) {
        if (!m->init)
                return "has no /init: nothing would start in it";
        if (m->others && !m->modules)
                return "has another kernel's modules, and none of its own";
        return NULL;
}

/* What makes initramfs images ends well in many a case in which it made none that boots. */
static int judge_initramfs(
                const char *path, int error, const Met *met, const char *rule, Findings *f) {
        const char *what = error == -EBADMSG ? "is damaged, or none: it cannot be unpacked"
                                             : what_lacks(met);

        if (error == -EOPNOTSUPP || !what) /* who packs with lzop knows why */
                return 0;
        return finding_add(f, rule, strf("/%s %s", path, what),
                        strdup("look at the log of stage \"initramfs\": update-initramfs or dracut say there what they could not take along"));
}

static int find_initramfs(const Tree *t, const char *kernel, const char *rule, Findings *f) {
        for (size_t i = 0; i < 2; i++) {
                _cleanup_free_ char *path = i == 0 ? strf("boot/initrd.img-%s", kernel)
                                                   : strf("boot/initramfs-%s.img", kernel);
                Met met = { .kernel = kernel };
                int r;

                if (!path)
                        return -ENOMEM;
                r = read_initramfs(t, path, &met);
                if (r == -ENOENT)
                        continue;
                if (r < 0 && r != -EBADMSG && r != -EOPNOTSUPP)
                        return r;
                return judge_initramfs(path, r, &met, rule, f);
        }
        return finding_add(f, rule, strf("kernel %s has no initramfs in /boot", kernel),
                        strdup("install initramfs-tools or dracut, and look at the log of stage \"initramfs\""));
}

int check_kernel_initramfs(const Tree *t, const char *rule, Findings *f) {
        STRV_FOREACH (kernel, t->kernels) {
                int r = find_initramfs(t, *kernel, rule, f);

                if (r < 0)
                        return r;
        }
        return 0;
}

#define CONFIG_MAX (4 * 1024 * 1024) /* bytes; Debian's have 0.3 million */

/* Whether a kernel's configuration has the option built in or as a module. */
static bool has_option(char *const *config, const char *option) {
        STRV_FOREACH (line, config) {
                const char *name = startswith(*line, "CONFIG_"),
                           *value = name ? startswith(name, option) : NULL;

                if (value && (streq(value, "=y") || streq(value, "=m")))
                        return true;
        }
        return false;
}

static int add_missing(const Tree *t, const char *kernel, const char *rule, Findings *f) {
        _cleanup_free_ char *path = strf("boot/config-%s", kernel), *text = NULL;
        _cleanup_strv_free_ char **config = NULL;
        int r;

        if (!path)
                return -ENOMEM;
        r = tree_read(t, path, CONFIG_MAX, &text);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return finding_add(f, rule, strf("/%s cannot be read: %s", path, strerror(-r)),
                                strdup("kernel.options of the recipe is proved by it: keep the file, or ask for no options"));
        config = strv_split(text, "\n");
        if (!config)
                return -ENOMEM;

        STRV_FOREACH (option, t->recipe->kernel.options) {
                if (has_option(config, *option))
                        continue;
                r = finding_add(f, rule, strf("kernel %s is without %s", kernel, *option),
                                strf("name a kernel package that has it (/%s shows), or compile the module in an overlay and leave %s out of kernel.options",
                                                path, *option));
                if (r < 0)
                        return r;
        }
        return 0;
}

int check_kernel_options(const Tree *t, const char *rule, Findings *f) {
        if (!t->recipe || !t->recipe->kernel.options)
                return 0;

        STRV_FOREACH (kernel, t->kernels) {
                int r = add_missing(t, *kernel, rule, f);

                if (r < 0)
                        return r;
        }
        return 0;
}
