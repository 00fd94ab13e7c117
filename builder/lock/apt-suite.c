/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which suite a package is from. A package's URL says it only where each source has a place of its
 * own; suites of one archive (backports, security on a mirror that carries all) share one pool. */

#include "lock/apt.h"
#include "shared/spawn.h"

/* The enabled source that `s` shares its place with, or NULL. */
static const AptSource *find_twin(const Apt *a, const AptSource *s) {
        for (size_t i = 0; i < a->n_sources; i++)
                if (a->sources + i != s && a->sources[i].enabled &&
                                streq(a->sources[i].prefix, s->prefix))
                        return a->sources + i;
        return NULL;
}

static const AptSource *find_origin(const Apt *a, const char *origin) {
        for (size_t i = 0; i < a->n_sources; i++)
                if (streq(a->sources[i].origin, origin))
                        return a->sources + i;
        return NULL;
}

/* Where the line of apt-cache madison says that the package is; NULL where the line is of none of
 * ours.
 *   tool | 2.0 | http://host/debian trixie-backports/main amd64 Packages */
static const AptSource *source_of(const Apt *a, const char *line, const LockedPackage *p) {
        _cleanup_strv_free_ char **w = strv_split(line, " ");
        _cleanup_free_ char *prefix = NULL;

        if (strv_length(w) < 6 || !streq(w[0], p->name) || !streq(w[2], p->version))
                return NULL;
        prefix = strf("%s/", w[4]);
        if (!prefix)
                return NULL;
        w[5][strcspn(w[5], "/")] = '\0';
        for (size_t i = 0; i < a->n_sources; i++) {
                const AptSource *s = a->sources + i;

                if (s->enabled && streq(s->prefix, prefix) && strv_contains(s->suites, w[5]))
                        return s;
        }
        return NULL;
}

/* A version that several have is the first source's, as with apt. */
static int settle(const Apt *a, char *const *lines, LockedPackage *p) {
        const AptSource *first = NULL;

        STRV_FOREACH (line, lines) {
                const AptSource *s = source_of(a, *line, p);

                if (s && (!first || s < first))
                        first = s;
        }
        if (!first || streq(first->origin, p->origin))
                return 0;
        char *origin = strdup(first->origin);
        if (!origin)
                return -ENOMEM;
        free(p->origin);
        p->origin = origin;
        return 0;
}

int apt_settle_suites(const Apt *a, LockedStage *s) {
        _cleanup_strv_free_ char **argv = NULL, **lines = NULL;
        _cleanup_free_ char *output = NULL;
        const SpawnOptions options = { .env = a->env };
        size_t asked = 0;
        int status, r;

        if (strv_extend_strv(&argv, ARGV("apt-cache", "madison", "--")) < 0)
                return log_oom();
        for (size_t i = 0; i < s->n_packages; i++) {
                const AptSource *source = find_origin(a, s->packages[i].origin);

                if (!source || !find_twin(a, source))
                        continue;
                if (strv_extend(&argv, s->packages[i].name) < 0)
                        return log_oom();
                asked++;
        }
        if (asked == 0)
                return 0;

        r = spawn_capture(&options, argv, &output, &status);
        if (r == -ECANCELED)
                return r;
        if (r < 0 || status != 0)
                return log_error_errno(
                                r < 0 ? r : -EIO, "Cannot ask apt which suites packages are from");
        lines = strv_split(output, "\n");
        if (!lines)
                return log_oom();
        for (size_t i = 0; i < s->n_packages; i++)
                if (settle(a, lines, s->packages + i) < 0)
                        return log_oom();
        return 0;
}
