/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From the errno that a room returns to the exit code that a script reads. Rooms choose their
 * errors with this table in mind. */

#include "common/exit-code.h"

#include <errno.h>

int exit_code_from_errno(int r) {
        switch (r < 0 ? -r : 0) {
        case 0:
                return EXIT_OK;
        case EINVAL:
                return EXIT_BAD_INPUT;
        case EBADMSG:
        case ENETUNREACH:
        case EREMOTEIO:
                return EXIT_FETCH;
        case ENOSPC:
        case EDQUOT:
        case EACCES:
        case EPERM:
        case EROFS:
        case EOPNOTSUPP:
        case ENOPKG:
                return EXIT_HOST;
        case ETIMEDOUT:
                return EXIT_TIMED_OUT;
        case ECANCELED:
                return EXIT_INTERRUPTED;
        default:
                return EXIT_FAILED;
        }
}
