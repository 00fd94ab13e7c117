/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Detached signatures by GPG: gpg with the user's own keys and agent, gpgv with a keyring that was
 * named. */

#include "release/internal.h"

#include "sandbox/open-inside.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/spawn.h"

#include <fcntl.h>
#include <sys/mman.h>

#define DRAFT "." RELEASE_ASC ".new"

static int run(const SpawnOptions *options, char *const argv[], char **ret_output) {
        int r, status;

        r = spawn_capture(options, argv, ret_output, &status);
        if (r == -ENOENT)
                return log_error_return(-ENOPKG, "%s is needed for this: install the package %s",
                                argv[0], argv[0]);
        if (r < 0)
                return log_error_errno(r, "Cannot run %s", argv[0]);
        return status;
}

/* gpg says much, its last line what was wrong. */
static const char *last_line(char *output) {
        size_t n = strlen(output);
        char *line;

        while (n > 0 && output[n - 1] == '\n')
                output[--n] = '\0';
        line = strrchr(output, '\n');
        return line ? line + 1 : output;
}

int gpg_sign(const char *folder, const char *key) {
        _cleanup_free_ char *file = path_join(folder, RELEASE_SUMS),
                            *draft = path_join(folder, DRAFT), *to = path_join(folder, RELEASE_ASC),
                            *output = NULL;
        int r;

        if (!file || !draft || !to)
                return log_oom();
        r = run(NULL,
                        ARGV("gpg", "--batch", "--yes", "--armor", "--local-user", key, "--output",
                                        draft, "--detach-sign", file),
                        &output);
        if (r < 0)
                return r;
        if (r > 0) {
                (void) unlink(draft);
                log_error("gpg does not sign with the key %s: %s", key, last_line(output));
                return -EINVAL;
        }
        return rename(draft, to) < 0 ? log_error_errno(errno, "%s: cannot put it in place", to) : 0;
}

/* A file without a name that holds what was read: what gpgv judges is what was read, whatever
 * happens to the folder meanwhile, and no link or pipe of the folder's is opened by it. */
static int hold(const char *data, size_t size, int *ret) {
        _cleanup_close_ int fd = memfd_create("release", MFD_CLOEXEC);

        if (fd < 0)
                return -errno;
        if (write_all(fd, data, size) < 0 || lseek(fd, 0, SEEK_SET) < 0)
                return -errno;
        *ret = TAKE_FD(fd);
        return 0;
}

static int inherit(void *userdata) {
        const int *fds = userdata;

        for (size_t i = 0; i < 2; i++)
                if (fcntl(fds[i], F_SETFD, 0) < 0)
                        return -errno;
        return 0;
}

/* Whether `signature` is one over `text`: -EKEYREJECTED where it is not. */
static int judge(const char *keys, const char *text, size_t text_size, const char *signature,
                size_t signature_size, char **ret_output) {
        _cleanup_(close_pairp) int fds[2] = { -EBADF, -EBADF };
        const SpawnOptions options = { .prepare = inherit, .prepare_data = fds };
        _cleanup_free_ char *of_signature = NULL, *of_text = NULL;
        int r;

        r = hold(signature, signature_size, &fds[0]);
        if (r < 0)
                return log_error_errno(r, "Cannot hand a signature to gpgv");
        r = hold(text, text_size, &fds[1]);
        if (r < 0)
                return log_error_errno(r, "Cannot hand a list of sums to gpgv");
        of_signature = strf("/dev/fd/%d", fds[0]);
        of_text = strf("/dev/fd/%d", fds[1]);
        if (!of_signature || !of_text)
                return log_oom();
        r = run(&options, ARGV("gpgv", "--keyring", keys, of_signature, of_text), ret_output);
        return r > 0 ? -EKEYREJECTED : r;
}

int gpg_verify(Release *r, const char *keyring, const char *text, size_t size) {
        _cleanup_free_ char *signature = NULL, *output = NULL, *keys = realpath(keyring, NULL);
        size_t signature_size;
        int k;

        if (!keys)
                return log_error_errno(errno, "%s: cannot read the keyring", keyring), -EINVAL;
        k = inside_read_output(r->folder, RELEASE_ASC, SIGNATURE_MAX, &signature, &signature_size);
        if (k < 0) {
                release_fault(r, RELEASE_ASC ": %s",
                                k == -ENOENT ? "is missing: nobody signed this by GPG"
                                             : release_why(k));
                return k == -ENOMEM ? k : 0;
        }
        k = judge(keys, text, size, signature, signature_size, &output);
        if (k == -EKEYREJECTED)
                release_fault(r, RELEASE_ASC ": %s", last_line(output));
        return k == -EKEYREJECTED ? 0 : k;
}
