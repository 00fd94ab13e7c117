/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whether what the image brings is still supported, and without flaws that its vendor has fixed:
 * the versions that other rules met, held against support.json. A warning, unless the recipe wants
 * it otherwise. */

#include "check/internal.h"
#include "common/support.h"

#define RULE "support.floors"

/* Facts (facts.c) that are products of support.json, by the same names. */
static const char *const judged[] = { "driver", "container-toolkit", "runc" };

static int add(const Recipe *recipe, Findings *f, char *found, const char *remedy) {
        return (recipe->support_fail ? finding_add : finding_add_warning)(
                        f, RULE, found, strdup(remedy));
}

static int judge(const Recipe *recipe, json_object *support, const char *product, Findings *f) {
        const char *version = json_get_string(f->versions, product);
        _cleanup_strv_free_ char **says = NULL;
        char today[TODAY_MAX];
        int r;

        if (!version)
                return 0;
        r = support_judge(support, product, version, support_today(today), &says);
        if (r < 0)
                return r;
        STRV_FOREACH (text, says) {
                r = add(recipe, f, strdup(*text),
                                "move to a version with the fixes (imgbuild lock --update, another overlay or repository), or accept it knowingly; docs/checks.md says where the data is from");
                if (r < 0)
                        return r;
        }
        return 0;
}

int check_support(const Recipe *recipe, Findings *f) {
        _cleanup_json_ json_object *support = NULL;
        bool wanted = false;
        int r;

        for (size_t i = 0; i < ELEMENTSOF(judged); i++)
                wanted = wanted || json_get_string(f->versions, judged[i]);
        if (!wanted)
                return 0;
        r = support_load(&support);
        if (r == -ENOENT)
                return add(recipe, f,
                                strdup("support.json is missing, so nothing is known of the driver's support"),
                                "'make install' puts it where imgbuild looks; IMGBUILD_SUPPORT names another");
        if (r < 0)
                return r;

        for (size_t i = 0; i < ELEMENTSOF(judged); i++) {
                r = judge(recipe, support, judged[i], f);
                if (r < 0)
                        return r;
        }
        return 0;
}
