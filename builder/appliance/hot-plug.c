/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An image for an appliance that runs already. libguestfs itself adds images before the start only,
 * but lets its caller add to QEMU's command line: a monitor (QMP), through which QEMU takes a
 * further disk on the SCSI bus that libguestfs has its own on. Whoever calls has another way where
 * that fails. */

#include "appliance/appliance.h"

#include "shared/file-util.h"
#include "shared/json-util.h"
#include "shared/log.h"
#include "shared/strv.h"
#include "shared/time-util.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#define APPEAR_USEC (20 * USEC_PER_SEC)
#define STEP_USEC (20 * USEC_PER_MSEC)
#define ANSWER_SECONDS 20
#define LINE_MAX_BYTES (64 * 1024) /* of the monitor; its answers to us are short */

static int monitor_open(const char *path, FILE **ret) {
        const struct timeval patience = { .tv_sec = ANSWER_SECONDS };
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (strlen(path) >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        memcpy(address.sun_path, path, strlen(path) + 1);
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
                        connect(fd, (struct sockaddr *) &address, sizeof(address)) < 0)
                return -errno;
        *ret = fdopen(fd, "re");
        if (!*ret)
                return -errno;
        TAKE_FD(fd);
        return 0;
}

/* Reads up to the answer; events come in between. */
static int monitor_answer(FILE *monitor) {
        _cleanup_free_ char *line = NULL;
        size_t allocated = 0;

        for (;;) {
                _cleanup_json_ json_object *o = NULL;
                ssize_t n = getline(&line, &allocated, monitor);
                JsonError error;

                if (n < 0)
                        return -EIO;
                if (n > LINE_MAX_BYTES || json_parse(line, (size_t) n, &error, &o) < 0)
                        return -EBADMSG;
                if (json_get(o, "error")) {
                        log_debug("The appliance's QEMU: %s",
                                        strempty(json_get_string(json_get(o, "error"), "desc")));
                        return -EIO;
                }
                if (json_get(o, "return"))
                        return 0;
        }
}

/* Takes `arguments`, which may be NULL: none. */
static int monitor_command(FILE *monitor, const char *command, json_object *arguments) {
        _cleanup_json_ json_object *o = json_object_new_object();
        const char *text;
        int r;

        if (!o) {
                json_object_put(arguments);
                return -ENOMEM;
        }
        r = json_set_fields(o, JSON_STRING("execute", command), JSON_TAKE("arguments", arguments));
        if (r < 0)
                return r;
        text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);
        if (!text)
                return -ENOMEM;
        r = write_all(fileno(monitor), text, strlen(text));
        if (r < 0)
                return r;
        return monitor_answer(monitor);
}

/* `node`: what QEMU is to call it. */
static int add_disk(FILE *monitor, const char *node, const char *image, const char *format) {
        _cleanup_json_ json_object *file = json_object_new_object(),
                                   *block = json_object_new_object(),
                                   *device = json_object_new_object();
        int r;

        if (!file || !block || !device)
                return -ENOMEM;
        r = json_set_fields(file, JSON_STRING("driver", "file"), JSON_STRING("filename", image),
                        JSON_BOOL("read-only", true));
        if (r < 0)
                return r;
        r = json_set_fields(block, JSON_STRING("node-name", node), JSON_STRING("driver", format),
                        JSON_BOOL("read-only", true), JSON_TAKE("file", TAKE_PTR(file)));
        if (r < 0)
                return r;
        r = json_set_fields(device, JSON_STRING("driver", "scsi-hd"), JSON_STRING("drive", node));
        if (r < 0)
                return r;
        r = monitor_command(monitor, "qmp_capabilities", NULL);
        if (r < 0)
                return r;
        r = monitor_command(monitor, "blockdev-add", TAKE_PTR(block));
        if (r < 0)
                return r;
        return monitor_command(monitor, "device_add", TAKE_PTR(device));
}

/* The name of the device that was not there before; NULL: none yet. */
static const char *find_new(char *const *before, char *const *devices) {
        STRV_FOREACH (device, devices)
                if (!strv_contains(before, *device))
                        return *device;
        return NULL;
}

static unsigned count_partitions(guestfs_h *g, const char *device) {
        _cleanup_strv_free_ char **all = guestfs_list_partitions(g);
        unsigned n = 0;

        STRV_FOREACH (p, all)
                n += startswith(*p, device) != NULL;
        return n;
}

static int wait_for_disk(
                guestfs_h *g, char *const *before, unsigned partitions, char **ret_device) {
        for (uint64_t end = now_usec() + APPEAR_USEC; now_usec() < end; usleep(STEP_USEC)) {
                _cleanup_strv_free_ char **devices = guestfs_list_devices(g);
                const char *device = find_new(before, devices);

                if (!devices)
                        return -EIO;
                if (!device || count_partitions(g, device) < partitions)
                        continue;
                *ret_device = strdup(device);
                return *ret_device ? 0 : -ENOMEM;
        }
        return -ETIMEDOUT;
}

int guestfs_plug(guestfs_h *g, const char *monitor, const char *image, const char *format,
                unsigned partitions, char **ret_device) {
        _cleanup_strv_free_ char **before = guestfs_list_devices(g);
        _cleanup_free_ char *node = NULL;
        _cleanup_fclose_ FILE *m = NULL;
        int r;

        if (!before)
                return -EIO;
        node = strf("image%zu", strv_length(before));
        if (!node)
                return -ENOMEM;
        r = monitor_open(monitor, &m);
        if (r < 0)
                return r;
        r = add_disk(m, node, image, format);
        if (r < 0)
                return r;
        return wait_for_disk(g, before, partitions, ret_device);
}
