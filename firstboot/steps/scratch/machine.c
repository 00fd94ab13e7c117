/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The system's UUID in DMI, else the board's serial number, as a tag of LVM's may have them. */

#include "steps/scratch/machine.h"
#include "contract/dmi.h"

#include <ctype.h>

#define LENGTH_MIN 4 /* what is shorter tells no machines apart */
#define LENGTH_MAX 64

int machine_identity(char **ret) {
        static const char *const fields[] = { "product_uuid", "board_serial" };
        int r;

        *ret = NULL;
        for (size_t i = 0; i < ELEMENTSOF(fields); i++) {
                _cleanup_free_ char *text = NULL;

                r = dmi_read(fields[i], &text);
                if (r < 0)
                        return r;
                if (!text || strlen(text) < LENGTH_MIN)
                        continue;
                for (char *p = text; *p; p++)
                        if (!isalnum((unsigned char) *p))
                                *p = '-';
                *ret = strndup(text, LENGTH_MAX);
                return *ret ? 0 : -ENOMEM;
        }
        return 0;
}
