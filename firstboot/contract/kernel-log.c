/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The words are the drivers' own, as Linux has them: AER, NVMe, mlx5 and EFA, the block layer, XFS
 * and ext4; for NVRM, NVIDIA's catalog of Xid errors. */

#include "contract/kernel-log.h"
#include "shared/parse-number.h"

#define COMM_MAX 15 /* characters of a process' name: TASK_COMM_LEN of the kernel, with its zero */
#define DRIVER_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789_-"

/* Limits are ours: what a single event proves counts at once, what recovers by itself may happen
 * now and then, and corrected errors only where they come in storms. */
const KernelEventInfo kernel_event_info[_KERNEL_EVENT_KINDS] = {
        [KERNEL_XID] = { "xid", NULL, 0 }, /* which of them matter is the gpu step's to judge */
        [KERNEL_NVRM] = { "nvrm", NULL, 0 },
        [KERNEL_AER] = { "aer", "watch.pcie", 1 },
        [KERNEL_AER_CORRECTED] = { "aer-corrected", "watch.pcie", 1000 },
        [KERNEL_MLX5] = { "mlx5", "watch.nic", 1 },
        [KERNEL_EFA] = { "efa", "watch.nic", 1 },
        [KERNEL_LINK] = { "link", "watch.link-flaps", 3 },
        [KERNEL_NVME_RESET] = { "nvme-reset", "watch.nvme", 3 },
        [KERNEL_NVME_LOST] = { "nvme", "watch.nvme", 1 },
        [KERNEL_FILESYSTEM] = { "filesystem", NULL, 0 },
};

bool kernel_record_parse(const char *line, KernelRecord *ret) {
        const char *p = line, *message = strchr(line, ';');
        uint64_t priority;
        KernelRecord r = {};

        if (line[0] == ' ' || !message)
                return false;
        if (parse_digits_until(&p, 10, ',', &priority) < 0 ||
                        parse_digits_until(&p, 10, ',', &r.sequence) < 0)
                return false;
        if (parse_digits(&p, 10, &r.usec) < 0 || p > message)
                return false;
        /* Facility 0 is the kernel. Anybody with root may write lines of another. */
        if (priority >> 3 != 0)
                return false;

        r.message = message + 1;
        *ret = r;
        return true;
}

/* begins: what the message starts with; @ stands for a PCI address, # for a number, * for a
 * driver's name. has, also: what must be in it behind that. */
typedef struct Pattern {
        KernelEventKind kind;
        const char *begins, *has, *also;
} Pattern;

static const Pattern patterns[] = {
        { KERNEL_XID, "NVRM: Xid (", "", "" },
        { KERNEL_XID, "nvidia-nvswitch#: SXid (", "", "" },
        { KERNEL_NVRM, "NVRM: ", "fallen off the bus", "" },
        { KERNEL_NVRM, "NVRM: ", "RmInitAdapter failed", "" },
        { KERNEL_NVRM, "NVRM: ", "GPU recovery action changed", "" },
        { KERNEL_NVRM, "NVRM: ", "nvAssert", "" },
        { KERNEL_AER_CORRECTED, "* @: ", "AER: Correct", "error" },
        { KERNEL_AER_CORRECTED, "* @: ", "PCIe Bus Error: severity=Correct", "" },
        { KERNEL_AER, "* @: ", "AER: Uncorrect", "error" },
        { KERNEL_AER, "* @: ", "PCIe Bus Error: severity=Uncorrect", "" },
        { KERNEL_AER, "* @: ", "AER: device recovery failed", "" },
        { KERNEL_MLX5, "mlx5_core @", "health compromised", "" },
        { KERNEL_MLX5, "mlx5_core @", "Health issue observed", "" },
        { KERNEL_MLX5, "mlx5_core @", "atal error", "" },
        { KERNEL_MLX5, "mlx5_core @", "handling bad device", "" },
        { KERNEL_MLX5, "mlx5_core @", "High temperature", "" },
        { KERNEL_LINK, "mlx5_core @", "Link down", "" },
        { KERNEL_EFA, "efa @", "Keep alive", "" },
        { KERNEL_EFA, "efa @", "imeout", "" },
        { KERNEL_EFA, "efa @", "ailed", "" },
        { KERNEL_EFA, "efa @", "reset", "" },
        { KERNEL_NVME_LOST, "nvme nvme#: ", "Removing", "failure" },
        { KERNEL_NVME_LOST, "nvme nvme#: ", "Device not ready", "" },
        { KERNEL_NVME_LOST, "nvme nvme#: ", "failed to resume", "" },
        { KERNEL_NVME_RESET, "nvme nvme#: ", "reset controller", "" },
        { KERNEL_NVME_RESET, "nvme nvme#: ", "controller is down", "" },
        { KERNEL_NVME_LOST, "I/O error, dev nvme", "", "" },
        { KERNEL_NVME_LOST, "critical medium error, dev nvme", "", "" },
        { KERNEL_NVME_LOST, "blk_update_request: ", "error, dev nvme", "" },
        { KERNEL_NVME_LOST, "print_req_error: ", "error, dev nvme", "" },
        { KERNEL_FILESYSTEM, "XFS (", "shut", "down" },
        { KERNEL_FILESYSTEM, "XFS (", "metadata I/O error", "" },
        { KERNEL_FILESYSTEM, "EXT4-fs error", "", "" },
        { KERNEL_FILESYSTEM, "EXT4-fs (", "Remounting filesystem read-only", "" },
};

/* "0000:3b:00.0". NULL where the text does not begin with one. */
static const char *skip_address(const char *text) {
        static const char after[] = "::.", digits[] = "0123456789abcdef";

        for (size_t i = 0; i < strlen(after); i++) {
                size_t n = strspn(text, digits);

                if (text[n] != after[i] || (i == 0 ? n < 4 : n != 2))
                        return NULL;
                text += n + 1;
        }
        return strspn(text, digits) == 1 ? text + 1 : NULL;
}

/* What comes behind the pattern's beginning; NULL where the message has another one. */
static const char *skip_begin(const char *message, const char *begins) {
        for (; *begins && message; begins++) {
                size_t n = *begins == '#'   ? strspn(message, "0123456789")
                           : *begins == '*' ? strspn(message, DRIVER_CHARACTERS)
                                            : *message == *begins;

                if (*begins == '@')
                        message = skip_address(message);
                else
                        message = n > 0 ? message + n : NULL;
        }
        return message;
}

/* "NAME[PID]: segfault at …", "NAME[PID] bad frame in …", "traps: NAME[PID] …": the process chose
 * this name, and that of its file, which stands at the end. */
static bool is_of_process(const char *message) {
        size_t n = strcspn(message, "[");

        if (startswith(message, "traps: "))
                return true;
        while (n <= COMM_MAX && message[n]) {
                size_t digits = strspn(message + n + 1, "0123456789");

                if (digits > 0 && message[n + 1 + digits] == ']')
                        return true;
                n += 1 + strcspn(message + n + 1, "[");
        }
        return false;
}

bool kernel_event_of(const char *message, KernelEventKind *ret) {
        if (is_of_process(message))
                return false;
        for (size_t i = 0; i < ELEMENTSOF(patterns); i++) {
                const Pattern *p = &patterns[i];
                const char *rest = skip_begin(message, p->begins);

                if (!rest || !strstr(rest, p->has) || !strstr(rest, p->also))
                        continue;
                *ret = p->kind;
                return true;
        }
        return false;
}
