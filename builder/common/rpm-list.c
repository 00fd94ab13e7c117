/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Lines of fields with tabs between them. */

#include "common/rpm-list.h"
#include "common/rpm-version.h"

#include "shared/strv.h"

/* "openssl-3.0.7-27.el9.src.rpm" as "openssl" and "3.0.7-27.el9", in place. */
static void take_source(char *file, RpmPackage *p) {
        char *end = strstr(file, ".src.rpm"), *dash;

        if (!end)
                end = strstr(file, ".nosrc.rpm");
        if (!end)
                return;
        *end = '\0';
        dash = strrchr(file, '-');
        if (dash)
                dash = memrchr(file, '-', (size_t) (dash - file));
        if (!dash || dash == file)
                return;
        *dash = '\0';
        if (streq(file, p->name) && streq(dash + 1, rpm_version_bare(p->version)))
                return;
        p->source = file;
        p->source_version = dash + 1;
}

int rpm_list_read(const char *text, int (*visit)(const RpmPackage *p, void *userdata),
                void *userdata) {
        _cleanup_free_ char *copy = strdup(text);
        char *rest = copy;

        if (!copy)
                return -ENOMEM;
        for (char *line; (line = strsep(&rest, "\n"));) {
                RpmPackage p = { .name = strsep(&line, "\t") };
                char *file;
                int r;

                if (!line || isempty(p.name) || streq(p.name, "gpg-pubkey"))
                        continue;
                p.version = strsep(&line, "\t");
                p.arch = strsep(&line, "\t");
                file = strsep(&line, "\t");
                p.module = strsep(&line, "\t");
                if (file)
                        take_source(file, &p);
                r = visit(&p, userdata);
                if (r < 0)
                        return r;
        }
        return 0;
}
