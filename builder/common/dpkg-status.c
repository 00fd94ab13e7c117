/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* deb-control(5): "Name: value" lines, an empty line ends a stanza. Lines that continue a value
 * begin with white space and are none of ours. */

#include "common/dpkg-status.h"

#define LINE_MAX_BYTES (1 << 20)

typedef struct Stanza {
        char *name, *version, *arch, *source;
        int64_t size;
        bool installed, held;
} Stanza;

static void stanza_done(Stanza *s) {
        free(s->name);
        free(s->version);
        free(s->arch);
        free(s->source);
        *s = (Stanza) { .size = -1 };
}

static int keep(char **field, const char *value) {
        free(*field);
        *field = strdup(value);
        return *field ? 0 : -ENOMEM;
}

static int take_line(Stanza *s, const char *line) {
        const char *v;

        if ((v = startswith(line, "Package: ")))
                return keep(&s->name, v);
        if ((v = startswith(line, "Version: ")))
                return keep(&s->version, v);
        if ((v = startswith(line, "Architecture: ")))
                return keep(&s->arch, v);
        if ((v = startswith(line, "Source: ")))
                return keep(&s->source, v);
        if ((v = startswith(line, "Installed-Size: "))) {
                long long kibibytes = strtoll(v, NULL, 10);

                s->size = kibibytes >= 0 && kibibytes <= INT64_MAX / 1024 ? kibibytes * 1024 : -1;
        }
        if ((v = startswith(line, "Status: "))) {
                s->installed = endswith(v, " installed");
                s->held = startswith(v, "hold ") != NULL;
        }
        return 0;
}

static int end_stanza(Stanza *s, int (*visit)(const DpkgPackage *, void *), void *userdata) {
        const DpkgPackage p = { s->name, s->version, s->arch, s->source, s->size, s->installed,
                s->held };
        int r = s->name && s->version ? visit(&p, userdata) : 0;

        stanza_done(s);
        return r;
}

int dpkg_status_read(FILE *f, int (*visit)(const DpkgPackage *, void *), void *userdata) {
        _cleanup_(stanza_done) Stanza s = { .size = -1 };
        _cleanup_free_ char *line = NULL;
        size_t allocated = 0;
        ssize_t n;

        while ((n = getline(&line, &allocated, f)) >= 0) {
                int r;

                if (n > LINE_MAX_BYTES)
                        return -EFBIG;
                while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
                        line[--n] = '\0';
                r = n > 0 ? take_line(&s, line) : end_stanza(&s, visit, userdata);
                if (r < 0)
                        return r;
        }
        return ferror(f) ? -EIO : end_stanza(&s, visit, userdata);
}

int dpkg_source_split(const char *source, char **ret_name, char **ret_version) {
        const char *version = strchr(source, '(');
        _cleanup_free_ char *name = strndup(source, strcspn(source, " ")),
                            *bare = version ? strndup(version + 1, strcspn(version + 1, ")"))
                                            : NULL;

        if (!name || (version && !bare))
                return -ENOMEM;
        *ret_name = TAKE_PTR(name);
        *ret_version = TAKE_PTR(bare);
        return 0;
}
