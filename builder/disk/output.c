/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* OUT/NAME and its draft OUT/.NAME.new, guarded by OUT/.NAME.lock. A build killed at any moment
 * leaves OUT/NAME as it was; the next one finishes or empties what it finds (place.c). */

#include "disk/output.h"
#include "disk/exported.h"
#include "disk/internal.h"
#include "disk/place.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "stage/stage.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#define MANIFEST_MAX (64 * 1024 * 1024)
#define DISK_CODE "3" /* raised where the same plan and tools give other bytes than before */
#define WAIT_USEC (200 * 1000)

struct Output {
        const Plan *plan;
        Place place;
        char *lock_path;
        int lock_fd;
        bool want_proof, begun;
};

int output_open(const char *out, const Plan *plan, bool want_proof, Output **ret) {
        _cleanup_output_free_ Output *o = calloc(1, sizeof(*o));
        int r;

        if (!o)
                return log_oom();
        o->plan = plan;
        o->want_proof = want_proof;
        o->lock_fd = -EBADF;
        r = place_open(out, plan->recipe->name, &o->place);
        if (r < 0)
                return r;
        o->lock_path = strf("%s/.%s.lock", out, plan->recipe->name);
        if (!o->lock_path)
                return log_oom();
        *ret = TAKE_PTR(o);
        return 0;
}

Output *output_free(Output *o) {
        if (!o)
                return NULL;
        if (o->begun)
                rm_rf(o->place.draft);
        safe_close(o->lock_fd);
        place_done(&o->place);
        free(o->lock_path);
        free(o);
        return NULL;
}

const char *output_folder(const Output *o) {
        return o->place.folder;
}

const char *output_draft(const Output *o) {
        return o->place.draft;
}

int output_identity(const Plan *plan, const char *tools_digest, Digest ret) {
        _cleanup_hash_free_ Hash *h = NULL;
        const Recipe *recipe = plan->recipe;
        char size[32];
        int r;

        r = hash_new(&h);
        if (r < 0)
                return r;
        snprintf(size, sizeof(size), "%llu", (unsigned long long) recipe->disk.size);
        hash_field(h, "imgbuild image", VERSION);
        hash_field(h, "disk code", DISK_CODE);
        hash_field(h, "tree", plan->stages[plan->n_stages - 1].digest);
        hash_field(h, "tools", tools_digest);
        hash_field(h, "size", size);
        hash_field(h, "filesystem", recipe->disk.keep ? "the vendor's" : recipe->disk.filesystem);
        hash_strv(h, "firmware", recipe->disk.firmware);
        hash_strv(h, "formats", recipe->disk.formats);
        hash_field(h, "cmdline", recipe->kernel.cmdline);
        for (size_t i = 0; i < recipe->n_overlays; i++)
                STRV_FOREACH (check, recipe->overlays[i]->checks) {
                        Digest digest;
                        r = digest_file(*check, digest, NULL);
                        if (r < 0)
                                return r;
                        hash_field(h, "check", digest);
                }
        hash_end(h, ret);
        return digest_valid(ret) ? 0 : -EIO;
}

/* Whether all files of the manifest are there with their sizes; -ENOMEM. */
static int has_files(const Output *o, json_object *files) {
        if (!json_object_is_type(files, json_type_array) || json_object_array_length(files) == 0)
                return 0;
        for (size_t i = 0; i < json_object_array_length(files); i++) {
                json_object *f = json_object_array_get_idx(files, i);
                _cleanup_free_ char *file =
                                path_join(o->place.folder, strempty(json_get_string(f, "name")));
                struct stat st;

                if (!file)
                        return -ENOMEM;
                if (lstat(file, &st) < 0 || !S_ISREG(st.st_mode) ||
                                st.st_size != json_get_int(f, "size", -1))
                        return 0;
        }
        return 1;
}

