/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* /etc/fstab is read line by line and kept to the letter, but for one word. */

#include "steps/scratch/fstab.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/strv.h"

#include <sys/stat.h>

#define FSTAB_MAX (1024 * 1024)
#define BLANKS " \t"

/* The n-th field of a line, counted from 0, and its length; empty where there is none. */
static const char *field(const char *line, unsigned n, size_t *ret_size) {
        const char *p = line + strspn(line, BLANKS);

        for (; n > 0; n--) {
                p += strcspn(p, BLANKS);
                p += strspn(p, BLANKS);
        }
        *ret_size = strcspn(p, BLANKS);
        return p;
}

/* Slashes at the end do not count. */
static bool is_for(const char *line, const char *where) {
        size_t n;
        const char *p = field(line, 1, &n);

        while (n > 1 && p[n - 1] == '/')
                n--;
        return line[strspn(line, BLANKS)] != '#' && n == strlen(where) && strncmp(p, where, n) == 0;
}

static int let_line_fail(const char *line, const char *where, char **ret) {
        _cleanup_strv_free_ char **options = NULL;
        _cleanup_free_ char *text = NULL;
        size_t n;
        const char *p = field(line, 3, &n);

        *ret = NULL;
        if (!is_for(line, where) || n == 0)
                return 0;
        text = strndup(p, n);
        options = text ? strv_split(text, ",") : NULL;
        if (!options)
                return -ENOMEM;
        if (strv_contains(options, "nofail") || strv_contains(options, "noauto"))
                return 0;
        *ret = strf("%.*s,nofail%s", (int) (p + n - line), line, p + n);
        return *ret ? 1 : -ENOMEM;
}

int fstab_let_fail(const char *where) {
        _cleanup_free_ char *named = fb_path("/etc/fstab"), *path = NULL, *text = NULL,
                            *joined = NULL;
        _cleanup_strv_free_ char **lines = NULL;
        struct stat st;
        int changed = 0, r;

        if (!named)
                return -ENOMEM;
        /* Where it is a link, that stays, and what it leads to is written. */
        path = realpath(named, NULL);
        if (!path || stat(path, &st) < 0)
                return errno == ENOENT ? 0 : -errno;
        if (!S_ISREG(st.st_mode))
                return -EINVAL;
        r = read_file(path, FSTAB_MAX, &text, NULL);
        if (r < 0)
                return r;

        for (char *line = text, *end; line; line = end) {
                char *with = NULL;

                end = strchr(line, '\n');
                if (end)
                        *end++ = '\0';
                r = let_line_fail(line, where, &with);
                if (r < 0)
                        return r;
                changed |= r;
                r = with ? strv_push(&lines, with) : strv_extend(&lines, line);
                if (r < 0)
                        return r;
        }
        if (!changed)
                return 0;
        joined = strv_join(lines, "\n");
        if (!joined)
                return -ENOMEM;
        r = write_file_durable(path, joined, strlen(joined), st.st_mode & 0777);
        return r < 0 ? r : 1;
}
