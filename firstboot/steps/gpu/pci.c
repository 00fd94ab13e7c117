/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The kernel's list of PCI devices, and versions out of what others print. */

#include "steps/gpu/pci.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/strv.h"
#include "steps/common/sysfs.h"

#include <ctype.h>

#define PCI_DEVICES "/sys/bus/pci/devices"
#define VENDOR_NVIDIA 0x10de

/* Base class and subclass. Sources: PCI Code and ID Assignment Specification; NVSwitch shows
 * itself as "bridge, other" to the fabric manager (Fabric Manager User Guide). */
enum {
        CLASS_VGA = 0x0300,
        CLASS_3D = 0x0302,
        CLASS_BRIDGE_OTHER = 0x0680,
};

/* A hexadecimal attribute of a device; all bits set where it cannot be read. */
static unsigned attribute(const char *device, const char *name) {
        _cleanup_free_ char *folder = strf("%s/%s", PCI_DEVICES, device);
        uint64_t value;

        if (!folder || sysfs_number(folder, name, 16, &value) < 0)
                return ~0U;
        return (unsigned) value;
}

static int by_address(const void *a, const void *b) {
        return strcmp(((const GpuPci *) a)->address, ((const GpuPci *) b)->address);
}

static void add(GpuFacts *f, const char *device) {
        _cleanup_free_ char *link = fb_pathf("%s/%s/driver", PCI_DEVICES, device),
                            *function = fb_pathf("%s/%s/physfn", PCI_DEVICES, device);
        char target[256];
        GpuPci *p;

        if (!link || !function) {
                f->pci_error = ENOMEM;
                return;
        }
        /* A virtual function is a part of a GPU that is there already. */
        if (access(function, F_OK) == 0)
                return;
        if (f->n_pci == GPUS_MAX) {
                f->pci_error = E2BIG;
                return;
        }
        p = &f->pci[f->n_pci++];
        snprintf(p->address, sizeof(p->address), "%.31s", device);
        p->device = attribute(device, "device");
        ssize_t n = readlink(link, target, sizeof(target) - 1);
        if (n > 0) {
                target[n] = '\0';
                snprintf(p->driver, sizeof(p->driver), "%.31s", path_basename(target));
        }
}

static void read_module_version(GpuFacts *f) {
        _cleanup_free_ char *sys = fb_path("/sys/module/nvidia/version"),
                            *proc = fb_path("/proc/driver/nvidia/version"), *text = NULL;

        if (sys && read_line_file(sys, &text) >= 0) {
                snprintf(f->module_version, sizeof(f->module_version), "%.63s", text);
                return;
        }
        if (proc && read_file(proc, 65536, &text, NULL) >= 0)
                (void) gpu_version_from_proc(text, f->module_version, sizeof(f->module_version));
}

void gpu_read_pci(GpuFacts *f) {
        _cleanup_strv_free_ char **devices = NULL;
        int r;

        read_module_version(f);
        /* A machine without PCI has no such folder, and no GPU of NVIDIA's. */
        r = fb_list(PCI_DEVICES, &devices);
        if (r < 0) {
                f->pci_error = -r;
                return;
        }

        STRV_FOREACH (device, devices) {
                if (attribute(*device, "vendor") != VENDOR_NVIDIA)
                        continue;
                unsigned class = attribute(*device, "class") >> 8;

                if (class == CLASS_3D || class == CLASS_VGA)
                        add(f, *device);
                else if (class == CLASS_BRIDGE_OTHER)
                        f->n_switches++;
        }
        qsort(f->pci, f->n_pci, sizeof(f->pci[0]), by_address);
}

/* The length of a word of digits and dots with at least one dot, "580.65.06"; 0: s begins with
 * none. */
static size_t version_length(const char *s) {
        size_t n = strspn(s, "0123456789.");
        bool ends = s[n] == '\0' || isspace((unsigned char) s[n]);

        if (n < 3 || !ends || !memchr(s, '.', n))
                return 0;
        return isdigit((unsigned char) s[0]) && isdigit((unsigned char) s[n - 1]) ? n : 0;
}

/* The first version that stands as a word of its own behind `after`. */
static int version_after(const char *text, const char *after, char *ret, size_t size) {
        const char *p = strstr(text, after);

        if (!p)
                return -EINVAL;
        for (p += strlen(after); *p && *p != '\n';) {
                p += strspn(p, " \t:");
                size_t n = version_length(p);
                if (n > 0 && n < size) {
                        memcpy(ret, p, n);
                        ret[n] = '\0';
                        return 0;
                }
                p += strcspn(p, " \t\n");
        }
        return -EINVAL;
}

int gpu_version_from_proc(const char *text, char *ret, size_t size) {
        /* NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar …
         * NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release … */
        return version_after(text, "NVRM version:", ret, size);
}

const char *gpu_version_of_nvml(const char *nvml_version) {
        const char *dot = strchr(nvml_version, '.');

        return dot ? dot + 1 : "";
}

int gpu_version_from_fabric_manager(const char *text, char *ret, size_t size) {
        /* "Fabric Manager version is : 550.54.15" */
        return version_after(text, "version is", ret, size);
}
