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
