/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as somebody's /etc/nccl.conf: what we merge into it is there, what was theirs still
 * is, and merging again changes nothing. */

#include "steps/nccl/conf.h"
#include "shared/strv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds, const char *what) {
        if (holds)
                return;
        fprintf(stderr, "fuzz-nccl-conf: %s\n", what);
        abort();
}

/* Lines that are neither comments nor set a key of ours, as NCCL sees them. */
static char *others(const char *text, const NcclSetting *settings, size_t n) {
        _cleanup_strv_free_ char **lines = strv_split(text, "\n");
        char *result = strdup("");

        STRV_FOREACH (l, lines) {
                bool ours = (*l)[0] == '#';

                for (size_t i = 0; i < n; i++) {
                        const char *rest = startswith(*l, settings[i].key);
                        ours = ours || (rest && *rest == '=');
                }
                if (ours)
                        continue;
                char *more = strf("%s%s\n", result, *l);
                free(result);
                result = more;
        }
        return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static const NcclSetting settings[] = {
                { "NCCL_IB_HCA", "=mlx5_0", true },
                { "NCCL_IB_GID_INDEX", NULL, true },
                { "NCCL_IB_TC", "41", false },
        };
        _cleanup_free_ char *text = strndup((const char *) data, size), *once = NULL, *twice = NULL,
                            *hca = NULL, *gid = NULL, *tc = NULL, *theirs = NULL, *before = NULL,
                            *after = NULL;

        once = nccl_conf_merge(text, settings, ELEMENTSOF(settings));
        twice = nccl_conf_merge(once, settings, ELEMENTSOF(settings));
        expect(once && twice && strcmp(once, twice) == 0, "merging again changes the text");
        hca = nccl_conf_get(once, "NCCL_IB_HCA");
        expect(hca && strcmp(hca, "=mlx5_0") == 0, "an owned key has not our value");
        gid = nccl_conf_get(once, "NCCL_IB_GID_INDEX");
        expect(!gid, "a key that is not to be there is");
        tc = nccl_conf_get(once, "NCCL_IB_TC");
        expect(tc, "a default is missing");
        before = others(text, settings, ELEMENTSOF(settings));
        after = others(once, settings, ELEMENTSOF(settings));
        expect(before && after &&
                                        (strcmp(before, after) == 0 ||
                                                        strstr(text, "# Written by firstboot")),
                        "somebody's line is lost or moved");
        theirs = nccl_conf_get(text, "NCCL_IB_TC");
        expect(!theirs || strstr(text, "# Written by firstboot") || strcmp(tc, theirs) == 0,
                        "a default counts before somebody's line");
        return 0;
}
