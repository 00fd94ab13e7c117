/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A raw disk to what clouds and hypervisors take. A new format is a line of the table. */

#include "disk/internal.h"

#include "disk/pack-archive.h"
#include "disk/qcow2-pack.h"
#include "sandbox/open-inside.h"

#include "shared/draft.h"
#include "shared/file-util.h"
#include "shared/log.h"

#include <sys/stat.h>

const ImageFormat image_formats[] = {
        { "qcow2", "qcow2", "qcow2", "compression_type=zstd", true, true, true, qcow2_pack,
                        "QEMU, OpenStack, Oracle Cloud" },
        { "raw", "raw", "raw", NULL, false, false, true, NULL, "dd, bare metal" },
        { "vhd", "vhd", "vpc", "subformat=fixed,force_size=on", false, false, false, NULL,
                        "Azure" },
        { "vmdk", "vmdk", "vmdk", "subformat=streamOptimized", true, false, false, NULL,
                        "VMware, AWS import" },
        { "raw.zst", "raw.zst", "raw", NULL, false, false, true, zstd_pack,
                        "zstd -d, then dd; to send" },
        { "gce", "tar.gz", "raw", NULL, false, false, true, gce_pack, "Google Cloud" },
        { "oci", "oci", "qcow2", NULL, true, false, true, oci_pack,
                        "Oracle Cloud, with its launch options" },
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

typedef struct Draft {
        char *path;
        int fd;
} Draft;

/* Of what was not put in place, nothing stays. */
static void draft_done(Draft *d) {
        if (d->path)
                (void) unlink(d->path);
        free(d->path);
        safe_close(d->fd);
}
#define _cleanup_draft_ _cleanup_(draft_done)

/* As readable for others as `like`, the image that it is made from. */
static int draft_open(const char *folder, const char *like, Draft *ret) {
        struct stat st;
        int fd;

        if (stat(like, &st) < 0)
                return log_error_errno(errno, "%s: cannot read it", like);
        fd = draft_begin(folder, &ret->path);
        if (fd < 0)
                return log_error_errno(fd, "%s: cannot write there", folder);
        ret->fd = fd;
        if (fchmod(fd, (st.st_mode & 0666) | 0600) < 0)
                return log_error_errno(errno, "%s: cannot write there", folder);
        return 0;
}

/* What the sandbox left under the draft's name. */
static int draft_reopen(const Draft *d, const char *folder) {
        return inside_open_output(folder, path_basename(d->path), SIZE_MAX);
}

static int put_in_place(Draft *d, const char *folder, const char *target) {
        _cleanup_close_ int fd = draft_reopen(d, folder);

        if (fd < 0)
                return log_error_errno(fd, "%s: cannot put it in place", target);
        if (fsync(fd) < 0 || rename(d->path, target) < 0)
                return log_error_errno(errno, "%s: cannot put it in place", target);
        free(TAKE_PTR(d->path));
        return 0;
}

static int pack(const ImageFormat *format, Draft *d, const char *folder) {
        _cleanup_close_ int from = draft_reopen(d, folder);
        _cleanup_draft_ Draft packed = { .fd = -EBADF };
        int r;

        r = draft_open(folder, d->path, &packed);
        if (r < 0)
                return r;
        r = from < 0 ? from : format->pack(from, packed.fd);
        if (r < 0)
                return log_error_errno(r, "%s: cannot pack the %s", folder, format->name);
        Draft before = *d;

        *d = packed;
        packed = before;
        return 0;
}

static int convert(Tools *tools, const char *source, const char *driver, const char *folder,
                const ImageFormat *format, Draft *d) {
        int r;

        r = qemu_img_convert(tools, source, driver, d->path, format);
        if (r < 0 || !format->pack)
                return r;
        return pack(format, d, folder);
}

int image_convert(Tools *tools, const char *source, const char *driver, const char *target,
                const ImageFormat *format) {
        _cleanup_free_ char *folder = absolute_folder(target), *from = realpath(source, NULL);
        _cleanup_draft_ Draft draft = { .fd = -EBADF };
        int r;

        if (!folder || !from)
                return log_error_errno(errno, "%s: cannot convert it to %s", source, target);
        r = draft_open(folder, from, &draft);
        if (r < 0)
                return r;

        r = convert(tools, from, driver, folder, format, &draft);
        /* Asked while the draft still takes its space. */
        if (r < 0 && r != -ECANCELED && require_space(folder, SPACE_LOW, target) == -ENOSPC)
                return -ENOSPC;
        if (r < 0)
                return r;
        return put_in_place(&draft, folder, target);
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
                r = image_convert(tools, raw, "raw", target, format);
                if (r < 0)
                        return r;
                if (strv_extend(&files, file) < 0)
                        return log_oom();
        }
        *ret_files = TAKE_PTR(files);
        return 0;
}
