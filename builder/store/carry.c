/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The archive is read as strictly as it is written: plain files with names of digests. A blob
 * appears in the store once it is whole and has its digest. */

#include "store/carry.h"
#include "store/verify.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define PREFIX "blobs/sha256/"
#define PIECE (1024 * 1024)

static struct archive *archive_done(struct archive *a) {
        archive_free(a);
        return NULL;
}
DEFINE_CLEANUP(struct archive *, archive_done);
#define _cleanup_archive_ _cleanup_(archive_donep)

static struct archive_entry *entry_done(struct archive_entry *e) {
        archive_entry_free(e);
        return NULL;
}
DEFINE_CLEANUP(struct archive_entry *, entry_done);
#define _cleanup_entry_ _cleanup_(entry_donep)

static int archive_error(struct archive *a) {
        int e = archive_errno(a);

        return e > 0 ? -e : -EBADMSG;
}

/* --- out -------------------------------------------------------------------------------------- */

static int begin_member(struct archive *a, const char *digest, int64_t size) {
        _cleanup_free_ char *name = strf(PREFIX "%.2s/%s", digest, digest);
        _cleanup_entry_ struct archive_entry *e = archive_entry_new();

        if (!name || !e)
                return -ENOMEM;
        archive_entry_set_pathname(e, name);
        archive_entry_set_size(e, size);
        archive_entry_set_filetype(e, AE_IFREG);
        archive_entry_set_perm(e, 0644);
        archive_entry_set_mtime(e, 0, 0); /* of equal blobs equal archives */
        return archive_write_header(a, e) == ARCHIVE_OK ? 0 : archive_error(a);
}

static int copy_out(struct archive *a, int fd, int64_t size) {
        _cleanup_free_ char *buffer = malloc(PIECE);

        while (buffer && size > 0) {
                ssize_t n = read(fd, buffer, (size_t) MIN(size, (int64_t) PIECE));

                if (interrupt_signal())
                        return -ECANCELED;
                if (n <= 0)
                        return n < 0 ? -errno : -EIO;
                if (archive_write_data(a, buffer, (size_t) n) != n)
                        return archive_error(a);
                size -= n;
        }
        return buffer ? 0 : -ENOMEM;
}

static int export_blob(Store *s, struct archive *a, const char *digest, Carried *c) {
        _cleanup_free_ char *path = store_blob_path(s, digest);
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        int r;

        r = store_check_blob(s, digest);
        if (r == 0 || r == -ENOENT)
                return log_error_return(-ENOENT,
                                "The store %s has no download %.12s any more: 'imgbuild lock RECIPE --fetch' brings it",
                                store_path(s), digest);
        fd = r < 0 || !path ? -EBADF : open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0)
                return log_error_errno(
                                r < 0 ? r : -errno, "Download %.12s: cannot read it", digest);
        r = begin_member(a, digest, st.st_size);
        if (r < 0)
                return log_error_errno(
                                r, "The archive cannot be written; is there space where it goes?");
        r = copy_out(a, fd, st.st_size);
        if (r < 0)
                return r == -ECANCELED ? r
                                       : log_error_errno(r,
                                                         "The archive cannot be written; is there space where it goes?");
        c->blobs++;
        c->bytes += (uint64_t) st.st_size;
        return 0;
}

int store_export_blobs(Store *s, const char *const *digests, int fd, Carried *ret) {
        _cleanup_archive_ struct archive *a = archive_write_new();
        Carried c = {};

        if (!a)
                return log_oom();
        if (archive_write_set_format_gnutar(a) != ARCHIVE_OK ||
                        archive_write_open_fd(a, fd) != ARCHIVE_OK)
                return log_error_errno(archive_error(a),
                                "The archive cannot be written; is there space where it goes?");
        for (size_t i = 0; digests[i]; i++) {
                int r = export_blob(s, a, digests[i], &c);

                if (r < 0)
                        return r;
        }
        if (archive_write_close(a) != ARCHIVE_OK)
                return log_error_errno(archive_error(a),
                                "The archive cannot be written; is there space where it goes?");
        *ret = c;
        return 0;
}

/* --- in --------------------------------------------------------------------------------------- */

