/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* slurmd's options in one line. systemd takes quotes in an environment file as a shell would. */

#include "steps/slurm/environment.h"
#include "contract/paths.h"
#include "shared/json-strv.h"
#include "shared/strv.h"
#include "steps/slurm/node.h"

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

/* The place in the cloud's network is a feature, unless the configuration names one. */
static int add_place(char ***features, const char *fabric) {
        STRV_FOREACH (feature, *features)
                if (startswith(*feature, "fabric."))
                        return 0;
        return fabric ? strv_extendf(features, "fabric.%s", fabric) : 0;
}

/* A node that the controller does not know of brings its description along: " -Z --conf …". NULL
 * on out of memory. */
static char *dynamic_options(json_object *slurm, const char *fabric, bool drained) {
        _cleanup_free_ char *gres = generic_resources(json_get_string(slurm, "gres")),
                            *features = NULL, *text = NULL;
        _cleanup_strv_free_ char **l = NULL, **words = NULL;

        if (!gres || json_get_strings(slurm, "features", &l) < 0 || add_place(&l, fabric) < 0 ||
                        !(features = strv_join(l, ",")))
                return NULL;
        if (*features && strv_extendf(&words, "Feature=%s", features) < 0)
                return NULL;
        if (*gres && strv_extendf(&words, "Gres=%s", gres) < 0)
                return NULL;
        if (drained && strv_extendf(&words, "State=DRAIN Reason=%s", DRAIN_JOINING) < 0)
                return NULL;
        if (!words)
                return strdup(" -Z");
        text = strv_join(words, " ");
        return text ? strf(" -Z --conf \"%s\"", text) : NULL;
}

char *slurmd_environment(json_object *slurm, const char *node, const char *fabric, bool drained) {
        _cleanup_strv_free_ char **controllers = NULL, **options = NULL;
        _cleanup_free_ char *servers = NULL, *dynamic = NULL, *more = NULL;

        if (json_get_strings(slurm, "controllers", &controllers) < 0 ||
                        json_get_strings(slurm, "options", &options) < 0)
                return NULL;
        servers = strv_join(controllers, ",");
        more = strv_join(options, " ");
        dynamic = json_get_bool(slurm, "dynamic", false) ? dynamic_options(slurm, fabric, drained)
                                                         : strdup("");
        if (!servers || !more || !dynamic)
                return NULL;
        return strf("SLURMD_OPTIONS='--conf-server %s -N %s%s%s%s'\n", servers, node, dynamic,
                        *more ? " " : "", more);
}
