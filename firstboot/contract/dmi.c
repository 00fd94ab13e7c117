/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Fields of DMI, without the values that mean nothing: those are the same on many machines. */

#include "contract/dmi.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/json-util.h"

#include <ctype.h>
#include <fnmatch.h>

/* What vendors leave in a field that they do not fill, in lower case (fwupd and dmidecode know the
 * same). */
static bool is_filler(const char *text) {
        static const char *const fillers[] = {
                "none",
                "n/a",
                "na",
                "null",
                "unknown",
                "invalid",
                "default*",
                "to be filled*",
                "not *",
                "system serial*",
                "base board serial*",
                "serial number*",
                "*o.e.m.*",
                "empty",
                "chassis serial*",
                "0123456789*",
                "1234567890*",
                "123456789",
                "03000200-0400-0500-0006-000700080009", /* AMI's example */
                "12345678-1234-5678-90ab-cddeefaabbcc",
        };

        for (size_t i = 0; i < ELEMENTSOF(fillers); i++)
                if (fnmatch(fillers[i], text, 0) == 0)
                        return true;

        /* All of one character: zeros, Fs, dots, Xs. */
        const char *first = text + strspn(text, "-:. ");
        for (const char *p = first; *p; p++)
                if (*p != *first && !strchr("-:. ", *p))
                        return false;
        return true;
}

int dmi_read(const char *field, char **ret) {
        _cleanup_free_ char *path = fb_pathf("/sys/class/dmi/id/%s", field), *text = NULL;
        int r;

        *ret = NULL;
        if (!path)
                return -ENOMEM;
        r = read_line_file(path, &text);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return 0;

        json_clean_utf8(text);
        for (char *p = text; *p; p++)
                *p = (char) tolower((unsigned char) *p);
        *ret = is_filler(text) ? NULL : TAKE_PTR(text);
        return 0;
}
