/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Detached signatures by GPG: gpg with the user's own keys and agent, gpgv with a keyring that was named. */

#include "release/internal.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/spawn.h"

#define DRAFT "." RELEASE_ASC ".new"

static int run(char *const argv[], char **ret_output) {
        int r, status;

        r = spawn_capture(NULL, argv, ret_output, &status);
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
        r = run(ARGV("gpg", "--batch", "--yes", "--armor", "--local-user", key, "--output", draft,
                                "--detach-sign", file),
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

int gpg_verify(const char *folder, const char *keyring) {
        _cleanup_free_ char *file = path_join(folder, RELEASE_SUMS),
                            *signature = path_join(folder, RELEASE_ASC), *output = NULL,
                            *keys = realpath(keyring, NULL);
        int r;

        if (!keys)
                return log_error_errno(errno, "%s: cannot read the keyring", keyring), -EINVAL;
        if (!file || !signature)
                return log_oom();
        r = run(ARGV("gpgv", "--keyring", keys, signature, file), &output);
        if (r <= 0)
                return r;
        log_error("%s: %s", signature, last_line(output));
        return -EKEYREJECTED;
}
