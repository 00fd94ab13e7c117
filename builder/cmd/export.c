/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild export: an image that is there in another format, for a cloud or hypervisor that wants
 * it, or what changed in it since an older one. The images themselves are only read. */

#include "disk/disk.h"
#include "shared/file-util.h"
#include "inspect/inspect.h"
#include "shared/log.h"
#include "shared/size.h"
#include "shared/suggest.h"
#include "cmd/verb.h"

#include <sys/stat.h>

enum { OPT_FORCE = OPT_VERB, OPT_DELTA };

typedef struct ExportOptions {
        const ImageFormat *format;
        const char *delta, *output; /* delta: the older image; NULL: none is asked for */
        bool force;
} ExportOptions;

static int parse_format(const char *text, const ImageFormat **ret) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_free_ char *meant = NULL, *all = NULL;

        *ret = image_format_find(text);
        if (*ret)
                return 0;
        for (const ImageFormat *f = image_formats; f->name; f++)
                if (strv_extend(&names, f->name) < 0)
                        return log_oom();
        meant = suggest_text(text, names);
        all = strv_join(names, ", ");
        return log_error_return(
                        -EINVAL, "--format=%s: one of %s%s", text, strempty(all), strempty(meant));
}

/* IMAGE.qcow2 to IMAGE.vhd, or to IMAGE.qcow2.delta, which says what it makes. */
static char *default_output(const char *image, const ImageFormat *format) {
        const char *base = path_basename(image), *dot = strrchr(base, '.');
        size_t length = dot && dot > base ? (size_t) (dot - image) : strlen(image);

        return format ? strf("%.*s.%s", (int) length, image, format->suffix)
                      : strf("%s.delta", image);
}

static bool is_same(const char *path, const struct stat *other) {
        struct stat st;

        return stat(path, &st) >= 0 && st.st_dev == other->st_dev && st.st_ino == other->st_ino;
}

/* 0; what may not be written there ends as run() does (logged). */
static int refuse_output(const ExportOptions *o, const char *image, const char *output) {
        struct stat to;

        if (stat(output, &to) < 0)
                return 0;
        if (is_same(image, &to) || (o->delta && is_same(o->delta, &to)))
                return log_error_return(EXIT_USAGE,
                                "%s would be written over itself: name another file with --output",
                                output);
        if (S_ISDIR(to.st_mode))
                return log_error_return(
                                EXIT_USAGE, "--output=%s is a folder: name a file in it", output);
        if (!S_ISREG(to.st_mode))
                return log_error_return(EXIT_USAGE,
                                "%s is no regular file, and the image would take its place: name another with --output",
                                output);
        if (!o->force)
                return log_error_return(-EEXIST,
                                "%s exists: name another file with --output, or replace it with --force",
                                output);
        return 0;
}

static int convert(Context *ctx, const ExportOptions *o, const char *image, const char *output) {
        _cleanup_tools_free_ Tools *tools = NULL;
        char size[FORMAT_BYTES_MAX];
        const char *driver;
        struct stat to;
        int r;

        r = image_format_log(image, &driver);
        if (r < 0)
                return r == -EACCES ? EXIT_HOST : EXIT_BAD_INPUT;
        r = refuse_output(o, image, output);
        if (r != 0)
                return r;
        r = tools_open(ctx, NULL, &tools);
        if (r < 0)
                return r;
        r = image_convert(tools, image, driver, output, o->format, NULL);
        if (r < 0)
                return r;

        if (stat(output, &to) < 0)
                return log_error_errno(errno, "%s: cannot see it", output);
        log_info("Wrote %s, %s on disk", output, format_bytes(size, (uint64_t) to.st_blocks * 512));
        return 0;
}

static int write_delta(const ExportOptions *o, const char *image, const char *output) {
        char size[FORMAT_BYTES_MAX], changed[FORMAT_BYTES_MAX];
        DeltaFigures figures;
        int r;

        r = refuse_output(o, image, output);
        if (r != 0)
                return r;
        r = delta_make(o->delta, image, output, &figures);
        if (r < 0)
                return r;
        log_info("Wrote %s, %s, for %s of %s that %s does not have; 'imgbuild apply %s %s' makes it again",
                        output, format_bytes(size, figures.size),
                        format_bytes(changed, figures.changed), image, o->delta, output, o->delta);
        return 0;
}

static int export_image(Context *ctx, const ExportOptions *o, const char *image) {
        _cleanup_free_ char *output =
                        o->output ? strdup(o->output) : default_output(image, o->format);
        int r;

        if (!output)
                return log_oom();
        r = o->delta ? write_delta(o, image, output) : convert(ctx, o, image, output);
        if (r != 0)
                return r;
        r = exported_note(image, output);
        if (r < 0)
                log_warning_errno(r, "Cannot note beside %s which build it is of", output);
        return 0;
}

static void print_formats(void) {
        for (const ImageFormat *f = image_formats; f->name; f++)
                printf("  %-8s %s\n", f->name, f->used_by);
}

static const OptionSpec options[] = {
        { "format", 'f', "FORMAT", "what to make", COMPLETE_CHOICES,
                        "qcow2 raw vhd vmdk ova raw.zst gce oci artifact" },
        { "delta", OPT_DELTA, "OLD", "what changed since the image OLD, for 'imgbuild apply'",
                        COMPLETE_FILE },
        { "output", 'o', "FILE", "where (default: beside the image, with the format as suffix)",
                        COMPLETE_FILE },
        { "force", OPT_FORCE, NULL, "replace FILE where it exists" },
        {},
};

static int take(void *values, int id, const char *value) {
        ExportOptions *o = values;

        switch (id) {
        case 'f':
                return parse_format(value, &o->format);
        case 'o':
                o->output = value;
                return 0;
        case OPT_DELTA:
                o->delta = value;
                return 0;
        default:
                o->force = true;
                return 0;
        }
}

static int check(VerbCall *call) {
        const ExportOptions *o = call->options;

        return call->n_arguments == 1 && !o->format == !!o->delta ? 0 : -EINVAL;
}

static int run(VerbCall *call) {
        return export_image(call->ctx, call->options, call->arguments[0]);
}

const Verb verb_export = {
        .spec = { "export", "convert a disk image to another format", options, "IMAGE",
                        COMPLETE_FILE },
        .usage = "IMAGE --format=FORMAT|--delta=OLD [OPTION…]",
        .about = "Converts a disk image, or writes what changed in it since an older one. Formats:",
        .more_about = print_formats,
        .needs_root = true,
        .needs_store = true,
        .wanted = "takes one image, and --format or --delta",
        .options_size = sizeof(ExportOptions),
        .take = take,
        .check = check,
        .run = run,
};
