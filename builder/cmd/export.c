/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild export: an image that is there in another format, for a cloud or hypervisor that wants
 * it. The image itself is only read. */

#include "disk/disk.h"
#include "shared/file-util.h"
#include "inspect/inspect.h"
#include "shared/log.h"
#include "cmd/verb.h"

#include <getopt.h>
#include <sys/stat.h>

typedef struct ExportOptions {
        const ImageFormat *format;
        const char *output;
        bool force;
} ExportOptions;

static void help(void) {
        printf("imgbuild export IMAGE --format=FORMAT [OPTION…]\n\nConverts a disk image. Formats:\n\n");
        for (const ImageFormat *f = image_formats; f->name; f++)
                printf("  %-8s %s\n", f->name, f->used_by);
        printf("\n  -f, --format=FORMAT     what to make\n"
               "  -o, --output=FILE       where (default: beside the image, with the format as suffix)\n"
               "      --force             replace FILE where it exists\n%s",
                        common_options_help);
}

static int parse_format(const char *text, const ImageFormat **ret) {
        *ret = image_format_find(text);
        if (*ret)
                return 0;
        log_error("--format=%s: qcow2, raw, vhd or vmdk", text);
        return -EINVAL;
}

/* IMAGE.qcow2 to IMAGE.vhd. */
static char *default_output(const char *image, const ImageFormat *format) {
        const char *base = path_basename(image), *dot = strrchr(base, '.');
        size_t length = dot && dot > base ? (size_t) (dot - image) : strlen(image);

        return strf("%.*s.%s", (int) length, image, format->name);
}

static int export_image(Context *ctx, const ExportOptions *o, const char *image) {
        _cleanup_tools_free_ Tools *tools = NULL;
        _cleanup_free_ char *output = NULL;
        struct stat from, to;
        const char *driver;
        int r;

        r = image_format_log(image, &driver);
        if (r < 0)
                return r;
        output = o->output ? strdup(o->output) : default_output(image, o->format);
        if (!output)
                return log_oom();
        if (stat(output, &to) >= 0) {
                if (stat(image, &from) >= 0 && from.st_dev == to.st_dev &&
                                from.st_ino == to.st_ino) {
                        log_error("%s would be written over itself: name another file with --output",
                                        output);
                        return -EINVAL;
                }
                if (S_ISDIR(to.st_mode)) {
                        log_error("--output=%s is a folder: name a file in it", output);
                        return -EINVAL;
                }
                if (!o->force) {
                        log_error("%s exists: name another file with --output, or replace it with --force",
                                        output);
                        return -EEXIST;
                }
        }
        r = tools_open(ctx, NULL, &tools);
        if (r < 0)
                return r;
        r = image_convert(tools, image, driver, output, o->format);
        if (r < 0)
                return r;
        if (stat(output, &to) < 0)
                return log_error_errno(errno, "%s: cannot see it", output);
        log_info("Wrote %s, %lld MiB on disk", output,
                        (long long) to.st_blocks * 512 / (1024 * 1024));
        return 0;
}

int cmd_export(int argc, char *argv[]) {
        static const struct option options[] = {
                { "format", required_argument, NULL, 'f' },
                { "output", required_argument, NULL, 'o' },
                { "force", no_argument, NULL, OPT_VERB },
                COMMON_LONG_OPTIONS,
                {},
        };
        _cleanup_common_options_ CommonOptions common = {};
        _cleanup_context_ Context ctx = {};
        ExportOptions o = {};
        int c, r;

        while ((c = getopt_long(argc, argv, "f:o:j:vh", options, NULL)) >= 0)
                switch (c) {
                case 'f':
                        if (parse_format(optarg, &o.format) < 0)
                                return EXIT_USAGE;
                        break;
                case 'o':
                        o.output = optarg;
                        break;
                case OPT_VERB:
                        o.force = true;
                        break;
                case 'h':
                        help();
                        return EXIT_OK;
                default:
                        if (c == '?' || common_option(&common, c, optarg) <= 0)
                                return EXIT_USAGE;
                }
        if (argc - optind != 1 || !o.format) {
                log_error("'imgbuild export' takes one image and --format; see 'imgbuild export --help'");
                return EXIT_USAGE;
        }
        r = context_open(&common, &ctx);
        if (r >= 0)
                r = export_image(&ctx, &o, argv[optind]);
        return interrupt_signal() ? EXIT_INTERRUPTED : exit_code_from_errno(r);
}
