/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The system's UUID in DMI, else the board's serial number. Firmware that was never told says so in
 * many ways, and then says the same on many machines. */

#include "steps/scratch/machine.h"
#include "contract/paths.h"
#include "steps/common/sysfs.h"

#include <ctype.h>

#define DMI "/sys/class/dmi/id"
#define LENGTH_MAX 64

static bool is_placeholder(const char *s) {
        /* The third is AMI's sample. */
        static const char *const known[] = { "not settable", "not specified",
                "03000200-0400-0500-0006-000700080009", "to be filled by o.e.m.", "default string",
                "system serial number", "none", "0123456789" };

        for (size_t i = 0; i < ELEMENTSOF(known); i++)
                if (streq(s, known[i]))
                        return true;
        /* All zeros, all "f" or the like. */
        return strlen(s) < 4 || strspn(s, "0-. ") == strlen(s) || strspn(s, "f-") == strlen(s);
}

int machine_identity(char **ret) {
        static const char *const files[] = { "product_uuid", "board_serial" };

        *ret = NULL;
        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                _cleanup_free_ char *text = sysfs_string(DMI, files[i]);

                if (!text)
                        continue;
                for (char *p = text; *p; p++)
                        *p = (char) tolower((unsigned char) *p);
                if (is_placeholder(text))
                        continue;
                for (char *p = text; *p; p++)
                        if (!isalnum((unsigned char) *p))
                                *p = '-';
                *ret = strndup(text, LENGTH_MAX);
                return *ret ? 0 : -ENOMEM;
        }
        return 0;
}
