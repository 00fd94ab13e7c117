/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The model name of an emulated NVMe disk. QEMU (up to 10 at least) has none to set: every
 * controller says "QEMU NVMe Ctrl". Clouds tell disks apart by it ("Amazon EC2 NVMe Instance
 * Storage"), and so does what chooses the scratch disks of a node, so it has to be testable. The
 * machine is started paused; each controller's Identify data lie ready in QEMU's memory by then
 * (NVMe base specification, Identify Controller: serial of 20 bytes, model of 40, both padded with
 * spaces), and the model is written over there before the machine runs. Not found: an error, never
 * a guess. */

#include "boot/nvme-model.h"

#include "shared/log.h"

#include <fcntl.h>

#define QEMU_MODEL "QEMU NVMe Ctrl"
#define IDENTIFY_SIZE (VM_NVME_SERIAL_MAX + VM_NVME_MODEL_MAX)
#define REGION_MAX (UINT64_C(128) << 20) /* bytes: the heap is smaller, guest memory is not */

static void pad(char *field, size_t size, const char *text) {
        memset(field, ' ', size);
        memcpy(field, text, MIN(strlen(text), size));
}

void nvme_identify_pattern(const char *serial, char ret[static IDENTIFY_SIZE]) {
        pad(ret, VM_NVME_SERIAL_MAX, serial);
        pad(ret + VM_NVME_SERIAL_MAX, VM_NVME_MODEL_MAX, QEMU_MODEL);
}

/* Replaces the model behind every serial of ours in one region: how many were found. */
static int patch_region(int memory, uint64_t start, uint64_t end, const VmConfig *c, bool *done) {
        size_t size = (size_t) (end - start);
        _cleanup_free_ char *copy = malloc(size);
        ssize_t n;

        if (!copy)
                return -ENOMEM;
        n = pread(memory, copy, size, (off_t) start);
        if (n < IDENTIFY_SIZE)
                return 0; /* guard pages and the like */
        for (size_t i = 0; i < c->n_nvme; i++) {
                char pattern[IDENTIFY_SIZE], model[VM_NVME_MODEL_MAX];

                if (!c->nvme[i].model || done[i])
                        continue;
                nvme_identify_pattern(c->nvme[i].serial, pattern);
                const char *hit = memmem(copy, (size_t) n, pattern, sizeof(pattern));
                if (!hit)
                        continue;
                pad(model, sizeof(model), c->nvme[i].model);
                off_t at = (off_t) start + (hit - copy) + VM_NVME_SERIAL_MAX;
                if (pwrite(memory, model, sizeof(model), at) != (ssize_t) sizeof(model))
                        return -errno;
                done[i] = true;
        }
        return 0;
}

bool vm_wants_models(const VmConfig *c) {
        for (size_t i = 0; i < c->n_nvme; i++)
                if (c->nvme[i].model)
                        return true;
        return false;
}

int vm_set_models(pid_t qemu, const VmConfig *c) {
        _cleanup_fclose_ FILE *maps = NULL;
        _cleanup_close_ int memory = -EBADF;
        bool done[VM_NVME_MAX] = {};
        char path[64], line[512];

        snprintf(path, sizeof(path), "/proc/%d/maps", (int) qemu);
        maps = fopen(path, "re");
        if (!maps)
                return -errno;
        snprintf(path, sizeof(path), "/proc/%d/mem", (int) qemu);
        memory = open(path, O_RDWR | O_CLOEXEC);
        if (memory < 0)
                return -errno;
        while (fgets(line, sizeof(line), maps)) {
                unsigned long long start, end, inode;
                char mode[8];

                if (sscanf(line, "%llx-%llx %7s %*x %*s %llu", &start, &end, mode, &inode) != 4 ||
                                !startswith(mode, "rw-p") || inode != 0 || end - start > REGION_MAX)
                        continue;
                int r = patch_region(memory, start, end, c, done);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < c->n_nvme; i++)
                if (c->nvme[i].model && !done[i])
                        return -ENOENT;
        return 0;
}
