/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "steps/gpu/xid.h"
#include "contract/paths.h"

#include <ctype.h>
#include <fcntl.h>

#define BUFFER_SIZE 16384 /* a record of /dev/kmsg is at most 8 KiB */

const char *const gpu_action_names[] = {
        [GPU_ACTION_NONE] = "none",
        [GPU_ACTION_WAIT] = "wait",
        [GPU_ACTION_CONFIG] = "configure",
        [GPU_ACTION_RESET] = "reset",
        [GPU_ACTION_REBOOT] = "reboot",
        [GPU_ACTION_RMA] = "rma",
};

bool gpu_xid_parse(const char *message, GpuXid *ret) {
        /* NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus. NVRM:
         * Xid (0000:03:00): 14, Channel 00000001 nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034,
         * Fatal, Link 60 LTSSM Fault Up */
        const char *p;
        GpuXid x = {};
        char *end;

        if ((p = startswith(message, "NVRM: Xid (")))
                ;
        else if (startswith(message, "nvidia-nvswitch") && (p = strstr(message, ": SXid ("))) {
                p += strlen(": SXid (");
                x.is_switch = true;
        } else
                return false;
        if (startswith(p, "PCI:"))
                p += strlen("PCI:");
        size_t n = strcspn(p, ")");
        if (p[n] != ')' || p[n + 1] != ':' || n == 0)
                return false;
        for (size_t i = 0; i < n && i + 1 < sizeof(x.pci); i++)
                x.pci[i] = (char) tolower((unsigned char) p[i]);
        p += n + 2;
        p += strspn(p, " ");
        errno = 0;
        unsigned long number = strtoul(p, &end, 10);
        if (end == p || !isdigit((unsigned char) *p) || errno || number > 1000000)
                return false;
        x.xid = (unsigned) number;
        end += strspn(end, ", ");
        x.fatal = startswith(end, "Fatal") != NULL;
        snprintf(x.text, sizeof(x.text), "%.*s", (int) strcspn(end, "\n"), end);
        *ret = x;
        return true;
}

void gpu_xid_message(GpuFacts *f, const char *message) {
        GpuXid x;

        if (!gpu_xid_parse(message, &x))
                return;
        if (f->n_xids < GPU_XIDS_MAX)
                f->xids[f->n_xids] = x;
        f->n_xids++;
}

/* One line of /dev/kmsg: "PRIORITY,SEQUENCE,USEC,FLAGS[,…];MESSAGE"; lines that start with a blank
 * continue the one before with its fields. Source: the kernel's
 * Documentation/ABI/testing/dev-kmsg. */
static void take_line(GpuFacts *f, const char *line, bool *first) {
        unsigned long priority, sequence;
        const char *message = strchr(line, ';');
        char *end;

        if (line[0] == ' ' || !message)
                return;
        priority = strtoul(line, &end, 10);
        if (*end != ',')
                return;
        sequence = strtoul(end + 1, &end, 10);
        if (*first && sequence > 0)
                f->log_lost = true;
        *first = false;
        /* Facility 0 is the kernel; a program's message in the log is no report of the driver's. */
        if (priority >> 3 == 0)
                gpu_xid_message(f, message + 1);
}

void gpu_read_kernel_log(GpuFacts *f) {
        _cleanup_free_ char *path = fb_path("/dev/kmsg"), *buffer = malloc(BUFFER_SIZE + 1);
        _cleanup_close_ int fd = -EBADF;
        size_t n = 0;
        bool first = true;

        if (!path || !buffer) {
                f->log_error = ENOMEM;
                return;
        }
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0) {
                f->log_error = errno;
                return;
        }
        for (;;) {
                ssize_t got = read(fd, buffer + n, BUFFER_SIZE - n);

                if (got < 0 && (errno == EINTR || errno == EPIPE)) {
                        /* EPIPE: what came next was overwritten while we read. */
                        f->log_lost = f->log_lost || errno == EPIPE;
                        continue;
                }
                if (got < 0 && errno != EAGAIN) {
                        f->log_error = errno;
                        return;
                }
                if (got <= 0)
                        break;
                n += (size_t) got;
                buffer[n] = '\0';
                char *line = buffer, *newline;
                while ((newline = memchr(line, '\n', n - (size_t) (line - buffer)))) {
                        *newline = '\0';
                        take_line(f, line, &first);
                        line = newline + 1;
                }
                n -= (size_t) (line - buffer);
                memmove(buffer, line, n);
                if (n == BUFFER_SIZE) /* no record is that long */
                        n = 0;
        }
        f->log_read = true;
}

GpuAction gpu_xid_action(const GpuXid *x) {
        /* NVIDIA's catalog ("Analyzing Xid Errors with the Xid Catalog"), column Resolution Bucket
         * (Immediate Action): RESET_GPU for what has to do with hardware (48, 62, 64, 95, 119,
         * 120, 140 …), but for these. A remapping that failed shows as gpu.remap-failed as well. */
        static const struct {
                unsigned xid;
                GpuAction action;
        } others[] = {
                { 79, GPU_ACTION_REBOOT },  /* RESTART_BM: fallen off the bus */
                { 151, GPU_ACTION_REBOOT }, /* RESTART_VM: key rotation failed */
        };

        if (x->is_switch)
                return GPU_ACTION_REBOOT;
        for (size_t i = 0; i < ELEMENTSOF(others); i++)
                if (others[i].xid == x->xid)
                        return others[i].action;
        return GPU_ACTION_RESET;
}
