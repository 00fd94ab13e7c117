/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The secrets of a run stage: which it gets, and that none of them stays in its layer, where
 * whoever has the image or the store would find it. */

#include "stage/internal.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define PIECE (1024 * 1024) /* bytes read at once */

static char *const *asked(const Stage *s) {
        return s->kind == STAGE_RUN ? s->overlay->run[s->index].secrets : NULL;
}

int stage_secrets(const StageBuild *b, const Secret ***ret) {
        char *const *names = asked(b->stage);
        _cleanup_free_ const Secret **secrets = NULL;
        size_t n = 0;

        if (strv_length(names) == 0)
                return 0;
        secrets = calloc(strv_length(names) + 1, sizeof(*secrets));
        if (!secrets)
                return log_oom();
        STRV_FOREACH (name, names) {
                secrets[n] = secrets_find(&b->ctx->secrets, *name);
                if (!secrets[n++])
                        return log_error_return(
                                        -EINVAL, "Stage %s: no secret %s", b->stage->id, *name);
        }
        *ret = TAKE_PTR(secrets);
        return 0;
}

int stage_have_secrets(const Context *ctx, const Plan *plan, const bool *missing, size_t last) {
        int r = 0;

        for (size_t i = 0; i <= last; i++) {
                const Stage *s = plan->stages + i;

                STRV_FOREACH (name, missing[i] ? asked(s) : NULL) {
                        if (secrets_find(&ctx->secrets, *name))
                                continue;
                        log_error("Stage %s needs the secret %s: imgbuild build %s --secret %s=FILE",
                                        s->id, *name, plan->recipe->path, *name);
                        r = -EINVAL;
                }
        }
        return r;
}

/* --- looking for them ------------------------------------------------------------------------- */

typedef struct Search {
        const Secret *const *secrets;
        char *buffer;
        size_t overlap; /* what of a piece is looked at again with the next */
} Search;

static const Secret *search_bytes(const Search *s, const void *data, size_t size) {
        for (size_t i = 0; s->secrets[i]; i++)
                if (secret_is_in(s->secrets[i], data, size))
                        return s->secrets[i];
        return NULL;
}

static int search_file(const Search *s, const char *path, const Secret **ret) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        off_t at = 0, data;
        size_t kept = 0;

        if (fd < 0)
                return -errno;
        for (;;) {
                ssize_t n;

                if (interrupt_signal())
                        return -ECANCELED;
                data = lseek(fd, at, SEEK_DATA); /* a hole has none, however large it is */
                if (data < 0 && errno == ENXIO)
                        return 0;
                if (data > at) {
                        at = data;
                        kept = 0;
                }
                n = read(fd, s->buffer + kept, PIECE);
                if (n < 0)
                        return -errno;
                if (n == 0)
                        return 0;
                at += n;
                kept += (size_t) n;
                *ret = search_bytes(s, s->buffer, kept);
                if (*ret)
                        return 0;
                if (kept > s->overlap) {
                        memmove(s->buffer, s->buffer + kept - s->overlap, s->overlap);
                        kept = s->overlap;
                }
        }
}

static int search_link(const Search *s, const char *path, const Secret **ret) {
        char target[PATH_MAX];
        ssize_t n = readlink(path, target, sizeof(target));

        if (n < 0)
                return -errno;
        *ret = search_bytes(s, target, (size_t) n);
        return 0;
}

static int search_attributes(const Search *s, const char *path, const Secret **ret) {
        char names[PIECE / 16];
        ssize_t n = llistxattr(path, names, sizeof(names));

        if (n < 0)
                return errno == ENOTSUP ? 0 : -errno;
        *ret = search_bytes(s, names, (size_t) n);
        for (const char *name = names; !*ret && name < names + n; name += strlen(name) + 1) {
                ssize_t size = lgetxattr(path, name, s->buffer, PIECE);

                if (size < 0)
                        return -errno;
                *ret = search_bytes(s, s->buffer, (size_t) size);
        }
        return 0;
}

static int search_entry(const Search *s, const FTSENT *e, const Secret **ret) {
        int r;

        switch (e->fts_info) {
        case FTS_DP:
                return 0;
        case FTS_DNR:
        case FTS_ERR:
        case FTS_NS:
                return -e->fts_errno;
        default:
                break;
        }
        *ret = search_bytes(s, e->fts_name, e->fts_namelen);
        if (*ret)
                return 0;
        r = search_attributes(s, e->fts_accpath, ret);
        if (r < 0 || *ret)
                return r;
        if (e->fts_info == FTS_F)
                return search_file(s, e->fts_accpath, ret);
        return e->fts_info == FTS_SL || e->fts_info == FTS_SLNONE
                               ? search_link(s, e->fts_accpath, ret)
                               : 0;
}

static void fts_closep(FTS **f) {
        if (*f)
                fts_close(*f);
}

/* The path may be the secret. */
static int refuse(const StageBuild *b, const Search *s, const Secret *found, const char *path) {
        _cleanup_free_ char *shown = secrets_mask(s->secrets, path);

        return log_error_return(-EIO,
                        "Stage %s: its script left the secret %s in %s, where everybody would find it who has the image; let it remove that",
                        b->stage->id, found->name, strempty(shown));
}

/* Nobody else is in the layer any more: the sandbox and its last process are gone. */
static int search_tree(const StageBuild *b, const Search *s) {
        char *const paths[] = { (char *) b->sandbox.upper, NULL };
        _cleanup_(fts_closep) FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);

        if (!fts)
                return -errno;
        for (;;) {
                const Secret *found = NULL;
                const FTSENT *e;
                int r;

                errno = 0;
                e = fts_read(fts);
                if (!e)
                        return -errno;
                r = search_entry(s, e, &found);
                if (r < 0)
                        return r;
                if (found)
                        return refuse(b, s, found, e->fts_path + strlen(b->sandbox.upper));
        }
}

int stage_find_secrets(const StageBuild *b, const Secret *const *secrets) {
        _cleanup_free_ char *buffer = NULL;
        Search s = { .secrets = secrets };
        int r;

        for (size_t i = 0; secrets[i]; i++)
                s.overlap = MAX(s.overlap, secret_longest_trace(secrets[i]));
        s.buffer = buffer = malloc(PIECE + s.overlap);
        if (!buffer)
                return log_oom();
        r = search_tree(b, &s);
        return r < 0 && r != -EIO
                               ? log_error_errno(r,
                                                 "Stage %s: its layer cannot be searched for secrets",
                                                 b->stage->id)
                               : r;
}
