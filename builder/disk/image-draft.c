/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The one way in which images get their names: written whole, synced, renamed. */

#include "disk/image-draft.h"
#include "sandbox/open-inside.h"
#include "shared/draft.h"
#include "shared/file-util.h"
#include "shared/log.h"

#include <sys/stat.h>

void image_draft_done(ImageDraft *d) {
        if (d->path)
                (void) unlink(d->path);
        free(d->path);
        safe_close(d->fd);
}

int image_draft_open(const char *folder, const char *like, ImageDraft *ret) {
        struct stat st;
        int fd;

        if (stat(like, &st) < 0)
                return log_error_errno(errno, "%s: cannot read it", like);
        fd = draft_begin(folder, &ret->path);
        if (fd < 0)
                return log_error_errno(fd, "%s: cannot write there", folder);
        ret->fd = fd;
        if (fchmod(fd, (st.st_mode & 0666) | 0600) < 0)
                return log_error_errno(errno, "%s: cannot write there", folder);
        return 0;
}

int image_draft_reopen(const ImageDraft *d, const char *folder) {
        return inside_open_output(folder, path_basename(d->path), SIZE_MAX);
}

int image_draft_put(ImageDraft *d, const char *folder, const char *target, const char *sha256) {
        _cleanup_close_ int fd = image_draft_reopen(d, folder);
        Digest digest;
        int r;

        if (fd < 0)
                return log_error_errno(fd, "%s: cannot put it in place", target);
        if (sha256) {
                r = digest_fd(fd, digest, NULL);
                if (r < 0)
                        return log_error_errno(r, "%s: cannot read it again", target);
                if (!streq(digest, sha256))
                        return -EBADMSG;
        }
        if (fsync(fd) < 0 || rename(d->path, target) < 0)
                return log_error_errno(errno, "%s: cannot put it in place", target);
        free(TAKE_PTR(d->path));
        return 0;
}