/* The digest that the member is named by; NULL for anything that export does not write. */
static const char *member_digest(struct archive_entry *e) {
        const char *name = archive_entry_pathname(e),
                   *digest = name ? startswith(name, PREFIX) : NULL;

        if (!digest || strlen(digest) != 3 + DIGEST_HEX || digest[2] != '/' ||
                        !digest_valid(digest + 3) || strncmp(digest, digest + 3, 2) != 0)
                return NULL;
        if (archive_entry_filetype(e) != AE_IFREG || archive_entry_hardlink(e) ||
                        archive_entry_sparse_count(e) > 0 || !archive_entry_size_is_set(e))
                return NULL;
        return digest + 3;
}

/* A size is the archive's word, and nothing is written that does not fit. */
static int check_room(const char *folder, int64_t size) {
        struct statvfs st;

        if (statvfs(folder, &st) < 0)
                return -errno;
        return (uint64_t) size / st.f_frsize >= st.f_bavail ? -ENOSPC : 0;
}

static int copy_in(struct archive *a, int fd, int64_t size) {
        _cleanup_free_ char *buffer = malloc(PIECE);

        if (!buffer)
                return -ENOMEM;
        for (;;) {
                la_ssize_t n = archive_read_data(a, buffer, PIECE);
                int r;

                if (interrupt_signal())
                        return -ECANCELED;
                if (n < 0)
                        return -EBADMSG;
                if (n == 0)
                        return size == 0 ? 0 : -EBADMSG;
                size -= n;
                r = size < 0 ? -EBADMSG : write_all(fd, buffer, (size_t) n);
                if (r < 0)
                        return r;
        }
}

static int import_blob(Store *s, struct archive *a, const char *digest, int64_t size,
                const char *folder, Carried *c) {
        _cleanup_free_ char *path = path_join(folder, digest);
        _cleanup_close_ int fd = -EBADF;
        Digest found;
        int r;

        if (store_has_blob(s, digest)) {
                c->known++;
                return 0;
        }
        r = path ? check_room(folder, size) : -ENOMEM;
        if (r < 0)
                return r;
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return -errno;
        r = copy_in(a, fd, size);
        if (r < 0) {
                (void) unlink(path);
                return r;
        }
        r = store_add_blob(s, path, digest, found);
        if (r < 0)
                return r;
        c->blobs++;
        c->bytes += (uint64_t) size;
        return 0;
}

static int refuse_archive(void) {
        return log_error_return(-EBADMSG,
                        "That is no archive of 'imgbuild cache export', or not all of it: copy it once more");
}

static int import_members(Store *s, struct archive *a, const char *folder, Carried *c) {
        for (;;) {
                struct archive_entry *e = NULL;
                const char *digest;
                int r = archive_read_next_header(a, &e);

                if (r == ARCHIVE_EOF && c->blobs + c->known > 0)
                        return 0;
                if (r != ARCHIVE_OK)
                        return refuse_archive();
                digest = member_digest(e);
                if (!digest)
                        return log_error_return(-EBADMSG,
                                        "%.200s is in the archive, which no 'imgbuild cache export' puts there",
                                        strempty(archive_entry_pathname(e)));
                r = import_blob(s, a, digest, archive_entry_size(e), folder, c);
                if (r == -EBADMSG)
                        return log_error_return(r,
                                        "Download %.12s of the archive is not what its name says: it was changed, or cut off; copy it once more",
                                        digest);
                if (r < 0)
                        return r == -ECANCELED ? r
                                               : log_error_errno(r, "%s: cannot take a download",
                                                                 store_path(s));
        }
}

int store_import_blobs(Store *s, int fd, Carried *ret) {
        _cleanup_archive_ struct archive *a = archive_read_new();
        _cleanup_free_ char *folder = NULL;
        Carried c = {};
        int r;

        if (!a)
                return log_oom();
        r = store_scratch(s, "import", &folder);
        if (r < 0)
                return log_error_errno(r, "%s: cannot write there", store_path(s));
        if (archive_read_support_format_tar(a) != ARCHIVE_OK)
                return log_oom();
        if (archive_read_open_fd(a, fd, PIECE) != ARCHIVE_OK)
                return refuse_archive();
        r = import_members(s, a, folder, &c);
        if (r < 0)
                return r;
        *ret = c;
        return 0;
}
