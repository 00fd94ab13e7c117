/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One reader of attributes for all steps. */

#include "steps/common/sysfs.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/parse-number.h"

#include <ctype.h>

static int read_attribute(const char *folder, const char *name, char **ret) {
        _cleanup_free_ char *path = fb_pathf("%s/%s", folder, name);
        char *text;
        int r;

        if (!path)
                return -ENOMEM;
        r = read_line_file(path, &text);
        if (r < 0)
                return r;

        size_t n = strlen(text), skip = strspn(text, " \t");
        while (n > skip && isspace((unsigned char) text[n - 1]))
                text[--n] = '\0';
        memmove(text, text + skip, n - skip + 1);

        *ret = text;
        return 0;
}

char *sysfs_string(const char *folder, const char *name) {
        char *text;

        return read_attribute(folder, name, &text) < 0 ? NULL : text;
}

int sysfs_number(const char *folder, const char *name, unsigned base, uint64_t *ret) {
        _cleanup_free_ char *text = NULL;
        int r;

        r = read_attribute(folder, name, &text);
        return r < 0 ? r : parse_number(text, base, ret);
}