int output_is_current(Output *o, Context *ctx, const char *recipe_path) {
        _cleanup_json_ json_object *manifest = NULL;
        Digest tools, identity;
        int r;

        if (folder_load_json(o->place.folder, "manifest.json", MANIFEST_MAX, &manifest) < 0)
                return 0; /* none yet, or damaged: either way a build is due */
        if (o->want_proof && !json_get_bool(manifest, "proved", false))
                return 0;
        if (tools_find_digest(ctx, recipe_path, tools) < 0 ||
                        output_identity(o->plan, tools, identity) < 0)
                return 0;
        if (!streq_ptr(json_get_string(manifest, "identity"), identity))
                return 0;

        r = has_files(o, json_get(manifest, "files"));
        return r < 0 ? log_oom() : r;
}

static int open_lock(const Output *o) {
        int fd = open(o->lock_path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);

        return fd < 0 ? log_error_errno(errno,
                                        "%s: cannot lock it against other builds (of another user? name another place with --output)",
                                        o->lock_path)
                      : fd;
}

/* Waits by asking, not in flock(): a Ctrl-C must end it. -EAGAIN where `wait` is false and another
 * build has it. */
static int take_lock(Output *o, bool wait) {
        bool said = false;

        o->lock_fd = open_lock(o);
        if (o->lock_fd < 0)
                return o->lock_fd;
        while (flock(o->lock_fd, LOCK_EX | LOCK_NB) < 0) {
                if (errno != EWOULDBLOCK && errno != EINTR)
                        return log_error_errno(errno, "%s: cannot lock it", o->lock_path);
                if (!wait)
                        return -EAGAIN;
                if (interrupt_signal())
                        return -ECANCELED;
                if (!said)
                        log_info("Waiting for another build of %s", o->place.folder);
                said = true;
                usleep(WAIT_USEC);
        }
        return 0;
}

int output_settle(Output *o) {
        int r;

        if (!place_unsettled(&o->place))
                return 0;
        r = take_lock(o, false);
        if (r == -EAGAIN) /* what lies there is the other build's */
                r = 0;
        else if (r == 0)
                r = place_settle(&o->place);
        o->lock_fd = safe_close(o->lock_fd);
        return r;
}

int output_check(Output *o) {
        const Recipe *recipe = o->plan->recipe;
        _cleanup_strv_free_ char **files = NULL;
        _cleanup_close_ int lock = -EBADF;
        int r;

        if (strv_extend_many(&files, "manifest.json", "SHA256SUMS", NULL) < 0)
                return log_oom();
        STRV_FOREACH (format, recipe->disk.formats)
                if (strv_extendf(&files, "%s.%s", recipe->name, *format) < 0)
                        return log_oom();
        r = place_check(&o->place, files);
        if (r < 0)
                return r;
        lock = open_lock(o); /* what cannot be had at the end is told before the work */
        return lock < 0 ? lock : 0;
}

int output_begin(Output *o) {
        int r;

        r = mkdir_p(o->place.out, 0755);
        if (r < 0)
                return log_error_errno(r, "%s: cannot create the output folder", o->place.out);
        r = take_lock(o, true);
        if (r < 0)
                return r;
        r = place_settle(&o->place);
        if (r < 0)
                return r;

        if (mkdir(o->place.draft, 0755) < 0)
                return log_error_errno(errno, "%s: cannot start the output", o->place.draft);
        o->begun = true;
        return 0;
}

/* They were carried over, and are of the image before. */
static void tell_stale_exports(const char *folder) {
        _cleanup_strv_free_ char **stale = NULL;

        if (exported_stale(folder, &stale) < 0)
                return;
        STRV_FOREACH (file, stale)
                log_warning("%s/%s was exported from an earlier build of this image: export it again with --force, or remove it",
                                folder, *file);
}

int output_commit(Output *o) {
        const char *draft = o->place.draft;
        _cleanup_close_ int fd = open(draft, O_RDONLY | O_DIRECTORY | O_CLOEXEC), out = -EBADF;
        int r;

        if (fd < 0 || syncfs(fd) < 0)
                return log_error_errno(errno, "%s: cannot write it out to disk", draft);
        r = place_put(&o->place);
        if (r < 0)
                return r;
        o->begun = false;

        out = open(o->place.out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (out < 0 || fsync(out) < 0)
                return log_error_errno(errno, "%s: cannot write it out to disk", o->place.out);
        tell_stale_exports(o->place.folder);
        return 0;
}
