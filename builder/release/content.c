/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What lies in a build's folder, against its manifest. */

#include "release/internal.h"

#include "sandbox/open-inside.h"
#include "shared/file-util.h"
#include "shared/folder.h"
#include "shared/log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>

#define MANIFEST_MAX (64 * 1024 * 1024)
#define LINE_MAX_SHOWN 1024

void release_fault(Release *r, const char *format, ...) {
        char line[LINE_MAX_SHOWN];
        va_list ap;

        va_start(ap, format);
        vsnprintf(line, sizeof(line), format, ap);
        va_end(ap);
        log_error("%s/%s", r->folder, line);
        r->faults++;
}

void release_done(Release *r) {
        json_putp(&r->manifest);
        sums_done(&r->built);
        sums_done(&r->actual);
}

static int read_built(Release *r) {
        json_object *files = json_get(r->manifest, "files");

        if (isempty(json_get_string(r->manifest, "name")) ||
                        !json_object_is_type(files, json_type_array) ||
                        json_object_array_length(files) == 0)
                return -EBADMSG;
        for (size_t i = 0; i < json_object_array_length(files); i++) {
                json_object *f = json_object_array_get_idx(files, i);
                const char *name = json_get_string(f, "name"),
                           *digest = json_get_string(f, "sha256");
                int64_t size = json_get_int(f, "size", -1);
                int k;

                if (!sums_name_valid(name) || !digest_valid(digest) || size < 0 ||
                                sums_find(&r->built, name))
                        return -EBADMSG;
                k = sums_add(&r->built, name, digest, (uint64_t) size);
                if (k < 0)
                        return k;
        }
        return 0;
}

int release_open(Release *r) {
        _cleanup_free_ char *text = NULL;
        JsonError error = {};
        size_t size;
        int k;

        k = inside_read_output(r->folder, MANIFEST, MANIFEST_MAX, &text, &size);
        if (k == -ENOENT || k == -ENOTDIR)
                return log_error_return(-EINVAL,
                                "%s has no manifest.json: name the folder of a build, out/NAME",
                                r->folder);
        if (k < 0)
                return log_error_errno(k, "%s/" MANIFEST ": cannot read it", r->folder);
        k = json_parse(text, size, &error, &r->manifest);
        if (k == -ENOMEM)
                return log_oom();
        if (k < 0) {
                release_fault(r, MANIFEST ":%u: %s", error.line, error.message);
                return 1;
        }
        k = read_built(r);
        if (k == -EBADMSG) {
                release_fault(r, MANIFEST
                                " is not as imgbuild writes it: no name, or no files with sums");
                return 1;
        }
        return k < 0 ? log_oom() : 0;
}

const char *release_why(int error) {
        switch (error) {
        case -ENOENT:
                return "is missing";
        case -ELOOP:
                return "is a link, not a file";
        case -EINVAL:
                return "is no regular file";
        default:
                return strerror(-error);
        }
}

int release_hash(Release *r, const char *name, const Sum **ret) {
        _cleanup_close_ int fd = -EBADF;
        uint64_t size;
        Digest digest;
        int k;

        *ret = NULL;
        if (r->image && !streq(r->image, name) && sums_find(&r->built, name))
                return 0;
        *ret = sums_find(&r->actual, name);
        if (*ret)
                return 0;
        fd = inside_open_output(r->folder, name, SIZE_MAX);
        k = fd < 0 ? fd : digest_fd(fd, digest, &size);
        if (k < 0) {
                release_fault(r, "%s: %s", name, release_why(k));
                return 0;
        }
        k = sums_add(&r->actual, name, digest, size);
        if (k < 0)
                return k;
        *ret = sums_find(&r->actual, name);
        return 0;
}

static bool is_signature(const char *name) {
        STRV_FOREACH (own, ARGV(RELEASE_SUMS, RELEASE_MINISIG, RELEASE_ASC))
                if (streq(*own, name))
                        return true;
        return false;
}

int release_find_foreign(const Release *r, const Sums *list, char ***ret, char ***ret_folders) {
        _cleanup_strv_free_ char **files = NULL, **folders = NULL;
        _cleanup_closedir_ DIR *d = NULL;
        int k;

        k = folder_open(r->folder, &d);
        if (k < 0)
                return k;
        FOLDER_FOREACH (name, d) {
                struct stat st;

                if (sums_find(list, name) || is_signature(name))
                        continue;
                if (fstatat(dirfd(d), name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                        return -errno;
                k = strv_extend(S_ISDIR(st.st_mode) ? &folders : &files, name);
                if (k < 0)
                        return k;
        }
        strv_sort(files);
        strv_sort(folders);
        *ret = TAKE_PTR(files);
        *ret_folders = TAKE_PTR(folders);
        return 0;
}

bool release_has(const Release *r, const char *name) {
        _cleanup_free_ char *path = path_join(r->folder, name);
        struct stat st;

        return path && lstat(path, &st) >= 0;
}

static int check_image(Release *r, const Sum *built) {
        const Sum *actual;
        int k;

        k = release_hash(r, built->name, &actual);
        if (k < 0 || !actual)
                return k;
        if (actual->size != built->size)
                release_fault(r, "%s has %llu bytes, and the build wrote %llu", built->name,
                                (unsigned long long) actual->size,
                                (unsigned long long) built->size);
        else if (!streq(actual->digest, built->digest))
                release_fault(r, "%s is not what the build wrote: other bytes", built->name);
        return 0;
}

int release_check_images(Release *r) {
        _cleanup_free_ char *wanted = sums_format(&r->built), *text = NULL;
        int k;

        if (!wanted)
                return -ENOMEM;
        for (size_t i = 0; i < r->built.n; i++) {
                k = check_image(r, r->built.sums + i);
                if (k < 0)
                        return k;
        }
        k = inside_read_output(r->folder, SUMS, MANIFEST_MAX, &text, NULL);
        if (k == -ENOMEM)
                return k;
        if (k < 0)
                release_fault(r, SUMS ": %s", strerror(-k));
        else if (!streq(text, wanted))
                release_fault(r, SUMS " and " MANIFEST " name different sums");
        return 0;
}
