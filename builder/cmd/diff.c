/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild diff: what changed from one image to the next. Two manifests are compared in no time,
 * and so are two images of the same bytes; others with libguestfs, files included, both at once. */

#include "cmd/diff-html.h"
#include "cmd/diff-print.h"
#include "inspect/inspect.h"
#include "shared/duration.h"
#include "shared/file-util.h"
#include "shared/size.h"
#include "shared/spawn.h"
#include "shared/time-util.h"
#include "store/digest.h"
#include "cmd/verb.h"

#include <pthread.h>
#include <sys/stat.h>

enum { OPT_JSON = OPT_VERB, OPT_ALL, OPT_QUICK, OPT_NO_FILES, OPT_HTML };

typedef struct DiffOptions {
        const char *html;
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
        uint64_t began;
} Reading;

/* How far it is: an appliance without KVM takes its time. */
static void tell_how_far(unsigned percent, void *userdata) {
        const Reading *reading = userdata;
        char took[FORMAT_DURATION_MAX];

        log_info("%s: %u %% of its files, %s", reading->path, percent,
                        format_duration(took, now_usec() - reading->began));
}

static void tell_read(const Reading *reading, uint64_t since) {
        char size[FORMAT_BYTES_MAX], speed[FORMAT_BYTES_MAX], took[FORMAT_DURATION_MAX];
        uint64_t bytes, usec = MAX(now_usec() - since, UINT64_C(1));
        size_t files;

        file_list_sum(reading->side->files, &files, &bytes);
        if (reading->o->quick) {
                log_info("%s: listed %zu files in %s", reading->path, files,
                                format_duration(took, usec));
                return;
        }
        log_info("%s: read %zu files, %s, in %s: %s/s", reading->path, files,
                        format_bytes(size, bytes), format_duration(took, usec),
                        format_bytes(speed, (uint64_t) ((double) bytes * USEC_PER_SEC /
                                                            (double) usec)));
}

static int read_guest(guestfs_h *g, void *userdata) {
        Reading *reading = userdata;
        const DiffOptions *o = reading->o;
        uint64_t since;
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
                log_info("%s: %s; reading %s", reading->path,
                                strempty(json_get_string(json_get(inspection, "os"), "name")),
                                o->quick ? "the list of its files" : "all its files");
                since = now_usec();
                r = file_list_read(g, !o->quick, tell_how_far, reading, &side->files);
                if (r < 0)
                        return r;
                tell_read(reading, since);
        }
        return diff_side_from_inspection(inspection, &side->facts);
}

static int read_image(const char *path, const char *format, const DiffOptions *o, Side *ret) {
        Reading reading = {
                .path = path, .format = format, .o = o, .side = ret, .began = now_usec()
        };

        log_info("Opening %s", path);
        return guestfs_use_readonly(path, format, read_guest, &reading);
}

static int exit_code_of(int r) {
        if (r >= 0)
                return 0;
        return interrupt_signal()          ? EXIT_INTERRUPTED
               : r == -EIO || r == -ENOMEM ? EXIT_HOST
                                           : exit_code_from_errno(r);
}

typedef struct ImageThread {
        const char *path, *format;
        const DiffOptions *o;
        Side *side;
        int result;
} ImageThread;

static void *read_in_thread(void *userdata) {
        ImageThread *t = userdata;

        t->result = read_image(t->path, t->format, t->o, t->side);
        return NULL;
}

/* Each has an appliance of its own, so both are read at once. An exit code. */
static int read_at_once(const char *const paths[static 2], const char *const formats[static 2],
                const DiffOptions *o, Side *a, Side *b) {
        ImageThread second = { .path = paths[1], .format = formats[1], .o = o, .side = b };
        _cleanup_free_ char *missing = guestfs_missing();
        pthread_t thread;
        int r, code;

        if (missing) /* told once */
                return exit_code_of(read_image(paths[0], formats[0], o, a));
        r = pthread_create(&thread, NULL, read_in_thread, &second);
        if (r != 0)
                return log_error_errno(r, "Cannot read two images at once"), EXIT_HOST;
        code = exit_code_of(read_image(paths[0], formats[0], o, a));
        (void) pthread_join(thread, NULL);
        return code != 0 ? code : exit_code_of(second.result);
}

static int read_manifests(const char *const paths[static 2], Side *a, Side *b) {
        int code = exit_code_of(read_manifest(paths[0], a));

        return code != 0 ? code : exit_code_of(read_manifest(paths[1], b));
}

/* A qcow2 image may be a layer over another file, which its own bytes only name. */
static bool has_backing_file(const char *path) {
        static const unsigned char magic[] = { 'Q', 'F', 'I', 0xfb }, none[8] = {};
        _cleanup_fclose_ FILE *f = fopen(path, "re");
        unsigned char header[16];

        return !f || fread(header, sizeof(header), 1, f) != 1 ||
               (memcmp(header, magic, sizeof(magic)) == 0 &&
                               memcmp(header + 8, none, sizeof(none)) != 0);
}

