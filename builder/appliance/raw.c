/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An image as a raw disk, by qemu-img, which is told the format. */

#include "appliance/internal.h"

#include "shared/spawn.h"
#include "shared/strv.h"

#include <poll.h>

/* A pipe that nobody reads any more: whoever waited for what comes of this has gone. */
static int is_wanted(pid_t pid _unused_, void *userdata) {
        struct pollfd p = { .fd = *(const int *) userdata, .events = POLLOUT };

        return p.fd >= 0 && poll(&p, 1, 0) > 0 && p.revents & POLLERR ? -ECANCELED : 0;
}

int image_to_raw(const char *image, const char *format, const char *raw, int pipe,
                char **ret_output) {
        const SpawnOptions options = { .watch = is_wanted, .watch_data = &pipe };
        int status, r;

        r = spawn_capture(&options,
                        ARGV("qemu-img", "convert", "-q", "-f", format, "-O", "raw", "-t", "unsafe",
                                        "-T", "unsafe", image, raw),
                        ret_output, &status);
        return r < 0 || status == 0 ? r : -EIO;
}
