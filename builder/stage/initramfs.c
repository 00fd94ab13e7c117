/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Once, after everything that it is made from: module lists and initramfs of every kernel, and the
 * manual's index, which packages' own triggers were kept from making again and again. */

#include "stage/internal.h"
#include "sandbox/open-inside.h"

#include "shared/file-util.h"
#include "shared/folder.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <fcntl.h>

static bool tree_has(StageBuild *b, const char *path) {
        for (size_t i = strv_length(b->sandbox.layers); i > 0; i--)
                if (inside_exists(b->sandbox.layers[i - 1], path))
                        return true;
        return false;
}

/* Where family el's packages have what is in /boot only when kernel-install put it there. */
static char *packaged(const char *kernel, const char *file) {
        return strf("usr/lib/modules/%s/%s", kernel, file);
}

static bool has_kernel(StageBuild *b, const char *kernel) {
        _cleanup_free_ char *image = strf("boot/vmlinuz-%s", kernel),
                            *el = packaged(kernel, "vmlinuz");

        return image && el && (tree_has(b, image) || tree_has(b, el));
}

/* Adds the kernels of one layer: folders of usr/lib/modules with a kernel image there or in
 * /boot. */
static int add_kernels(StageBuild *b, const char *layer, char ***kernels) {
        _cleanup_close_ int layer_fd = open(layer, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_closedir_ DIR *d = NULL;

        if (layer_fd < 0)
                return -errno;
        if (inside_open_folder(layer_fd, "usr/lib/modules", &d) < 0)
                return 0;
        FOLDER_FOREACH (name, d) {
                if (name[0] == '.' || strv_contains(*kernels, name) || !has_kernel(b, name))
                        continue;
                if (strv_extend(kernels, name) < 0)
                        return -ENOMEM;
        }
        return 0;
}

/* Kernels of the tree. Layers only add them. */
static int find_kernels(StageBuild *b, char ***ret) {
        _cleanup_strv_free_ char **kernels = NULL;

        STRV_FOREACH (layer, b->sandbox.layers) {
                int r = add_kernels(b, *layer, &kernels);

                if (r < 0)
                        return r;
        }
        strv_sort(kernels);
        *ret = TAKE_PTR(kernels);
        return 0;
}

/* What kernel-install does for a kernel of family el, of which /boot has nothing yet. */
static int place_kernel(StageBuild *b, const char *kernel) {
        static const char *const files[] = { "vmlinuz", "config", "System.map" };

        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                _cleanup_free_ char *from = packaged(kernel, files[i]),
                                    *to = strf("/boot/%s-%s", files[i], kernel);
                int r;

                if (!from || !to)
                        return log_oom();
                if (!tree_has(b, from) || tree_has(b, to))
                        continue;
                r = stage_command(
                                b, &b->sandbox, ARGV("cp", "--preserve=mode,timestamps", from, to));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int make_initramfs(StageBuild *b, const char *kernel) {
        _cleanup_free_ char *image = plan_initramfs(b->plan, kernel);
        int r;

        if (!image)
                return log_oom();
        r = place_kernel(b, kernel);
        if (r < 0)
                return r;
        r = stage_command(b, &b->sandbox, ARGV("depmod", "-a", kernel));
        if (r < 0)
                return r;

        if (b->plan->recipe->family == FAMILY_DEBIAN && tree_has(b, "usr/sbin/update-initramfs"))
                return stage_command(b, &b->sandbox, ARGV("update-initramfs", "-c", "-k", kernel));
        if (tree_has(b, "usr/bin/dracut"))
                return stage_command(b, &b->sandbox,
                                ARGV("dracut", "--force", "--reproducible", "--no-hostonly", image,
                                                kernel));
        return log_error_return(-ENOENT,
                        "Stage %s: the image has neither initramfs-tools nor dracut; add one to the recipe's packages",
                        b->stage->id);
}

/* As man-db's own postinst does it. */
static int make_manual_index(StageBuild *b) {
        if (!tree_has(b, "usr/bin/mandb") || !tree_has(b, "usr/share/man"))
                return 0;
        return stage_command(b, &b->sandbox,
                        ARGV("setpriv", "--reuid", "man", "--regid", "man", "--init-groups", "--",
                                        "/usr/bin/mandb", "-cq"));
}

int stage_initramfs(StageBuild *b) {
        _cleanup_strv_free_ char **kernels = NULL;
        int r;

        r = find_kernels(b, &kernels);
        if (r < 0)
                return log_error_errno(
                                r, "Stage %s: cannot list the image's kernels", b->stage->id);
        if (strv_length(kernels) == 0)
                return log_error_return(-ENOENT,
                                "Stage %s: the image has no kernel below /boot; see the recipe's kernel.package",
                                b->stage->id);

        STRV_FOREACH (kernel, kernels) {
                r = make_initramfs(b, *kernel);
                if (r < 0)
                        return r;
        }
        return make_manual_index(b);
}
