/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* slurmd's options in one line. systemd takes quotes in an environment file as a shell would. */

#include "steps/slurm/environment.h"
#include "contract/paths.h"
#include "shared/json-strv.h"
#include "shared/strv.h"

static unsigned count_gpus(void) {
        _cleanup_strv_free_ char **names = NULL;
        unsigned n = 0;

        if (fb_list("/dev", &names) < 0)
                return 0;
        STRV_FOREACH (name, names) {
                const char *digits = startswith(*name, "nvidia");

                n += digits && digits[0] && strspn(digits, "0123456789") == strlen(digits);
        }
        return n;
}

/* The generic resources, "gpu:8", or "" for none. NULL on out of memory. */
static char *generic_resources(const char *gres) {
        if (!gres || streq(gres, "none"))
                return strdup("");
        if (!streq(gres, "auto"))
                return strdup(gres);
        unsigned gpus = count_gpus();
        return gpus > 0 ? strf("gpu:%u", gpus) : strdup("");
}

/* A node that the controller does not know of brings its description along: " -Z --conf …". NULL
 * on out of memory. */
static char *dynamic_options(json_object *slurm) {
        _cleanup_free_ char *gres = generic_resources(json_get_string(slurm, "gres")),
                            *features = NULL;
        _cleanup_strv_free_ char **l = NULL;

        if (!gres || json_get_strings(slurm, "features", &l) < 0 || !(features = strv_join(l, ",")))
                return NULL;
        if (!*gres && !*features)
                return strdup(" -Z");
        return strf(" -Z --conf \"%s%s%s%s%s\"", *features ? "Feature=" : "", features,
                        *features && *gres ? " " : "", *gres ? "Gres=" : "", gres);
}

char *slurmd_environment(json_object *slurm, const char *node) {
        _cleanup_strv_free_ char **controllers = NULL, **options = NULL;
        _cleanup_free_ char *servers = NULL, *dynamic = NULL, *more = NULL;

        if (json_get_strings(slurm, "controllers", &controllers) < 0 ||
                        json_get_strings(slurm, "options", &options) < 0)
                return NULL;
        servers = strv_join(controllers, ",");
        more = strv_join(options, " ");
        dynamic = json_get_bool(slurm, "dynamic", false) ? dynamic_options(slurm) : strdup("");
        if (!servers || !more || !dynamic)
                return NULL;
        return strf("SLURMD_OPTIONS='--conf-server %s -N %s%s%s%s'\n", servers, node, dynamic,
                        *more ? " " : "", more);
}
