/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A child reads the file into memory that it shares with us. */

#include "steps/common/secret-file.h"
#include "shared/file-util.h"
#include "shared/spawn.h"

#include <sys/mman.h>

#define READ_USEC (20 * USEC_PER_SEC)

typedef struct SecretFile {
        const char *path;
        size_t max;
        int fd;
} SecretFile;

static int copy(void *userdata) {
        SecretFile *f = userdata;
        _cleanup_free_ char *text = NULL;
        size_t size;
        int r;

        r = read_file(f->path, f->max, &text, &size);
        return r < 0 ? r : write_all(f->fd, text, size);
}

int secret_file_read(const char *path, size_t max, char **ret, size_t *ret_size) {
        _cleanup_close_ int fd = memfd_create("secret", MFD_CLOEXEC);
        SecretFile f = { path, max, fd };
        const SpawnOptions o = { .prepare = copy, .prepare_data = &f, .timeout_usec = READ_USEC };
        char *text;
        int r, status;

        if (fd < 0)
                return -errno;
        r = spawn_run(&o, NULL, &status);
        if (r < 0 || status != 0)
                return r < 0 ? r : -EIO;
        text = malloc(max + 2);
        ssize_t n = text ? pread(fd, text, max + 1, 0) : -1;
        if (n < 0) {
                free(text);
                return -ENOMEM;
        }
        text[n] = '\0';
        *ret = text;
        *ret_size = (size_t) n;
        return 0;
}
