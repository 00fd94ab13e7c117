/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A raw disk to what clouds and hypervisors take. A new format is a line of the table. */

#include "disk/internal.h"

#include "disk/firmware.h"
#include "disk/image-draft.h"
#include "disk/pack-archive.h"
#include "disk/qcow2-pack.h"

#include "shared/file-util.h"
#include "shared/log.h"

const ImageFormat image_formats[] = {
        { "qcow2", "qcow2", "qcow2", "compression_type=zstd", true, true, true, qcow2_pack, NULL,
                        "QEMU, OpenStack, Oracle Cloud" },
        { "raw", "raw", "raw", NULL, false, false, true, NULL, NULL, "dd, bare metal" },
        { "vhd", "vhd", "vpc", "subformat=fixed,force_size=on", false, false, false, NULL, NULL,
                        "Azure" },
        { "vmdk", "vmdk", "vmdk", "subformat=streamOptimized", true, false, false, NULL, NULL,
                        "VMware, AWS import" },
        { "ova", "ova", "vmdk", "subformat=streamOptimized", true, false, false, NULL, ova_pack,
                        "vSphere, VirtualBox: a machine with the disk" },
        { "raw.zst", "raw.zst", "raw", NULL, false, false, true, zstd_pack, NULL,
                        "zstd -d, then dd; to send" },
        { "gce", "tar.gz", "raw", NULL, false, false, true, gce_pack, NULL, "Google Cloud" },
        { "oci", "oci", "qcow2", NULL, true, false, true, NULL, oci_pack,
                        "Oracle Cloud, with its launch options" },
        { "artifact", "artifact.tar", "qcow2", "compression_type=zstd", true, false, true,
                        artifact_pack, NULL,
                        "registries: an OCI image layout, for oras and skopeo" },
        {},
};

const ImageFormat *image_format_find(const char *name) {
        for (const ImageFormat *f = image_formats; f->name; f++)
                if (streq(f->name, name))
                        return f;
        return NULL;
}

static int convert_command(
                const char *driver, const ImageFormat *format, const char *target, char ***ret) {
        _cleanup_strv_free_ char **argv = NULL;
        int r;

        r = strv_extend_strv(&argv, ARGV("qemu-img", "convert", "-f", driver, "-O", format->driver,
                                                    "-m", "16"));
        if (r < 0)
                return r;
        if (format->compress) {
                r = strv_extend(&argv, "-c");
                if (r < 0)
                        return r;
        }
        if (format->unordered) {
                r = strv_extend(&argv, "-W");
                if (r < 0)
                        return r;
        }
        if (format->options) {
                r = strv_extend_strv(&argv, ARGV("-o", format->options));
                if (r < 0)
                        return r;
        }
        r = strv_extend_strv(&argv, ARGV("/source", target));
        if (r < 0)
                return r;

        *ret = TAKE_PTR(argv);
        return 0;
}

/* Of the folder it sees the draft alone, under a name that a format may keep in the image. */
static int qemu_img_convert(Tools *tools, const char *source, const char *driver, const char *draft,
                const ImageFormat *format) {
        _cleanup_free_ char *target = strf("/run/image/disk.%s", format->driver);
        const SandboxBind binds[] = {
                { .source = source, .target = "/source" },
                { .source = draft, .target = target, .writable = true },
        };
        _cleanup_strv_free_ char **argv = NULL;

        if (!target || convert_command(driver, format, target, &argv) < 0)
                return log_oom();
        return tools_run(tools, binds, ELEMENTSOF(binds), NULL, NULL, argv);
}

static int pack(const ImageFormat *format, bool uefi, ImageDraft *d, const char *folder) {
        _cleanup_close_ int from = image_draft_reopen(d, folder);
        _cleanup_image_draft_ ImageDraft packed = { .fd = -EBADF };
        int r;

        r = image_draft_open(folder, d->path, &packed);
        if (r < 0)
                return r;
        if (from < 0)
                r = from;
        else
                r = format->pack ? format->pack(from, packed.fd)
                                 : format->pack_machine(from, packed.fd, uefi);
        if (r < 0)
                return log_error_errno(r, "%s: cannot pack the %s", folder, format->name);
        ImageDraft before = *d;

        *d = packed;
        packed = before;
        return 0;
}

static int convert(Tools *tools, const char *source, const char *driver, const char *folder,
                const ImageFormat *format, ImageDraft *d) {
        int uefi = 0;
        int r;

        if (format->pack_machine)
                uefi = disk_wants_uefi(tools, source, driver, folder);
        if (uefi < 0)
                return uefi;
        r = qemu_img_convert(tools, source, driver, d->path, format);
        if (r < 0 || (!format->pack && !format->pack_machine))
                return r;
        return pack(format, uefi > 0, d, folder);
}

int image_convert(Tools *tools, const char *source, const char *driver, const char *target,
                const ImageFormat *format, const char *sha256) {
        _cleanup_free_ char *folder = absolute_folder(target), *from = realpath(source, NULL);
        _cleanup_image_draft_ ImageDraft draft = { .fd = -EBADF };
        int r;

        if (!folder || !from)
                return log_error_errno(errno, "%s: cannot convert it to %s", source, target);
        r = image_draft_open(folder, from, &draft);
        if (r < 0)
                return r;

        r = convert(tools, from, driver, folder, format, &draft);
        /* Asked while the draft still takes its space. */
        if (r < 0 && r != -ECANCELED && require_space(folder, SPACE_LOW, target) == -ENOSPC)
                return -ENOSPC;
        if (r < 0)
                return r;
        return image_draft_put(&draft, folder, target, sha256);
}

int disk_export(Context *ctx, const Plan *plan, Tools *tools, const char *raw, const char *folder,
                char ***ret_files) {
        _cleanup_strv_free_ char **files = NULL;
        int r;

        STRV_FOREACH (name, plan->recipe->disk.formats) {
                const ImageFormat *format = image_format_find(*name);
                _cleanup_free_ char *file = strf("%s.%s", plan->recipe->name, *name),
                                    *target = file ? path_join(folder, file) : NULL;

                if (!target)
                        return log_oom();
                if (!format) {
                        log_error("%s: $.disk.formats: imgbuild cannot write \"%s\"",
                                        plan->recipe->path, *name);
                        return -EINVAL;
                }
                progress_detail(ctx->progress, "export", file);
                r = image_convert(tools, raw, "raw", target, format, NULL);
                if (r < 0)
                        return r;
                if (strv_extend(&files, file) < 0)
                        return log_oom();
        }
        *ret_files = TAKE_PTR(files);
        return 0;
}
