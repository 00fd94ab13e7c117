/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An image that boots has a kernel, its modules and its initramfs. */

#include "check/internal.h"

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

static bool is_filled(const Tree *t, const char *path) {
        struct stat st;
        return tree_lstat(t, path, &st) >= 0 && S_ISREG(st.st_mode) && st.st_size > 0;
}

int check_kernel_initramfs(const Tree *t, const char *rule, Findings *f) {
        STRV_FOREACH (kernel, t->kernels) {
                _cleanup_free_ char *debian = strf("boot/initrd.img-%s", *kernel);
                _cleanup_free_ char *el = strf("boot/initramfs-%s.img", *kernel);

                if (!debian || !el)
                        return -ENOMEM;
                if (!is_filled(t, debian) && !is_filled(t, el)) {
                        int r = finding_add(f, rule,
                                        strf("kernel %s has no initramfs in /boot", *kernel),
                                        strdup("install initramfs-tools or dracut, and look at the log of stage \"initramfs\""));
                        if (r < 0)
                                return r;
                }
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
