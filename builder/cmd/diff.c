/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild diff: what changed from one image to the next. Two manifests are compared in no time;
 * two images with libguestfs, files included. */

#include "inspect/inspect.h"
#include "shared/spawn.h"
#include "cmd/verb.h"

#define SHOWN 40 /* files of one kind */

enum { OPT_JSON = OPT_VERB, OPT_ALL, OPT_QUICK, OPT_NO_FILES };

typedef struct DiffOptions {
        bool json, no_files, quick, all;
} DiffOptions;

typedef struct Side {
        json_object *facts;
        FileList *files;
} Side;

static void side_done(Side *s) {
        json_object_put(s->facts);
        file_list_free(s->files);
}

/* A manifest: a file of JSON. Anything else is for libguestfs to open. */
static bool is_json(const char *path) {
        _cleanup_fclose_ FILE *f = fopen(path, "re");
        int c = ' ';

        while (f && (c == ' ' || c == '\n' || c == '\t' || c == '\r'))
                c = fgetc(f);
        return f && c == '{';
}

static int read_manifest(const char *path, Side *ret) {
        _cleanup_json_ json_object *m = NULL;
        JsonError error;
        int r;

        r = json_load(path, 64 * 1024 * 1024, &error, &m);
        if (r < 0) {
                log_error("%s:%u:%u: %s", path, error.line, error.column, error.message);
                return -EINVAL;
        }
        r = diff_side_from_manifest(m, path, &ret->facts);
        if (r == -EINVAL)
                log_error("%s is no manifest: it has no $.packages", path);
        return r;
}

typedef struct Reading {
        const char *path, *format;
        const DiffOptions *o;
        Side *side;
} Reading;

static int read_guest(guestfs_h *g, void *userdata) {
        const Reading *reading = userdata;
        const DiffOptions *o = reading->o;
        _cleanup_json_ json_object *inspection = NULL;
        Side *side = reading->side;
        int r;

        side_done(side);
        *side = (Side) {};
        r = inspect_image(g, reading->path, reading->format, &inspection);
        if (r < 0)
                return r;

        if (!json_get(inspection, "os")) {
                log_error("%s holds no operating system that libguestfs knows", reading->path);
                return -EINVAL;
        }
        if (!o->no_files) {
                r = file_list_read(g, !o->quick, &side->files);
                if (r < 0)
                        return r;
        }
        return diff_side_from_inspection(inspection, &side->facts);
}

static int read_image(const char *path, const DiffOptions *o, Side *ret) {
        Reading reading = { .path = path, .o = o, .side = ret };
        int r;

        r = image_format_log(path, &reading.format);
        if (r < 0)
                return r == -EACCES ? r : -EINVAL;
        log_info("Reading %s%s", path,
                        o->no_files ? ""
                        : o->quick  ? " and the list of its files"
                                    : " and all its files");
        return guestfs_use_readonly(path, reading.format, read_guest, &reading);
}

static const char *text_of(json_object *o, const char *key) {
        json_object *v = json_get(o, key);

        return v ? json_object_is_type(v, json_type_string)
                                               ? json_object_get_string(v)
                                               : json_object_to_json_string_ext(
                                                                 v, JSON_C_TO_STRING_PLAIN)
                 : NULL;
}

static void print_changes(json_object *array, const char *key) {
        for (size_t i = 0; i < json_object_array_length(array); i++) {
                json_object *o = json_object_array_get_idx(array, i);
                const char *from = text_of(o, "from"), *to = text_of(o, "to"),
                           *name = json_get_string(o, key);

                if (from && to)
                        printf("  ~ %s  %s → %s\n", name, from, to);
                else
                        printf("  %c %s  %s\n", from ? '-' : '+', name, from ? from : strempty(to));
        }
}

static void print_packages(json_object *packages) {
        static const char *const kinds[] = { "removed", "added", "changed" };
        size_t n = 0;

        for (size_t k = 0; k < ELEMENTSOF(kinds); k++)
                n += json_object_array_length(json_get(packages, kinds[k]));
        if (n == 0)
                return;
        printf("packages\n");
        for (size_t k = 0; k < ELEMENTSOF(kinds); k++)
                print_changes(json_get(packages, kinds[k]), "name");
}

/* "  ~ /etc/hosts  (size, mode)", or the path alone. */
static void print_file(json_object *o, char mark) {
        json_object *what = json_get(o, "what");

        printf("  %c %s", mark, what ? json_get_string(o, "path") : json_object_get_string(o));
        for (size_t i = 0; what && i < json_object_array_length(what); i++)
                printf("%s%s", i == 0 ? "  (" : ", ",
                                json_object_get_string(json_object_array_get_idx(what, i)));
        printf("%s\n", what ? ")" : "");
}

