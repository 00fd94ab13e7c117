/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The network file systems as they are now. Each is asked by a child of its own: a dead server
 * holds whoever asks it. Nothing is mounted, and nothing is tried again. */

#include "shared/time-util.h"
#include "shared/duration.h"
#include "steps/common/mount-table.h"
#include "steps/common/own-file.h"
#include "steps/common/patience.h"
#include "steps/mounts/entry.h"
#include "steps/steps.h"

#include <sys/vfs.h>

/* NFS asks again after 60 s by itself (timeo=600): a server that fails over answers before long. */
#define ASK_USEC (20 * USEC_PER_SEC)

typedef struct Look {
        const char *what, *where;
        bool write;
} Look;

static int ask(void *userdata) {
        const Look *l = userdata;
        struct statfs s;

        if (statfs(l->where, &s) < 0)
                return -errno;
        return l->write ? folder_prove_writable(l->where) : 0;
}

/* The code of what is wrong with an entry, NULL where nothing is. *ret_text is of its own. */
static const char *look(const Look *l, size_t index, double *slowest_ms, char **ret_text) {
        _cleanup_free_ char *source = NULL, *name = strf("mount-%zu", index);
        char limit[FORMAT_DURATION_MAX];
        uint64_t start = now_usec();
        int r;

        if (!mounted_at(l->where, &source)) {
                *ret_text = strdup("nothing is mounted there");
                return "mounts.lost";
        }
        if (!streq(source, l->what)) {
                *ret_text = strf("%s is mounted there", source);
                return "mounts.blocked";
        }
        r = name ? patience_run(name, ASK_USEC, ask, (void *) l) : -ENOMEM;
        *slowest_ms = MAX(*slowest_ms, (double) (now_usec() - start) / USEC_PER_MSEC);
        if (r == 0)
                return NULL;
        if (r == -ETIMEDOUT || r == -EBUSY) {
                *ret_text = strf("it did not answer within %s", format_duration(limit, ASK_USEC));
                return "mounts.hangs";
        }
        *ret_text = strdup(strerror(-r));
        return l->write ? "mounts.not-writable" : "mounts.not-readable";
}

int mounts_check(StepContext *c) {
        size_t n = json_array_length(c->section);
        double slowest_ms = 0;

        if (n == 0)
                return step_skip(c, "no mounts are configured");
        for (size_t i = 0; i < n; i++) {
                json_object *o = json_object_array_get_idx(c->section, i);
                const char *verify = json_get_string(o, "verify"), *code;
                _cleanup_free_ char *text = NULL, *what = mount_path(json_get_string(o, "what")),
                                    *where = mount_path(json_get_string(o, "where"));
                Look l = {
                        .what = what,
                        .where = where,
                        .write = c->check == STEP_CHECK_FULL && streq_ptr(verify, "write"),
                };

                if (!what || !where)
                        return -ENOMEM;
                code = look(&l, i, &slowest_ms, &text);
                if (code && json_get_bool(o, "required", true))
                        (void) step_fail_later(
                                        c, code, "%s at %s: %s", l.what, l.where, strempty(text));
                else if (code)
                        (void) step_degrade(
                                        c, code, "%s at %s: %s", l.what, l.where, strempty(text));
        }
        step_figure(c, "slowest_ms", json_object_new_double(slowest_ms));
        return step_done(c, "%zu file systems answer", n);
}
