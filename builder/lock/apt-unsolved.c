/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is told where apt finds no solution: its own words, the file that asks, and the names that
 * were probably meant. */

#include "lock/apt.h"
#include "lock/internal.h"
#include "shared/spawn.h"
#include "shared/suggest.h"

/* Where a stage's packages are asked for: "packages:slurm", "compile:driver/0", "packages". */
static const char *file_of(const Apt *a, const char *id) {
        const char *name = strchr(id, ':');

        for (size_t i = 0; name && i < a->recipe->n_overlays; i++) {
                const Overlay *o = a->recipe->overlays[i];
                const char *rest = startswith(name + 1, o->name);

                if (rest && (*rest == '\0' || *rest == '/'))
                        return o->file;
        }
        return a->recipe->path;
}

/* What else a name could mean: ""; or "  tumx: did you mean "tmux"?", a line each. NULL on out of
 * memory. */
static char *suggest_names(const Apt *a, char *const *unknown) {
        _cleanup_strv_free_ char **names = NULL, **lines = NULL;
        SpawnOptions options = { .env = a->env };
        _cleanup_free_ char *output = NULL;
        int status;

        if (!unknown ||
                        spawn_capture(&options, ARGV("apt-cache", "pkgnames"), &output, &status) <
                                        0 ||
                        status != 0)
                return strdup("");
        names = strv_split(output, "\n");
        STRV_FOREACH (name, unknown) {
                const char *nearest = suggest_nearest(*name, names);

                if (nearest && strv_extendf(&lines, "  %s: did you mean \"%s\"?\n", *name,
                                               nearest) < 0)
                        return NULL;
        }
        return strv_join(lines, "");
}

int apt_unknown_names(const char *output, char ***ret) {
        _cleanup_strv_free_ char **lines = strv_split(output, "\n"), **l = NULL;

        if (!lines)
                return -ENOMEM;
        STRV_FOREACH (line, lines) {
                const char *name = startswith(*line, "E: Unable to locate package ");

                if (name && !strv_contains(l, name) && strv_extend(&l, name) < 0)
                        return -ENOMEM;
        }
        *ret = TAKE_PTR(l);
        return 0;
}

int apt_log_unsolved(const Apt *a, const char *id, const char *output) {
        _cleanup_free_ char *complaint = apt_complaint(output), *meant = NULL,
                            *components = strv_join(a->recipe->base.components, " ");
        _cleanup_strv_free_ char **unknown = NULL;

        if (apt_unknown_names(output, &unknown) < 0)
                return log_oom();
        meant = suggest_names(a, unknown);
        log_error("Stage %s cannot have its packages from %s (%s) and the overlays' repositories. apt says:\n"
                  "%s\n%s"
                  "Correct the names in %s, or add a component or repository that has them",
                        id, a->recipe->base.release, strempty(components), strempty(complaint),
                        strempty(meant), file_of(a, id));
        return -EINVAL;
}
