/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as recipe, extended recipe and two overlays: recipe_load() either gives a recipe that
 * can be shown, or says in clean lines what is wrong. The input's parts are separated by lines
 * "---". */

#include "shared/file-util.h"
#include "shared/log.h"
#include "recipe/recipe.h"

#include <fcntl.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const files[] = { "images/x.json", "images/base.json",
        "overlays/one/overlay.json", "overlays/two/overlay.json" };
static size_t lines;

static void expect(bool holds, const char *what) {
        if (holds)
                return;
        fprintf(stderr, "fuzz-recipe: %s\n", what);
        abort();
}

static void look_at_line(int level, const char *line, void *userdata _unused_) {
        expect(level == LOG_ERR, "a message that is no error");
        for (const char *c = line; *c; c++)
                expect((unsigned char) *c >= ' ' && *c != 0x7f, "a control character in a message");
        lines++;
}

static void put(const char *path, const void *data, size_t size, mode_t mode) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

        expect(fd >= 0 && write_all(fd, data, size) >= 0, "cannot write the test's files");
        close(fd);
}

/* Most of an input is what it was in the run before. */
static void put_changed(size_t i, const char *data, size_t size) {
        static struct {
                char *data;
                size_t size;
                bool written;
        } last[ELEMENTSOF(files)];

        if (last[i].written && last[i].size == size && memcmp(last[i].data, data, size) == 0)
                return;
        put(files[i], data, size, 0644);
        free(last[i].data);
        last[i].data = malloc(size + 1);
        expect(last[i].data, "no memory");
        if (size > 0)
                memcpy(last[i].data, data, size);
        last[i].size = size;
        last[i].written = true;
}

static char *folder; /* in $FUZZ_TMP, which the one who set it removes, whatever becomes of us */

static void remove_folder(void) {
        if (chdir("/") >= 0)
                rm_rf(folder);
        free(folder);
}

static void prepare(void) {
        static bool done;

        if (done)
                return;
        done = true;
        const char *parent = getenv("FUZZ_TMP");
        if (!parent)
                parent = access("/dev/shm", W_OK) >= 0 ? "/dev/shm" : "/tmp"; /* a disk is slow */
        folder = path_join(parent, "imgbuild-fuzz.XXXXXX");
        expect(folder && mkdtemp(folder) && chdir(folder) >= 0, "cannot make a folder");
        atexit(remove_folder);
        expect(mkdir("images", 0755) >= 0 && mkdir_p("overlays/one/files/etc", 0755) >= 0 &&
                                        mkdir_p("overlays/two/src", 0755) >= 0,
                        "cannot make folders");
        put("overlays/one/a.sh", "#!/bin/sh\n", 10, 0755);
        put("overlays/two/b.sh", "#!/bin/sh\n", 10, 0755);
        put("overlays/one/files/etc/x", "x", 1, 0644);
        put("overlays/two/key.asc", "x", 1, 0644);
        log_set_writer(look_at_line, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_recipe_free_ Recipe *recipe = NULL;
        _cleanup_json_ json_object *o = NULL;
        const char *p = (const char *) data, *end = p + size;
        int r;

        prepare();
        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                const char *stop = p < end ? memmem(p, (size_t) (end - p), "\n---\n", 5) : NULL;

                if (!stop || i + 1 == ELEMENTSOF(files))
                        stop = end;
                put_changed(i, p, (size_t) (stop - p));
                p = MIN(stop + 5, end);
        }
        lines = 0;
        r = recipe_load("images/x.json", (char *const[]) { (char *) "overlays", NULL }, &recipe);
        expect(r == 0 || r == -EINVAL, "an error that is neither");
        expect((r == 0) == (recipe != NULL) && (r == 0) == (lines == 0),
                        "a recipe with errors, or none without");
        if (recipe) {
                expect(recipe_to_json(recipe, &o) == 0, "a recipe that cannot be shown");
                expect(json_object_to_json_string(o) != NULL, "a recipe that cannot be printed");
        }
        return 0;
}
