/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "repository-key.h"
#include "fetch.h"
#include "file-util.h"
#include "spawn.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>

#define KEY_SIZE_MAX (4 * 1024 * 1024)

static int gpg(const char *home, const char *output_path, char **ret_output, ...) _sentinel_;

/* gpg on a keyring of its own: nothing of the user's, no agent, no network. */
static int gpg(const char *home, const char *output_path, char **ret_output, ...) {
        _cleanup_close_ int fd =
                        output_path ? open(output_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                                                      0644)
                                    : -EBADF;
        _cleanup_strv_free_ char **argv = NULL;
        _cleanup_free_ char *output = NULL;
        SpawnOptions options = { .stdout_fd = fd, .timeout_usec = 60 * USEC_PER_SEC };
        int status, r;
        va_list ap;

        if (output_path && fd < 0)
                return -errno;
        r = strv_extend_many(&argv, "gpg", "--homedir", home, "--batch", "--no-options",
                        "--no-autostart", "--no-auto-key-retrieve", "--no-tty", "--quiet", NULL);
        va_start(ap, ret_output);
        for (const char *a; r >= 0 && (a = va_arg(ap, const char *));)
                r = strv_extend(&argv, a);
        va_end(ap);
        if (r < 0)
                return r;
        r = spawn_capture(&options, argv, &output, &status);
        if (r < 0)
                return r;
        log_debug("gpg: %s", output);
        if (ret_output)
                *ret_output = TAKE_PTR(output);
        return status;
}

/* Fingerprints of the primary keys in what --list-keys --with-colons printed. */
static int primary_fingerprints(const char *listing, char ***ret) {
        _cleanup_strv_free_ char **lines = strv_split(listing, "\n"), **found = NULL;
        bool primary = false;

        if (!lines)
                return -ENOMEM;
        STRV_FOREACH (line, lines) {
                const char *p = *line;

                if (startswith(p, "pub:"))
                        primary = true;
                else if (startswith(p, "sub:"))
                        primary = false;
                else if (primary && startswith(p, "fpr:")) {
                        for (size_t i = 0; i < 9 && p; i++) /* the tenth field */
                                if ((p = strchr(p, ':')))
                                        p++;
                        if (p && strv_push(&found, strndup(p, strcspn(p, ":"))) < 0)
                                return -ENOMEM;
                        primary = false;
                }
        }
        *ret = TAKE_PTR(found);
        return 0;
}

/* Imports `file` and writes the pinned key of it, and no other, to `path`. *ret_found: what was
 * there instead. */
static int extract(const char *home, const char *file, const char *fingerprint, const char *path,
                char **ret_found) {
        _cleanup_strv_free_ char **fingerprints = NULL;
        _cleanup_free_ char *listing = NULL;
        int r;

        r = gpg(home, NULL, NULL, "--import", file,
                        NULL); /* what it could not import is missing below */
        if (r < 0)
                return r;
        r = gpg(home, NULL, &listing, "--list-keys", "--with-colons", NULL);
        if (r != 0)
                return r < 0 ? r : -EBADMSG;
        r = primary_fingerprints(listing, &fingerprints);
        if (r < 0)
                return r;
        if (!strv_contains(fingerprints, fingerprint)) {
                *ret_found = fingerprints ? strv_join(fingerprints, ", ") : strdup("no key");
                return *ret_found ? -EBADMSG : -ENOMEM;
        }
        r = gpg(home, path, NULL, "--export", "--export-options", "export-minimal", fingerprint,
                        NULL);
        return r > 0 ? -EIO : r;
}

static int fetch_key(Context *ctx, const Repository *repository, char **ret) {
        _cleanup_free_ char *what = strf("the signing key of repository %s", repository->name);
        FetchItem item = { .url = repository->key, .what = what };
        int r;

        if (!what)
                return log_oom();
        r = fetch_all(ctx, NULL, &item, 1);
        if (r < 0)
                return r;
        *ret = store_blob_path(ctx->store, item.result);
        return *ret ? 0 : log_oom();
}

int repository_key(Context *ctx, const Overlay *overlay, const Repository *repository,
                const char *path) {
        bool is_url = strstr(repository->key, "://");
        _cleanup_free_ char *home = NULL, *file = NULL, *found = NULL, *kept = NULL,
                            *keyring = NULL;
        size_t size;
        int r;

        r = store_scratch(ctx->store, "gpg", &home);
        if (r < 0 || chmod(home, 0700) < 0)
                return log_error_errno(r < 0 ? r : -errno, "Cannot make room for a keyring");

        /* Kept under its fingerprint, which is checked again each time. */
        kept = strf("%s/keys/%s.gpg", store_path(ctx->store), repository->fingerprint);
        if (!kept)
                return log_oom();
        if (is_url && access(kept, R_OK) >= 0) {
                r = extract(home, kept, repository->fingerprint, path, &found);
                if (r >= 0 || r == -ECANCELED)
                        return r;
                free(TAKE_PTR(found));
        }
        if (is_url)
                r = fetch_key(ctx, repository, &file);
        else {
                file = repository->key[0] == '/' ? strdup(repository->key)
                                                 : path_join(overlay->path, repository->key);
                r = file ? 0 : log_oom();
        }
        if (r < 0)
                return r;
        r = extract(home, file, repository->fingerprint, path, &found);
        rm_rf(home);
        if (r == -ENOENT) {
                log_error("gpg is needed to check the key of repository %s: install the package "
                          "gpg",
                                repository->name);
                return -ENOPKG;
        }
        if (r == -EBADMSG) {
                log_error("%s: the key of repository %s is not the pinned one: %s has %s, the "
                          "overlay pins %s. If the "
                          "vendor changed keys, compare with what it publishes elsewhere before "
                          "you change the overlay",
                                overlay->path, repository->name, repository->key, strempty(found),
                                repository->fingerprint);
                return r;
        }
        if (r < 0)
                return log_error_errno(r, "The key of repository %s cannot be read: %s",
                                repository->name, repository->key);
        if (is_url && (r = mkdir_parents(kept, 0755)) >= 0 &&
                        read_file(path, KEY_SIZE_MAX, &keyring, &size) >= 0)
                r = write_file_atomic(kept, keyring, size, 0644);
        if (r < 0)
                log_debug("The key of %s could not be kept", repository->name);
        return 0;
}
