/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Once, after everything that it is made from: module lists and initramfs of every kernel, and the
 * manual's index, which packages' own triggers were kept from making again and again. */

#include "stage/internal.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <dirent.h>

static bool tree_has(StageBuild *b, const char *path) {
        for (size_t i = strv_length(b->sandbox.layers); i > 0; i--) {
                _cleanup_free_ char *full = path_join(b->sandbox.layers[i - 1], path);

                if (full && access(full, F_OK) >= 0)
                        return true;
        }
        return false;
}

/* Kernels of the tree: folders of usr/lib/modules with a kernel image in /boot. Layers only add
 * them. */
static int find_kernels(StageBuild *b, char ***ret) {
        _cleanup_strv_free_ char **kernels = NULL;

        STRV_FOREACH (layer, b->sandbox.layers) {
                _cleanup_free_ char *path = path_join(*layer, "usr/lib/modules");
                DIR *d = path ? opendir(path) : NULL;
                int r = 0;

                if (!path)
                        return -ENOMEM;
                if (!d)
                        continue;
                for (struct dirent *e; r >= 0 && (e = readdir(d));) {
                        _cleanup_free_ char *image = strf("boot/vmlinuz-%s", e->d_name);

                        if (e->d_name[0] != '.' && !strv_contains(kernels, e->d_name) && image &&
                                        tree_has(b, image))
                                r = strv_extend(&kernels, e->d_name);
                }
                closedir(d);
                if (r < 0)
                        return r;
        }
        strv_sort(kernels);
        *ret = TAKE_PTR(kernels);
        return 0;
}

static int make_initramfs(StageBuild *b, const char *kernel) {
        _cleanup_free_ char *image = strf("/boot/initrd.img-%s", kernel);
        char *const depmod[] = { (char *) "depmod", (char *) "-a", (char *) kernel, NULL };
        char *const update[] = { (char *) "update-initramfs", (char *) "-c", (char *) "-k",
                (char *) kernel, NULL };
        char *const dracut[] = { (char *) "dracut", (char *) "--force", (char *) "--reproducible",
                (char *) "--no-hostonly", image, (char *) kernel, NULL };
        int r;

        if (!image)
                return log_oom();
        r = stage_command(b->ctx, b->stage->id, &b->sandbox, NULL, depmod, NULL);
        if (r < 0)
                return r;
        if (tree_has(b, "usr/sbin/update-initramfs"))
                return stage_command(b->ctx, b->stage->id, &b->sandbox, NULL, update, NULL);
        if (tree_has(b, "usr/bin/dracut"))
                return stage_command(b->ctx, b->stage->id, &b->sandbox, NULL, dracut, NULL);
        return log_error_errno(-ENOENT,
                        "Stage %s: the image has neither initramfs-tools nor dracut; add one to the recipe's packages",
                        b->stage->id);
}

/* As man-db's own postinst does it. */
static int make_manual_index(StageBuild *b) {
        char *const argv[] = { (char *) "setpriv", (char *) "--reuid", (char *) "man",
                (char *) "--regid", (char *) "man", (char *) "--init-groups", (char *) "--",
                (char *) "/usr/bin/mandb", (char *) "-cq", NULL };

        if (!tree_has(b, "usr/bin/mandb") || !tree_has(b, "usr/share/man"))
                return 0;
        return stage_command(b->ctx, b->stage->id, &b->sandbox, NULL, argv, NULL);
}

int stage_initramfs(StageBuild *b) {
        _cleanup_strv_free_ char **kernels = NULL;
        int r;

        r = find_kernels(b, &kernels);
        if (r < 0)
                return log_error_errno(
                                r, "Stage %s: cannot list the image's kernels", b->stage->id);
        if (strv_length(kernels) == 0)
                return log_error_errno(-ENOENT,
                                "Stage %s: the image has no kernel below /boot; see the recipe's kernel.package",
                                b->stage->id);
        STRV_FOREACH (kernel, kernels) {
                r = make_initramfs(b, *kernel);
                if (r < 0)
                        return r;
        }
        return make_manual_index(b);
}
