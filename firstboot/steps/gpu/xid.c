/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Lines of the kernel log that tell of errors; what to do about each. */

#include "steps/gpu/xid.h"
#include "contract/paths.h"
#include "shared/parse-number.h"

#include <ctype.h>
#include <fcntl.h>

#define XID_RECOVERY 154  /* GPU_RECOVERY_ACTION_CHANGED */
#define XID_MAX 1000000   /* no report has a number that large */
#define BUFFER_SIZE 16384 /* a record of /dev/kmsg is at most 8 KiB */

const char *const gpu_action_names[] = {
        [GPU_ACTION_NONE] = "none",
        [GPU_ACTION_WAIT] = "wait",
        [GPU_ACTION_CONFIG] = "configure",
        [GPU_ACTION_RESET] = "reset",
        [GPU_ACTION_REBOOT] = "reboot",
        [GPU_ACTION_RMA] = "rma",
};

/* Up to the bracket behind which the address stands; NULL for any other message. */
static const char *skip_head(const char *message, bool *ret_switch) {
        const char *p = startswith(message, "NVRM: Xid (");

        *ret_switch = !p;
        if (p)
                return p;
        p = startswith(message, "nvidia-nvswitch");
        return p ? startswith(p + strspn(p, "0123456789"), ": SXid (") : NULL;
}

/* The action behind this word in "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset
 * Required)" (gpuRefreshRecoveryAction() of NVIDIA's open kernel modules); -1 where there is
 * none. */
static int recovery_after(const char *text, const char *word) {
        const char *p = strstr(text, word);
        uint64_t action;

        if (!p)
                return -1;
        p += strlen(word);
        return parse_digits(&p, 16, &action) < 0 || action > 0xff ? -1 : (int) action;
}

/* NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus.
 * NVRM: Xid (0000:03:00): 14, Channel 00000001
 * nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 60 LTSSM Fault Up */
bool gpu_xid_parse(const char *message, GpuXid *ret) {
        GpuXid x = {};
        uint64_t number;
        const char *p = skip_head(message, &x.is_switch);

        if (!p)
                return false;
        if (startswith(p, "PCI:"))
                p += strlen("PCI:");
        /* A process that crashed may have called itself nearly so: no more than 15 characters, with
         * its number behind them. */
        size_t n = strspn(p, "0123456789abcdefABCDEF:.");
        if (p[n] != ')' || p[n + 1] != ':' || n == 0)
                return false;
        for (size_t i = 0; i < n && i + 1 < sizeof(x.pci); i++)
                x.pci[i] = (char) tolower((unsigned char) p[i]);

        p += n + 2;
        p += strspn(p, " ");
        if (parse_digits(&p, 10, &number) < 0 || number > XID_MAX)
                return false;
        x.xid = (unsigned) number;

        p += strspn(p, ", ");
        x.fatal = startswith(p, "Fatal") != NULL;
        snprintf(x.text, sizeof(x.text), "%.*s", (int) strcspn(p, "\n"), p);
        int recovery = recovery_after(x.text, "to 0x");
        x.tells_recovery = x.xid == XID_RECOVERY && !x.is_switch && recovery >= 0;
        x.recovery = x.tells_recovery ? recovery : 0;
        *ret = x;
        return true;
}

/* "nvidia 0000:3b:00.0: reset done", as the kernel's PCI core writes it when a device was reset
 * that a driver has (since Linux 6.11). */
bool gpu_reset_parse(const char *message, char *ret, size_t size) {
        static const char *const drivers[] = { "nvidia ", "nvidia-nvswitch " };
        const char *p = NULL;

        for (size_t i = 0; !p && i < ELEMENTSOF(drivers); i++)
                p = startswith(message, drivers[i]);
        if (!p)
                return false;
        size_t n = strspn(p, "0123456789abcdef:.");
        if (n == 0 || n >= size || !startswith(p + n - 1, ": reset done"))
                return false;
        memcpy(ret, p, n - 1);
        ret[n - 1] = '\0';
        return true;
}

/* "0000:3b:00" names the functions "0000:3b:00.0" …: the driver leaves the function out. */
static bool same_device(const char *xid_pci, const char *address) {
        size_t n = strlen(xid_pci);

        return n > 0 && strncmp(address, xid_pci, n) == 0 &&
               (address[n] == '.' || address[n] == '\0');
}

/* A reset cures what asks for no more than a reset; a switch is reset with all that it has. */
static void cure(GpuFacts *f, const char *address) {
        for (unsigned i = 0; i < MIN(f->n_xids, (unsigned) GPU_XIDS_MAX); i++) {
                GpuXid *x = &f->xids[i];

                if (same_device(x->pci, address) &&
                                (x->is_switch || gpu_xid_action(x) <= GPU_ACTION_RESET))
                        x->cured = true;
        }
}

/* The newest Xid 154 of a GPU counts alone. One that takes a demanded reset back tells that the
 * reset has been. */
static void take_recovery(GpuFacts *f, const GpuXid *x) {
        int before = recovery_after(x->text, "from 0x");

        for (unsigned i = 0; i < MIN(f->n_xids, (unsigned) GPU_XIDS_MAX); i++)
                if (f->xids[i].tells_recovery && streq(f->xids[i].pci, x->pci))
                        f->xids[i].cured = true;
        if (x->recovery == GPU_RECOVERY_NONE && gpu_recovery_is_reset(before))
                cure(f, x->pci);
}

