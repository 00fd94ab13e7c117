/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* apt's sources in the image: overlays' repositories that stay. The mirror that a build happened
 * to use is never among them: cloud-init writes the distribution's sources at first boot, for the
 * cloud it finds itself in. */

#include "stage/internal.h"
#include "store/store.h"
#include "sandbox/copy-tree.h"
#include "lock/lock.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

typedef struct Sources {
        char *path; /* in the image */
        char *text;
        char *key_path, *key_file; /* in the image, on the host */
} Sources;

static void sources_done(Sources *s) {
        free(s->path);
        free(s->text);
        free(s->key_path);
        free(s->key_file);
}

static int write_sources(const char *root, void *userdata) {
        const Sources *s = userdata;
        int r;

        r = copy_text(s->text, root, s->path, 0644);
        return r < 0 ? r : copy_file(s->key_file, root, s->key_path, 0644);
}

static char *sources_text(const Repository *q, const char *key_path) {
        _cleanup_free_ char *components = strv_join(q->components, " ");

        if (!components)
                return NULL;
        return strf("Types: deb\nURIs: %s\nSuites: %s\n%s%s%sSigned-By: %s\n", q->uri, q->suite,
                        *components ? "Components: " : "", components, *components ? "\n" : "",
                        key_path);
}

static int repository_sources(StageBuild *b, const Repository *q, Sources *s) {
        const LockedOrigin *origin = lock_find_origin(b->plan->lock, q->name);
        _cleanup_free_ char *folder = NULL;
        int r;

        if (!origin)
                return -ENOKEY;
        r = store_scratch(b->ctx->store, "key", &folder);
        if (r < 0)
                return r;

        s->key_file = path_join(folder, "key.gpg");
        s->key_path = strf("/etc/apt/keyrings/%s.gpg", q->name);
        s->path = strf("/etc/apt/sources.list.d/%s.sources", q->name);
        if (!s->key_file || !s->key_path || !s->path)
                return -ENOMEM;
        s->text = sources_text(q, s->key_path);
        if (!s->text)
                return -ENOMEM;
        return locked_key_write(origin, s->key_file);
}

static int write_repository(StageBuild *b, const Repository *q) {
        _cleanup_(sources_done) Sources s = {};
        int r;

        r = repository_sources(b, q, &s);
        return r < 0 ? r : sandbox_call(&b->sandbox, write_sources, &s);
}

int stage_write_sources(StageBuild *b) {
        const Overlay *o = b->stage->overlay;

        for (size_t i = 0; i < o->n_repositories; i++) {
                int r = o->repositories[i].keep ? write_repository(b, o->repositories + i) : 0;

                if (r < 0)
                        return log_error_errno(r, "Stage %s: cannot write its package sources",
                                        b->stage->id);
        }
        return 0;
}
