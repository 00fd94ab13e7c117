/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A file is written and removed: free blocks and inodes alone do not tell of quotas and of a file
 * system that became read-only. */

#include "contract/room.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/strv.h"

#define PROOF_SIZE (16 * 1024) /* bytes: about what a verdict with its figures takes */

int room_prove(void) {
        _cleanup_free_ char *path = fb_path(PATH_RUN_ROOM), *proof = calloc(1, PROOF_SIZE);
        int r;

        if (!path || !proof)
                return -ENOMEM;
        r = mkdir_parents(path, 0755);
        if (r < 0)
                return r;
        r = write_file_atomic(path, proof, PROOF_SIZE, 0600);
        (void) unlink(path);
        return r;
}

char *room_words(const char *path, int error) {
        return strf("%s: %s", path, strerror(-error));
}
