/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whether a terminal understands colours and cursor movements, decided once for both programs. */

#include "shared/terminal.h"

#include <stdlib.h>
#include <unistd.h>

bool terminal_is_capable(int fd) {
        const char *term = getenv("TERM");

        return isatty(fd) && !isempty(term) && !streq(term, "dumb");
}
