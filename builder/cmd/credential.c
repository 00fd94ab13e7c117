/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* For imgbuild sign and imgbuild cache push. */

#include "cmd/credential.h"
#include "shared/file-util.h"
#include "shared/strv.h"

char *credential_find(const char *name) {
        const char *folder = getenv("CREDENTIALS_DIRECTORY");
        _cleanup_free_ char *path = isempty(folder) ? NULL : path_join(folder, name);

        return path && access(path, F_OK) >= 0 ? TAKE_PTR(path) : NULL;
}
