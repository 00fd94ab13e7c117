/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* pip's report ("pip install --report") read: which wheels, where they lie, what their licence is.
 * A stranger's words, so every one of them is looked at. */

#include "lock/python.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "store/digest.h"

#include <ctype.h>

#define LICENCE_MAX 100 /* bytes; many projects put the whole text there */

char *pip_name(const char *requirement) {
        size_t n = strspn(requirement,
                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
        char *s = strndup(requirement, n), *w = s;

        for (const char *c = s; c && *c; c++) {
                bool joint = strchr("-_.", *c);

                if (joint && w > s && w[-1] == '-')
                        continue;
                *w++ = joint ? '-' : (char) tolower((unsigned char) *c);
        }
        if (s)
                *w = '\0';
        return s;
}

/* The file's name, with %2B and the like resolved. */
static char *file_of(const char *url) {
        _cleanup_free_ char *path = strndup(url, strcspn(url, "?#"));
        char *file = path ? strdup(path_basename(path)) : NULL, *w = file;

        for (const char *c = file; c && *c; w++) {
                unsigned byte;

                if (*c == '%' && sscanf(c, "%%%2x", &byte) == 1 && c[1] && c[2]) {
                        *w = (char) byte;
                        c += 3;
                } else
                        *w = *c++;
        }
        if (file)
                *w = '\0';
        return file;
}

bool wheel_is_of(const char *file, const char *name) {
        _cleanup_free_ char *project = strndup(file, strcspn(file, "-")),
                            *plain = project ? pip_name(project) : NULL;

        return streq_ptr(plain, name);
}

/* "OSI Approved :: MIT License" → "MIT License". */
static const char *classified(json_object *metadata) {
        json_object *list = json_get(metadata, "classifier");
        size_t n = json_array_length(list);

        for (size_t i = 0; i < n; i++) {
                const char *text = json_object_get_string(json_object_array_get_idx(list, i));
                const char *last =
                                text && startswith(text, "License ::") ? strrchr(text, ':') : NULL;

                if (last && last[1] == ' ' && last[2])
                        return last + 2;
        }
        return NULL;
}

static const char *licence_of(json_object *metadata) {
        const char *const said[] = { json_get_string(metadata, "license_expression"),
                json_get_string(metadata, "license"), classified(metadata) };

        for (size_t i = 0; i < ELEMENTSOF(said); i++)
                if (said[i] && lock_line_valid(said[i]) && strlen(said[i]) <= LICENCE_MAX)
                        return said[i];
        return NULL;
}

static const char *digest_of(json_object *archive) {
        const char *sha256 = json_get_string(json_get(archive, "hashes"), "sha256");
        const char *old = json_get_string(archive, "hash");

        if (!sha256 && old)
                sha256 = startswith(old, "sha256=");
        return sha256 && digest_valid(sha256) ? sha256 : NULL;
}

static int copy(const char *from, char **to) {
        *to = from ? strdup(from) : NULL;
        return from && !*to ? -ENOMEM : 0;
}

static int read_wheel(json_object *item, PipWheel *to) {
        json_object *info = json_get(item, "download_info"), *metadata = json_get(item, "metadata");
        const char *url = json_get_string(info, "url"), *name = json_get_string(metadata, "name"),
                   *version = json_get_string(metadata, "version");
        LockedWheel *w = &to->wheel;

        if (!url || !name || !version || !json_get(info, "archive_info"))
                return -EBADMSG;
        w->name = pip_name(name);
        w->file = file_of(url);
        if (!w->name || !w->file || copy(url, &to->url) < 0 || copy(version, &w->version) < 0 ||
                        copy(licence_of(metadata), &w->licence) < 0 ||
                        copy(digest_of(json_get(info, "archive_info")), &w->sha256) < 0)
                return -ENOMEM;
        if (!lock_name_valid(w->name) || !lock_pep440_valid(version) ||
                        !lock_wheel_valid(w->file) || !lock_url_valid(url))
                return -EBADMSG;
        if (wheel_is_of(w->file, w->name))
                return 0;
        return log_error_return(-EREMOTEIO,
                        "The index has %s, which calls itself %s: a wheel's file is named as what is in it, so take it from somewhere else",
                        w->file, w->name);
}

int pip_read_report(json_object *report, PipWheels *ret) {
        json_object *list = json_get(report, "install");
        _cleanup_pip_wheels_ PipWheels w = {};
        size_t n;

        if (!json_object_is_type(list, json_type_array))
                return -EBADMSG;
        n = json_object_array_length(list);
        w.list = calloc(n + 1, sizeof(*w.list));
        if (!w.list)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                int r = read_wheel(json_object_array_get_idx(list, i), w.list + w.n++);

                if (r < 0)
                        return r;
        }
        *ret = w;
        w = (PipWheels) {};
        return 0;
}

void pip_wheels_done(PipWheels *w) {
        for (size_t i = 0; i < w->n; i++) {
                PipWheel *p = w->list + i;

                free(p->wheel.name);
                free(p->wheel.version);
                free(p->wheel.file);
                free(p->wheel.licence);
                free(p->wheel.role);
                free(p->wheel.sha256);
                free(p->url);
        }
        free(w->list);
        *w = (PipWheels) {};
}
