/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A command of a job's may find its output closed, or on a disk that is full. */

#include "shared/streams.h"
#include "shared/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int streams_hold(void) {
        /* Output is opened for reading, so that it is told to those who print. Messages are not
         * told to anybody: there is nowhere to. */
        static const int modes[] = { O_RDONLY, O_RDONLY, O_RDWR };

        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
                if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
                        continue;
                if (open("/dev/null", modes[fd]) < 0) /* the lowest that is free: this one */
                        return -errno;
        }
        return 0;
}

int streams_finish(int code) {
        bool failed = ferror(stdout); /* earlier: what for is forgotten */

        if (fflush(stdout) != 0)
                log_error_errno(errno, "Not all of the output could be written");
        else if (failed)
                log_error("Not all of the output could be written; is there space where it goes?");
        else
                return code;
        return code == EXIT_SUCCESS ? EXIT_FAILURE : code;
}
