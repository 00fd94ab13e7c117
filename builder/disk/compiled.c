/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is in the image and came in no package: the files that compile stages made, each with its
 * SHA-256 and, of a kernel module, its name and version. */

#include "disk/internal.h"

#include "common/module-info.h"
#include "disk/walk.h"
#include "sandbox/open-inside.h"
#include "shared/log.h"

#include <fcntl.h>

typedef struct Compiled {
        json_object *list;
        const char *stage;
        int root;
} Compiled;

static bool is_module(const char *path) {
        return endswith(path, ".ko") || endswith(path, ".ko.xz") || endswith(path, ".ko.zst") ||
               endswith(path, ".ko.gz");
}

static int add_module(json_object *o, int fd) {
        _cleanup_(module_info_done) ModuleInfo m = {};
        int r;

        if (lseek(fd, 0, SEEK_SET) < 0)
                return -errno;
        r = module_info_read(fd, &m);
        if (r == -EBADMSG)
                return 0; /* it only has the name of one */
        if (r < 0)
                return r;
        return json_set_fields(o, JSON_STRING("module", m.name), JSON_STRING("version", m.version));
}

static int visit(const FTSENT *e, const char *inside, void *userdata) {
        _cleanup_close_ int fd = -EBADF;
        Compiled *c = userdata;
        json_object *o = NULL;
        uint64_t size;
        Digest digest;
        int r;

        if (e->fts_info != FTS_F)
                return 0;
        fd = inside_open_regular(c->root, inside, SIZE_MAX, NULL);
        if (fd < 0)
                return fd == -EINVAL ? 0 : fd; /* a device, or what overlayfs hides others with */
        r = digest_fd(fd, digest, &size);
        if (r < 0)
                return r;
        r = json_append_object(c->list, &o);
        if (r < 0)
                return r;
        r = json_set_fields(o, JSON_STRING("stage", c->stage), JSON_STRING("path", inside),
                        JSON_INT("size", size), JSON_STRING("sha256", digest));
        if (r < 0)
                return r;
        return is_module(inside) ? add_module(o, fd) : 0;
}

static int add_stage(Context *ctx, const Stage *s, json_object *list) {
        _cleanup_free_ char *tree = store_layer_tree(ctx->store, s->digest);
        _cleanup_close_ int root = -EBADF;
        Compiled c = { .list = list, .stage = s->id };

        if (!tree)
                return -ENOMEM;
        root = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (root < 0)
                return -errno;
        c.root = root;
        return walk_tree(tree, visit, &c);
}

int disk_list_compiled(Context *ctx, const Plan *plan, json_object **ret) {
        _cleanup_json_ json_object *list = json_object_new_array();
        int r;

        if (!list)
                return log_oom();
        for (size_t i = 0; i < plan->n_stages; i++) {
                const Stage *s = plan->stages + i;

                if (s->kind != STAGE_COMPILE)
                        continue;
                r = add_stage(ctx, s, list);
                if (r < 0)
                        return log_error_errno(r, "Cannot list what %s made", s->id);
        }
        *ret = TAKE_PTR(list);
        return 0;
}
