/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild apply: the new image from the old one and what changed. */

#include "cmd/verb.h"
#include "disk/disk.h"
#include "shared/file-util.h"
#include "shared/log.h"

#include <sys/stat.h>

enum { OPT_RAW = OPT_VERB, OPT_FORCE };

typedef struct ApplyOptions {
        const char *output;
        bool raw, force;
} ApplyOptions;

/* NEW.qcow2.delta is named for what it makes; with --raw that is NEW.raw. */
static char *default_output(const char *delta, bool raw) {
        const char *suffix = raw && endswith(delta, ".qcow2.delta") ? ".qcow2.delta" : ".delta";

        if (!endswith(delta, suffix) || streq(path_basename(delta), suffix))
                return NULL;
        return strf("%.*s%s", (int) (strlen(delta) - strlen(suffix)), delta,
                        streq(suffix, ".delta") ? "" : ".raw");
}

/* 0, or as run() ends (logged). */
static int refuse_output(const ApplyOptions *o, const char *old, const char *output) {
        struct stat from, to;

        if (lstat(output, &to) < 0)
                return 0;
        if (!S_ISREG(to.st_mode))
                return log_error_return(EXIT_USAGE,
                                "%s is no regular file: name another with --output", output);
        if (stat(old, &from) >= 0 && from.st_dev == to.st_dev && from.st_ino == to.st_ino)
                return log_error_return(EXIT_USAGE,
                                "%s is the old image: name another file with --output", output);
        if (!o->force)
                return log_error_return(-EEXIST,
                                "%s exists: name another file with --output, or replace it with --force",
                                output);
        return 0;
}

/* The same bytes as the build's, if the tools are the build's. */
static int make_qcow2(
                Context *ctx, const ImageDraft *raw, const char *output, const DeltaHeader *h) {
        _cleanup_tools_free_ Tools *tools = NULL;
        int r;

        r = tools_open(ctx, NULL, &tools);
        if (r < 0)
                return r;
        r = image_convert(tools, raw->path, "raw", output, image_format_find(h->format), h->file);
        if (r == -EBADMSG)
                return log_error_return(-EIO,
                                "The new disk is right, but this host's tools tree packs it into other bytes than the build's: "
                                "use the build's tools.lock.json, or --raw");
        return r;
}

static int apply(Context *ctx, const ApplyOptions *o, const char *path, const char *old,
                const char *output) {
        _cleanup_free_ char *folder = path_folder(output);
        _cleanup_image_draft_ ImageDraft raw = { .fd = -EBADF };
        _cleanup_delta_ Delta *delta = NULL;
        const DeltaHeader *h;
        int r;

        if (!folder)
                return log_oom();
        r = refuse_output(o, old, output);
        if (r != 0)
                return r;
        r = delta_open(path, &delta);
        if (r < 0)
                return r;
        h = delta_header(delta);
        r = delta_apply(delta, old, folder, &raw);
        if (r < 0)
                return r;

        r = o->raw || streq(h->format, "raw") ? image_draft_put(&raw, folder, output, NULL)
                                              : make_qcow2(ctx, &raw, output, h);
        if (r < 0)
                return r;
        log_info("Wrote %s, the image that %s was made for", output, path);
        return 0;
}

static int run(VerbCall *call) {
        const ApplyOptions *o = call->options;
        const char *delta = call->arguments[0];
        _cleanup_free_ char *output = o->output ? strdup(o->output) : default_output(delta, o->raw);

        if (!output && !o->output && !endswith(delta, ".delta"))
                return log_error_return(EXIT_USAGE,
                                "%s has no name of the form NEW.delta: name the new image with --output",
                                delta);
        return output ? apply(call->ctx, o, delta, call->arguments[1], output) : log_oom();
}

static const OptionSpec options[] = {
        { "output", 'o', "NEW", "the new image (default: DELTA without .delta)", COMPLETE_FILE },
        { "raw", OPT_RAW, NULL, "write it raw, whatever its format: needs no tools tree" },
        { "force", OPT_FORCE, NULL, "replace NEW where it exists" },
        {},
};

static int take(void *values, int id, const char *value) {
        ApplyOptions *o = values;

        switch (id) {
        case 'o':
                o->output = value;
                return 0;
        case OPT_RAW:
                o->raw = true;
                return 0;
        default:
                o->force = true;
                return 0;
        }
}

const Verb verb_apply = {
        .spec = { "apply", "make the new image of an old one and a delta", options, "DELTA OLD",
                        COMPLETE_FILE },
        .usage = "DELTA OLD [OPTION…]",
        .about = "Makes the new image from OLD and a delta that 'imgbuild export' wrote. OLD is only read.\n"
                 "Both images are verified by digest, before and after; the new one appears whole or not at all.",
        .needs_root = true,
        .needs_store = true,
        .reads_only = "--raw",
        .min_arguments = 2,
        .max_arguments = 2,
        .wanted = "takes a delta and the image that it was made from",
        .options_size = sizeof(ApplyOptions),
        .take = take,
        .run = run,
};
