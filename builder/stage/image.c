/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The first stage of a recipe with base.image: the tree of a vendor's system as one layer. An
 * appliance reads it, in a process of its own; what comes out of a pipe is made by another one,
 * which sees the layer alone as its own. */

#include "stage/internal.h"
#include "stage/plant.h"
#include "appliance/appliance.h"

#include "shared/file-util.h"
#include "shared/log.h"

#include <fcntl.h>
#include <sys/mman.h>

/* Beside what is planted, why it ended; in memory that both processes see. */
typedef struct Report {
        Planted planted;
        int result;
        char why[512];
} Report;

static Report *report_free(Report *r) {
        if (r)
                (void) munmap(r, sizeof(*r));
        return NULL;
}
DEFINE_CLEANUP(Report *, report_free);

static int report_new(Report **ret) {
        Report *r = mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                        0);

        if (r == MAP_FAILED)
                return -errno;
        *ret = r;
        return 0;
}

typedef struct Import {
        StageBuild *b;
        const char *path, *format;
        struct stat st; /* of the image before it was read */
        int fd;         /* that the tree comes from */
        Report *report;
} Import;

static int plant(void *userdata) {
        const Import *i = userdata;
        _cleanup_free_ char *why = NULL;

        i->report->result = plant_tree(i->fd, i->b->sandbox.upper, (uint64_t) i->st.st_blocks * 512,
                        &i->report->planted, &why);
        snprintf(i->report->why, sizeof(i->report->why), "%s", strempty(why));
        return i->report->result < 0 ? 1 : 0;
}

static int show(pid_t pid _unused_, void *userdata) {
        const Import *i = userdata;

        progress_bytes(i->b->ctx->progress, i->b->stage->id, i->report->planted.bytes, 0);
        return 0;
}

static int judge(const Import *i, int status) {
        const Report *report = i->report;
        const char *id = i->b->stage->id;

        if (status == 0)
                return 0;
        if (report->result == -EBADMSG || report->result == -EPERM || report->result == -EPIPE)
                return log_error_return(-EINVAL, "Stage %s: %s cannot be imported: %s", id, i->path,
                                report->why);
        if (report->result < 0)
                return log_error_errno(
                                report->result, "Stage %s: %s cannot be imported", id, i->path);
        return log_error_return(-EIO,
                        "Stage %s: the process that makes the tree of %s died (%d); was there no memory left? 'journalctl -k' says so",
                        id, i->path, status);
}

/* A tree that ends too early has its cause in an image that cannot be read, which was told. */
static int run(Import *i, TreeStream *stream) {
        const SpawnOptions options = {
                .prepare = plant, .prepare_data = i, .watch = show, .watch_data = i
        };
        int status = 0, read, r;

        r = spawn_run(&options, NULL, &status);
        i->fd = safe_close(i->fd);
        read = r < 0 || status != 0 ? tree_stream_end(stream) : tree_stream_finish(stream);
        if (r < 0)
                return r == -ECANCELED ? r
                                       : log_error_errno(r,
                                                         "Stage %s: cannot start what makes the tree of %s",
                                                         i->b->stage->id, i->path);
        if (read < 0 && (status == 0 || i->report->result == -EPIPE))
                return read;
        return judge(i, status);
}

/* Family el has XFS: not worth a raw disk to learn that it is not ext4. A raw one is there. */
static int find_scratch(const Import *i, char **ret) {
        if (i->b->plan->recipe->family == FAMILY_EL && !streq(i->format, "raw"))
                return 0;
        return store_scratch(i->b->ctx->store, "import", ret);
}

static int import(Import *i) {
        _cleanup_(close_pairp) int fds[2] = { -EBADF, -EBADF };
        _cleanup_free_ char *scratch = NULL;
        TreeStream *stream;
        int r;

        r = find_scratch(i, &scratch);
        if (r < 0)
                return r;
        if (pipe2(fds, O_CLOEXEC) < 0)
                return log_error_errno(
                                errno, "Stage %s: no pipe to the appliance", i->b->stage->id);
        r = tree_stream_start(i->path, i->format, i->b->plan->lock->image.root, scratch, fds[1],
                        fds[0], &stream);
        if (r < 0)
                return log_error_errno(r, "Stage %s: cannot start the appliance", i->b->stage->id);
        fds[1] = safe_close(fds[1]);
        i->fd = TAKE_FD(fds[0]);
        return run(i, stream);
}

static bool is_same(const struct stat *a, const struct stat *b) {
        return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
               a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
               a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static int require_same(const Import *i) {
        struct stat st;

        if (stat(i->path, &st) < 0 || !is_same(&st, &i->st))
                return log_error_return(-EBUSY, "Stage %s: %s was changed while it was read",
                                i->b->stage->id, i->path);
        return 0;
}

static void tell_losses(const Import *i) {
        const Planted *p = &i->report->planted;

        if (p->whiteouts > 0)
                log_warning("%s: %llu files that mark something as removed in the layers of containers were left out: a layer cannot hold them",
                                i->path, (unsigned long long) p->whiteouts);
        if (p->attributes > 0)
                log_warning("%s: %llu labels and trusted attributes were left out, which only root may set: import it as root to keep them",
                                i->path, (unsigned long long) p->attributes);
}

/* For the manifest: whose the base is. */
static int describe(const LockedImage *image, json_object **ret) {
        _cleanup_json_ json_object *o = json_object_new_object();
        int r = json_set_fields(o, JSON_STRING("by", "vendor"), JSON_STRING("image", image->name),
                        JSON_STRING("sha256", image->sha256));

        if (r < 0)
                return r;
        *ret = TAKE_PTR(o);
        return 0;
}

int stage_image(StageBuild *b) {
        const LockedImage *image = &b->plan->lock->image;
        const Recipe *recipe = b->plan->recipe;
        _cleanup_(report_freep) Report *report = NULL;
        _cleanup_free_ char *path = NULL;
        Import i = { .b = b, .fd = -EBADF };
        int r;

        if (report_new(&report) < 0 || describe(image, &b->made_with) < 0)
                return log_oom();
        i.report = report;
        r = locked_image_path(b->ctx, recipe, image, &i.st, &path);
        if (r < 0)
                return r;
        i.path = path;
        r = image_format_log(path, &i.format);
        if (r < 0)
                return r;
        r = image_require_whole(path, i.format);
        if (r < 0)
                return r;

        r = import(&i);
        if (r < 0)
                return r;
        r = require_same(&i);
        if (r < 0)
                return r;
        tell_losses(&i);
        return stage_write_sources(b, recipe->base.repositories, recipe->base.n_repositories);
}