/* Two files of the same size and digest need no look inside. */
static bool same_bytes(const char *const paths[static 2]) {
        Digest digests[2];
        struct stat a, b;

        if (stat(paths[0], &a) < 0 || stat(paths[1], &b) < 0 || a.st_size != b.st_size ||
                        has_backing_file(paths[0]))
                return false;
        for (size_t i = 0; i < 2; i++)
                if (digest_file(paths[i], digests[i], NULL) < 0)
                        return false;
        return streq(digests[0], digests[1]);
}

/* As if both had been read, and nothing was in them. */
static int pretend_read(Side *a, Side *b, const DiffOptions *o) {
        Side *const sides[] = { a, b };

        for (size_t i = 0; i < ELEMENTSOF(sides); i++) {
                _cleanup_json_ json_object *nothing = json_object_new_object();

                if (!nothing || json_set(nothing, "packages", json_object_new_array()) < 0 ||
                                diff_side_from_inspection(nothing, &sides[i]->facts) < 0)
                        return log_oom(), EXIT_HOST;
                sides[i]->files = o->no_files ? NULL : file_list_new();
                if (!o->no_files && !sides[i]->files)
                        return log_oom(), EXIT_HOST;
        }
        return 0;
}

static int read_images(const char *const paths[static 2], const DiffOptions *o, Side *a, Side *b) {
        const char *formats[2];

        for (size_t i = 0; i < 2; i++) {
                int r = image_format_log(paths[i], formats + i);

                if (r < 0)
                        return exit_code_of(r == -EACCES ? r : -EINVAL);
        }
        return same_bytes(paths) ? pretend_read(a, b, o) : read_at_once(paths, formats, o, a, b);
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
static int write_page(const char *const paths[static 2], const DiffOptions *o, const Side *a,
                const Side *b, json_object *d) {
        _cleanup_byte_tree_ ByteTree *bytes = NULL;
        _cleanup_free_ char *text = NULL;
        size_t size;
        int r;

        if (a->files && b->files && byte_tree_new(a->files, b->files, &bytes) < 0)
                return log_oom(), EXIT_HOST;
        r = diff_page(&(DiffPage) { paths[0], paths[1], d, bytes, o->all }, &text, &size);
        if (r < 0)
                return log_oom(), EXIT_HOST;
        r = write_file_atomic(o->html, text, size, 0644);
        if (r < 0)
                return exit_code_from_errno(log_error_errno(r, "Cannot write %s", o->html));
        return EXIT_OK;
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

        r = manifests ? read_manifests(paths, &a, &b) : read_images(paths, o, &a, &b);
        if (r != 0)
                return r;
        if (compare_sides(&a, &b, &d) < 0)
                return log_oom(), EXIT_HOST;

        r = o->html ? write_page(paths, o, &a, &b, d) : EXIT_OK;
        if (r != EXIT_OK)
                return r;
        if (o->json)
                json_print(d, 0);
        else
                diff_print(d, o->all);
        return diff_is_empty(d) ? EXIT_OK : EXIT_FAILED;
}

static const OptionSpec options[] = {
        { "json", OPT_JSON, NULL, "one JSON object, with every file" },
        { "html", OPT_HTML, "FILE", "write a page too, with a treemap of where the bytes are",
                        COMPLETE_FILE },
        { "all", OPT_ALL, NULL, "list every file, not the first 40 of each kind" },
        { "quick", OPT_QUICK, NULL,
                        "do not compare the contents of files, only type, size, mode and owner" },
        { "no-files", OPT_NO_FILES, NULL, "do not compare files" },
        {},
};

static int take(void *values, int id, const char *value) {
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
        case OPT_HTML:
                o->html = value;
                return 0;
        default:
                o->no_files = true;
                return 0;
        }
}

/* Known before minutes of reading: 0 or an exit code. */
static int check_page(const DiffOptions *o, char *const *images) {
        _cleanup_free_ char *folder = path_folder(o->html);
        struct stat st, image;

        if (!folder)
                return log_oom(), EXIT_HOST;
        if (access(folder, W_OK) < 0)
                return exit_code_from_errno(log_error_errno(errno, "Cannot write %s", o->html));
        if (lstat(o->html, &st) < 0)
                return 0;
        if (!S_ISREG(st.st_mode))
                return log_error_return(
                                EXIT_USAGE, "--html=%s is no regular file: name another", o->html);
        for (size_t i = 0; i < 2; i++)
                if (stat(images[i], &image) >= 0 && image.st_dev == st.st_dev &&
                                image.st_ino == st.st_ino)
                        return log_error_return(EXIT_USAGE,
                                        "--html=%s would be written over what is compared",
                                        o->html);
        return 0;
}

static int check(VerbCall *call) {
        const DiffOptions *o = call->options;

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
        return o->html ? check_page(o, call->arguments) : 0;
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