/* Room for another by forgetting those that are cured. */
static void make_room(GpuFacts *f) {
        unsigned n = 0;

        if (f->n_xids != GPU_XIDS_MAX)
                return;
        for (unsigned i = 0; i < GPU_XIDS_MAX; i++)
                if (!f->xids[i].cured)
                        f->xids[n++] = f->xids[i];
        f->n_xids = n;
}

void gpu_xid_message(GpuFacts *f, const char *message) {
        char address[32];
        GpuXid x;

        if (gpu_reset_parse(message, address, sizeof(address))) {
                cure(f, address);
                return;
        }
        if (!gpu_xid_parse(message, &x))
                return;
        if (x.tells_recovery) {
                take_recovery(f, &x);
                if (x.recovery == GPU_RECOVERY_NONE)
                        return;
        }
        make_room(f);
        if (f->n_xids < GPU_XIDS_MAX)
                f->xids[f->n_xids] = x;
        f->n_xids++;
}

/* One line of /dev/kmsg: "PRIORITY,SEQUENCE,USEC,FLAGS[,…];MESSAGE"; lines that start with a blank
 * continue the one before with its fields. Source: the kernel's
 * Documentation/ABI/testing/dev-kmsg. */
static void take_line(GpuFacts *f, const char *line, bool *first) {
        const char *message = strchr(line, ';'), *p = line;
        uint64_t priority, sequence = 0;

        if (line[0] == ' ' || !message)
                return;
        if (parse_digits_until(&p, 10, ',', &priority) < 0)
                return;
        (void) parse_digits(&p, 10, &sequence);
        if (*first && sequence > 0)
                f->log_lost = true;
        *first = false;

        /* Facility 0 is the kernel; a program's message in the log is no report of the driver's. */
        if (priority >> 3 == 0)
                gpu_xid_message(f, message + 1);
}

/* Takes the whole lines out of the buffer; returns how much of a line is left in it. */
static size_t take_lines(GpuFacts *f, char *buffer, size_t n, bool *first) {
        char *line = buffer, *newline;

        while ((newline = memchr(line, '\n', n - (size_t) (line - buffer)))) {
                *newline = '\0';
                take_line(f, line, first);
                line = newline + 1;
        }
        n -= (size_t) (line - buffer);
        memmove(buffer, line, n);
        return n == BUFFER_SIZE ? 0 : n; /* no record is that long */
}

/* 0 at the end of what there is, or the errno of reading. */
static int read_kmsg(GpuFacts *f, int fd, char *buffer) {
        size_t n = 0;
        bool first = true;

        for (;;) {
                ssize_t got = read(fd, buffer + n, BUFFER_SIZE - n);

                if (got == 0 || (got < 0 && errno == EAGAIN))
                        return 0;
                if (got > 0) {
                        n = take_lines(f, buffer, n + (size_t) got, &first);
                        continue;
                }
                if (errno == EPIPE) /* what came next was overwritten while we read */
                        f->log_lost = true;
                else if (errno != EINTR)
                        return errno;
        }
}

void gpu_read_kernel_log(GpuFacts *f) {
        _cleanup_free_ char *path = fb_path("/dev/kmsg"), *buffer = malloc(BUFFER_SIZE);
        _cleanup_close_ int fd = -EBADF;

        if (!path || !buffer) {
                f->log_error = ENOMEM;
                return;
        }
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        f->log_error = fd < 0 ? errno : read_kmsg(f, fd, buffer);
        f->log_read = f->log_error == 0;
}

const char *gpu_recovery_text(int64_t recovery, GpuAction *ret_action) {
        /* nvmlDeviceGpuRecoveryAction_t of nvml.h up to 5; then what newer drivers add. */
        static const struct {
                const char *text;
                GpuAction action;
        } actions[] = {
                [GPU_RECOVERY_NONE] = { "none", GPU_ACTION_NONE },
                [GPU_RECOVERY_RESET] = { "a reset of the GPU", GPU_ACTION_RESET },
                [GPU_RECOVERY_REBOOT] = { "a reboot of the node", GPU_ACTION_REBOOT },
                [GPU_RECOVERY_DRAIN_P2P] = { "peer-to-peer traffic to be drained",
                                GPU_ACTION_RESET },
                [GPU_RECOVERY_DRAIN_AND_RESET] = { "a drain and a reset of the GPU",
                                GPU_ACTION_RESET },
                [GPU_RECOVERY_IMEX] = { "a recovery of the IMEX domain", GPU_ACTION_RESET },
                { "a reset of its PCIe bus", GPU_ACTION_REBOOT },
                { "a reboot of the system", GPU_ACTION_REBOOT },
        };
        bool known = recovery >= 0 && (size_t) recovery < ELEMENTSOF(actions);

        *ret_action = known ? actions[recovery].action : GPU_ACTION_REBOOT;
        return known ? actions[recovery].text : "an action we do not know";
}

bool gpu_recovery_is_reset(int recovery) {
        return recovery == GPU_RECOVERY_RESET || recovery == GPU_RECOVERY_DRAIN_AND_RESET;
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

        GpuAction action;

        if (x->is_switch)
                return GPU_ACTION_REBOOT;
        if (x->tells_recovery) {
                (void) gpu_recovery_text(x->recovery, &action);
                return action;
        }
        for (size_t i = 0; i < ELEMENTSOF(others); i++)
                if (others[i].xid == x->xid)
                        return others[i].action;
        return GPU_ACTION_RESET;
}
