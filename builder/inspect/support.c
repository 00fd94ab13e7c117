/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is known of the support of an image's driver and container programs, as check's rule
 * support.floors has it. */

#include "common/support.h"
#include "inspect/internal.h"

static int judge(
                json_object *support, const char *product, const char *version, json_object *list) {
        _cleanup_strv_free_ char **says = NULL;
        char today[TODAY_MAX];
        int r;

        if (!version)
                return 0;
        r = support_judge(support, product, version, support_today(today), &says);
        if (r < 0)
                return r;
        STRV_FOREACH (text, says) {
                r = json_append(list, json_object_new_string(*text));
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Two kernels have mostly one driver. */
static int judge_drivers(json_object *support, json_object *kernels, json_object *list) {
        const char *before = NULL;

        for (size_t i = 0; kernels && i < json_object_array_length(kernels); i++) {
                const char *version =
                                json_get_string(json_object_array_get_idx(kernels, i), "nvidia");
                int r = streq_ptr(version, before) ? 0 : judge(support, "driver", version, list);

                if (r < 0)
                        return r;
                before = version;
        }
        return 0;
}

int inspect_support(json_object *o) {
        _cleanup_json_ json_object *support = NULL;
        json_object *software = json_get(o, "software"), *list = NULL;
        int r;

        r = support_load(&support);
        if (r == -ENOENT)
                return inspect_problem(o, "support.json", "missing: support is not judged");
        if (r < 0)
                return r == -ENOMEM ? r : inspect_problem(o, "support.json", "not readable");
        r = json_add_array(o, "support", &list);
        if (r < 0)
                return r;
        r = judge_drivers(support, json_get(o, "kernels"), list);
        if (r < 0)
                return r;
        r = judge(support, "container-toolkit",
                        json_get_string(json_get(software, "container_toolkit"), "version"), list);
        if (r < 0)
                return r;
        return judge(support, "runc", json_get_string(json_get(software, "runc"), "version"), list);
}
