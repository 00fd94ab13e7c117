/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Enabled units: each is there, and systemd itself finds nothing wrong with it. */

#include "check/internal.h"
#include "shared/file-util.h"

static bool is_enablement_folder(const char *name) {
        return endswith(name, ".wants") || endswith(name, ".requires") ||
               endswith(name, ".upholds");
}

typedef int (*enabled_t)(const Tree *t, const char *folder, const char *unit, void *userdata);

static int each_unit(const Tree *t, const char *folder, enabled_t fn, void *userdata) {
        _cleanup_strv_free_ char **units = NULL;
        int r;

        r = tree_list(t, folder, &units);
        if (r < 0)
                return r;
        STRV_FOREACH (unit, units) {
                r = fn(t, folder, *unit, userdata);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int each_enabled(const Tree *t, enabled_t fn, void *userdata) {
        static const char root[] = "etc/systemd/system";
        _cleanup_strv_free_ char **folders = NULL;
        int r = tree_list(t, root, &folders);

        if (r < 0)
                return r;
        STRV_FOREACH (name, folders) {
                _cleanup_free_ char *folder = NULL;

                if (!is_enablement_folder(*name))
                        continue;
                folder = path_join(root, *name);
                if (!folder)
                        return -ENOMEM;
                r = each_unit(t, folder, fn, userdata);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_unit(const Tree *t, const char *folder, const char *unit, void *userdata) {
        char ***l = userdata;
        _cleanup_free_ char *path = path_join(folder, unit);

        if (!path)
                return -ENOMEM;
        /* A dangling link is check_services_enabled()'s finding; systemd-analyze would look
         * at nothing after it. */
        if (!tree_has(t, path) || strv_contains(*l, unit))
                return 0;
        return strv_extend(l, unit);
}

int enabled_units(const Tree *t, char ***ret) {
        _cleanup_strv_free_ char **l = NULL;
        int r = each_enabled(t, add_unit, &l);

        if (r < 0)
                return r;
        strv_sort(l);
        *ret = TAKE_PTR(l);
        return 0;
}

typedef struct Dangling {
        const char *rule;
        Findings *findings;
} Dangling;

static int look_dangling(const Tree *t, const char *folder, const char *unit, void *userdata) {
        Dangling *d = userdata;
        _cleanup_free_ char *path = path_join(folder, unit);

        if (!path)
                return -ENOMEM;
        if (tree_has(t, path))
                return 0;
        return finding_add(d->findings, d->rule,
                        strf("%s is enabled (/%s), but its unit is not there", unit, path),
                        strf("install the package that has %s, or do not enable it", unit));
}

int check_services_enabled(const Tree *t, const char *rule, Findings *f) {
        Dangling d = { rule, f };
        return each_enabled(t, look_dangling, &d);
}

/* "ssh.service: Command … is not executable" or "/etc/systemd/system/x.service:3: Unknown key …":
 * the unit of a line. */
static char *unit_of_line(const char *line) {
        size_t n = strcspn(line, ":");
        _cleanup_free_ char *head = strndup(line, n);

        if (!head || line[n] == '\0' || !strchr(path_basename(head), '.') || strchr(head, ' '))
                return strdup("");
        return strdup(path_basename(head));
}

int verify_findings(const char *rule, const char *output, int status, Findings *f) {
        _cleanup_strv_free_ char **lines = NULL, **seen = NULL;
        size_t n = 0;

        if (status == 0)
                return 0;
        lines = strv_split(output, "\n");
        STRV_FOREACH (line, lines) {
                _cleanup_free_ char *unit = unit_of_line(*line);
                int r;

                if (!unit)
                        return -ENOMEM;
                if (*unit && strv_contains(seen, unit))
                        continue;
                r = finding_add(f, rule, strdup(*line),
                                *unit ? strf("correct %s (\"systemd-analyze verify %s\" in imgbuild shell), or do not enable it",
                                                        unit, unit)
                                      : strdup("look at it with \"systemd-analyze verify\" in imgbuild shell"));
                if (r < 0)
                        return r;
                r = strv_extend(&seen, unit);
                if (r < 0)
                        return r;
                n++;
        }
        if (n > 0)
                return 0;

        return finding_add(f, rule,
                        strf("systemd-analyze verify ended with exit code %d and said nothing",
                                        status),
                        strdup("run it in imgbuild shell; the rule cannot pass unseen"));
}
