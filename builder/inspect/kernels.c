/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The kernels of an image and NVIDIA's module for each, which says its version itself. */

#include "inspect/internal.h"

#include "common/module-info.h"
#include "shared/file-util.h"

/* "kernel/drivers/video/nvidia.ko.xz" → whether it is the module `name`. */
static bool is_module(const char *path, const char *name) {
        const char *rest = startswith(path_basename(path), name);

        return rest && startswith(rest, ".ko") && (rest[3] == '\0' || rest[3] == '.');
}

/* "6.12.57+deb13-amd64 SMP preempt …": one that is built for another kernel will not load. */
static bool fits(const char *vermagic, const char *release) {
        const char *rest = startswith(vermagic, release);

        return rest && (*rest == ' ' || *rest == '\0');
}

static int add_module(guestfs_h *g, const char *release, const char *path, json_object *o,
                json_object *kernel) {
        _cleanup_(module_info_done) ModuleInfo info = {};
        _cleanup_close_ int fd = -EBADF;
        int r;

        r = guest_open_file(g, path, &fd);
        if (r < 0)
                return inspect_problem(o, path, strerror(-r));
        r = module_info_read(fd, &info);
        if (r < 0)
                return inspect_problem(o, path, strerror(-r));

        r = json_set_fields(kernel, JSON_STRING("nvidia", strempty(info.version)),
                        JSON_STRING("nvidia_module", path));
        if (r < 0)
                return r;
        if (!info.vermagic || fits(info.vermagic, release))
                return 0;
        return inspect_problem(o, path, "it was built for another kernel");
}

static int add_nvidia(guestfs_h *g, const char *release, const char *folder, json_object *o,
                json_object *kernel) {
        _cleanup_strv_free_ char **files = guestfs_find(g, folder);

        STRV_FOREACH (f, files) {
                _cleanup_free_ char *path = NULL;

                if (!is_module(*f, "nvidia"))
                        continue;
                path = path_join(folder, *f);
                if (!path)
                        return -ENOMEM;
                return add_module(g, release, path, o, kernel);
        }
        return 0;
}

static int add_kernel(guestfs_h *g, const char *folder, json_object *o, json_object *kernels) {
        const char *release = path_basename(folder);
        _cleanup_free_ char *boot = strf("/boot/vmlinuz-%s", release),
                            *image = strf("%s/vmlinuz", folder);
        json_object *k = NULL;
        int r;

        if (!boot || !image)
                return -ENOMEM;
        r = json_append_object(kernels, &k);
        if (r < 0)
                return r;
        r = json_set_fields(k, JSON_STRING("release", release),
                        JSON_BOOL("bootable",
                                        guestfs_has_file(g, boot) || guestfs_has_file(g, image)));
        if (r < 0)
                return r;
        return add_nvidia(g, release, folder, o, k);
}

int inspect_kernels(guestfs_h *g, json_object *o) {
        _cleanup_strv_free_ char **folders = NULL;
        json_object *kernels = NULL;
        int r;

        r = json_add_array(o, "kernels", &kernels);
        if (r < 0)
                return r;
        folders = guestfs_glob_expand_opts(
                        g, "/lib/modules/*", GUESTFS_GLOB_EXPAND_OPTS_DIRECTORYSLASH, 0, -1);
        STRV_FOREACH (folder, folders) {
                r = add_kernel(g, *folder, o, kernels);
                if (r < 0)
                        return r;
        }
        return 0;
}