static void print_files(json_object *files, bool all) {
        static const struct {
                const char *key;
                char mark;
        } kinds[] = { { "removed", '-' }, { "added", '+' }, { "changed", '~' } };
        bool any = false;

        for (size_t k = 0; files && k < ELEMENTSOF(kinds); k++) {
                json_object *l = json_get(files, kinds[k].key);
                size_t n = json_object_array_length(l);

                if (n > 0 && !any) {
                        printf("files\n");
                        any = true;
                }
                for (size_t i = 0; i < n && (all || i < SHOWN); i++)
                        print_file(json_object_array_get_idx(l, i), kinds[k].mark);
                if (!all && n > SHOWN)
                        printf("  %c … and %zu more; --all lists them\n", kinds[k].mark, n - SHOWN);
        }
}

static void print(json_object *d, bool all) {
        json_object *facts = json_get(d, "facts");

        if (diff_is_empty(d)) {
                printf("No difference.\n");
                return;
        }
        if (json_object_array_length(facts) > 0) {
                printf("versions\n");
                print_changes(facts, "what");
        }
        print_packages(json_get(d, "packages"));
        print_files(json_get(d, "files"), all);
}

static int read_side(const char *path, bool manifest, const DiffOptions *o, Side *ret) {
        int r;

        r = manifest ? read_manifest(path, ret) : read_image(path, o, ret);
        if (r >= 0)
                return 0;
        return interrupt_signal()          ? EXIT_INTERRUPTED
               : r == -EIO || r == -ENOMEM ? EXIT_HOST
                                           : exit_code_from_errno(r);
}

static int compare_sides(const Side *a, const Side *b, json_object **ret) {
        _cleanup_json_ json_object *d = NULL;
        json_object *files = NULL;
        int r;

        r = diff_sides(a->facts, b->facts, &d);
        if (r < 0)
                return r;
        if (a->files && b->files) {
                r = file_list_compare(a->files, b->files, &files);
                if (r < 0)
                        return r;
                r = json_set(d, "files", files);
                if (r < 0)
                        return r;
        }

        *ret = TAKE_PTR(d);
        return 0;
}

/* An exit code. */
static int compare(const char *const paths[static 2], const DiffOptions *o) {
        _cleanup_(side_done) Side a = {}, b = {};
        _cleanup_json_ json_object *d = NULL;
        bool manifests = is_json(paths[0]);
        int r;

        if (manifests != is_json(paths[1])) {
                log_error("%s is a manifest and %s is not: compare two manifests, or two images",
                                paths[manifests ? 0 : 1], paths[manifests ? 1 : 0]);
                return EXIT_USAGE;
        }

        r = read_side(paths[0], manifests, o, &a);
        if (r != 0)
                return r;
        r = read_side(paths[1], manifests, o, &b);
        if (r != 0)
                return r;
        if (compare_sides(&a, &b, &d) < 0)
                return log_oom(), EXIT_HOST;

        if (o->json)
                printf("%s\n", json_object_to_json_string_ext(
                                               d, JSON_C_TO_STRING_PRETTY |
                                                                  JSON_C_TO_STRING_NOSLASHESCAPE));
        else
                print(d, o->all);
        return diff_is_empty(d) ? EXIT_OK : EXIT_FAILED;
}

static const OptionSpec options[] = {
        { "json", OPT_JSON, NULL, "one JSON object, with every file" },
        { "all", OPT_ALL, NULL, "list every file, not the first 40 of each kind" },
        { "quick", OPT_QUICK, NULL,
                        "do not compare the contents of files, only type, size, mode and owner" },
        { "no-files", OPT_NO_FILES, NULL, "do not compare files" },
        {},
};

static int take(void *values, int id, const char *value _unused_) {
        DiffOptions *o = values;

        switch (id) {
        case OPT_JSON:
                o->json = true;
                return 0;
        case OPT_ALL:
                o->all = true;
                return 0;
        case OPT_QUICK:
                o->quick = true;
                return 0;
        default:
                o->no_files = true;
                return 0;
        }
}

static int check(VerbCall *call) {
        if (call->n_arguments != 2) {
                log_error("Which two? 'imgbuild diff A B', two images or two manifests");
                return EXIT_USAGE;
        }

        for (size_t i = 0; i < 2; i++)
                if (access(call->arguments[i], R_OK) < 0) {
                        int r = -errno;

                        log_error_errno(r, "Cannot read %s", call->arguments[i]);
                        return r == -EACCES ? EXIT_HOST : EXIT_BAD_INPUT;
                }
        return 0;
}

static int run(VerbCall *call) {
        const char *const paths[2] = { call->arguments[0], call->arguments[1] };

        return compare(paths, call->options);
}

const Verb verb_diff = {
        .spec = { "diff", "compare two images", options, "IMAGE", COMPLETE_FILE },
        .usage = "A B [OPTION…]",
        .about = "What differs between two disk images, or between two manifests: packages, kernels, drivers,\n"
                 "versions, and for images every file. Exit code 0: nothing differs, 1: something does.",
        .options_size = sizeof(DiffOptions),
        .take = take,
        .check = check,
        .run = run,
};
