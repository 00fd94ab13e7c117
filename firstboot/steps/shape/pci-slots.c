/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What PCI tells of the machine's kind without any driver: GPUs, NVSwitches, and the slots that a
 * GPU was in. A GPU that is lost takes no bridge with it. */

#include "contract/paths.h"
#include "steps/common/sysfs.h"
#include "steps/shape/detect.h"

#include <limits.h>

#define PCI_DEVICES "/sys/bus/pci/devices"
#define PORTS_MAX 64 /* kinds of bridges above GPUs; a machine has one or two */

/* A kind of bridge, by what tells one from another. */
typedef struct Port {
        char *vendor, *device, *width;
} Port;

typedef struct Pci {
        char **names;
        Port ports[PORTS_MAX];
        size_t n_ports;
} Pci;

static void port_done(Port *p) {
        free(p->vendor);
        free(p->device);
        free(p->width);
        *p = (Port) {};
}

static void pci_done(Pci *p) {
        for (size_t i = 0; i < p->n_ports; i++)
                port_done(&p->ports[i]);
        strv_free(p->names);
}

/* Class codes: PCI Code and ID Assignment Specification. */
static bool has_class(const char *device, const char *class) {
        _cleanup_free_ char *folder = strf(PCI_DEVICES "/%s", device),
                            *text = folder ? sysfs_string(folder, "class") : NULL;

        return text && startswith(text, class);
}

static bool is_nvidia(const char *device) {
        _cleanup_free_ char *folder = strf(PCI_DEVICES "/%s", device),
                            *vendor = folder ? sysfs_string(folder, "vendor") : NULL;

        return streq_ptr(vendor, "0x10de");
}

/* Display controllers (VGA or 3D) of NVIDIA's. */
static bool is_gpu(const char *device) {
        return is_nvidia(device) && (has_class(device, "0x0300") || has_class(device, "0x0302"));
}

/* What the fabric manager takes for an NVSwitch: "bridge, other". */
static bool is_nvswitch(const char *device) {
        return is_nvidia(device) && has_class(device, "0x0680");
}

static bool read_port(const char *folder, Port *ret) {
        Port p = {
                .vendor = sysfs_string(folder, "vendor"),
                .device = sysfs_string(folder, "device"),
                .width = sysfs_string(folder, "max_link_width"),
        };

        if (!p.vendor || !p.device || !p.width) {
                port_done(&p);
                return false;
        }
        *ret = p;
        return true;
}

static bool port_is_known(const Pci *pci, const Port *p) {
        for (size_t i = 0; i < pci->n_ports; i++)
                if (streq(pci->ports[i].vendor, p->vendor) &&
                                streq(pci->ports[i].device, p->device) &&
                                streq(pci->ports[i].width, p->width))
                        return true;
        return false;
}

/* Notes the kind of bridge above a GPU. */
static void note_port(Pci *pci, const char *gpu) {
        _cleanup_free_ char *folder = strf(PCI_DEVICES "/%s/..", gpu);
        _cleanup_(port_done) Port p = {};

        if (!folder || pci->n_ports == PORTS_MAX || !read_port(folder, &p))
                return;
        if (port_is_known(pci, &p))
                return;
        pci->ports[pci->n_ports++] = p;
        p = (Port) {};
}

/* "0000:3b:00.0", but not "0000:3b:00.0:pcie204", a service of the port's own. */
static bool is_address(const char *name) {
        const char *dot = strrchr(name, '.');

        return dot && strlen(dot) == 2 &&
               strspn(name, "0123456789abcdef:") == (size_t) (dot - name);
}

/* Whether a bridge like one above a GPU has nothing below it: 1, 0 or negative errno. */
static int is_empty_slot(const Pci *pci, const char *device) {
        _cleanup_free_ char *folder = strf(PCI_DEVICES "/%s", device);
        _cleanup_strv_free_ char **below = NULL;
        _cleanup_(port_done) Port p = {};
        int r;

        if (!folder)
                return -ENOMEM;
        if (!has_class(device, "0x0604") || !read_port(folder, &p) || !port_is_known(pci, &p))
                return 0;
        r = fb_list(folder, &below);
        if (r < 0)
                return r;
        STRV_FOREACH (name, below)
                if (is_address(*name))
                        return 0;
        return 1;
}

int shape_read_pci(unsigned *ret_gpus, unsigned *ret_nvswitches, unsigned *ret_empty_slots) {
        _cleanup_(pci_done) Pci pci = {};
        unsigned gpus = 0, nvswitches = 0, empty = 0;
        int r;

        r = fb_list(PCI_DEVICES, &pci.names);
        if (r < 0)
                return r;
        STRV_FOREACH (name, pci.names) {
                nvswitches += is_nvswitch(*name);
                if (!is_gpu(*name))
                        continue;
                gpus++;
                note_port(&pci, *name);
        }
        STRV_FOREACH (name, pci.names) {
                r = is_empty_slot(&pci, *name);
                if (r < 0)
                        return r;
                empty += (unsigned) r;
        }
        *ret_gpus = gpus;
        *ret_nvswitches = nvswitches;
        *ret_empty_slots = empty;
        return 0;
}

int shape_gpu_addresses(char ***ret) {
        _cleanup_strv_free_ char **names = NULL, **gpus = NULL;
        int r;

        r = fb_list(PCI_DEVICES, &names);
        if (r < 0)
                return r;
        STRV_FOREACH (name, names) {
                r = is_gpu(*name) ? strv_extend(&gpus, *name) : 0;
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(gpus);
        return 0;
}

int gpus_on_pci(void) {
        unsigned gpus, nvswitches, empty;
        int r;

        r = shape_read_pci(&gpus, &nvswitches, &empty);
        return r < 0 ? r : (int) gpus;
}
