/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A namespace belongs to a controller or, with the kernel's native multipath, to a subsystem of
 * one or more controllers; only controllers have a transport. */

#include "steps/common/nvme.h"
#include "contract/paths.h"
#include "shared/strv.h"
#include "steps/common/sysfs.h"

#include <fnmatch.h>

/* Network volumes that appear as NVMe over PCIe. Sources: AWS "Amazon EBS and NVMe on Linux
 * instances" (instance store is "Amazon EC2 NVMe Instance Storage"), Google "About Local SSD" and
 * its guest udev rules (local disks are "nvme_card"), Azure "Remote NVMe disks" (local ones are
 * "Microsoft NVMe Direct Disk"), Alibaba Cloud "Elastic Block Storage". */
static const char *const network_models[] = {
        "Amazon Elastic Block Store*",
        "nvme_card-pd",
        "MSFT NVMe Accelerator*",
        "Alibaba Cloud Elastic Block Storage*",
        "Alibaba Cloud EBS*",
};

/* Makers of controllers in software, by their PCI vendor (pci.ids), and the model that is a local
 * disk with them (sources as above). NULL: none is known. */
static const struct {
        const char *vendor, *local_model;
} makers[] = {
        { "0x1b36", NULL },                               /* Red Hat: QEMU */
        { "0x1af4", NULL },                               /* Red Hat: virtio */
        { "0x15ad", NULL },                               /* VMware */
        { "0x80ee", NULL },                               /* VirtualBox */
        { "0x15b3", NULL },                               /* NVIDIA: BlueField SNAP */
        { "0x1dd8", NULL },                               /* AMD Pensando */
        { "0x1ded", NULL },                               /* Alibaba */
        { "0x1d0f", "Amazon EC2 NVMe Instance Storage" }, /* Amazon: Nitro */
        { "0x1ae0", "nvme_card" },                        /* Google */
        { "0x1414", "Microsoft NVMe Direct Disk*" },      /* Microsoft */
};

/* The same where the vendor is not known. */
static const char *const emulated_models[] = {
        "QEMU NVMe Ctrl*",
        "VMware Virtual NVMe Disk*",
        "ORCL-VBOX-NVME*",
        "*[Bb]lue[Ff]ield*",
};

void nvme_done(Nvme *n) {
        free(n->model);
        free(n->serial);
        free(n->wwid);
        free(n->vendor);
        *n = (Nvme) {};
}

static bool matches_any(const char *const *patterns, size_t n, const char *model) {
        for (size_t i = 0; i < n; i++)
                if (fnmatch(patterns[i], model, 0) == 0)
                        return true;
        return false;
}

bool model_is_network(const char *model) {
        return matches_any(network_models, ELEMENTSOF(network_models), model);
}

bool nvme_is_emulated(const Nvme *n) {
        for (size_t i = 0; n->vendor && i < ELEMENTSOF(makers); i++)
                if (streq(makers[i].vendor, n->vendor))
                        return !makers[i].local_model ||
                               fnmatch(makers[i].local_model, n->model, 0) != 0;
        return matches_any(emulated_models, ELEMENTSOF(emulated_models), n->model);
}

static bool is_pcie(const char *controller) {
        _cleanup_free_ char *transport = sysfs_string(controller, "transport");

        return streq_ptr(transport, "pcie");
}

/* "nvme0", but not "nvme0n1" or "nvme0c0n1". */
static bool is_controller(const char *name) {
        const char *digits = startswith(name, "nvme");

        return digits && digits[0] && digits[strspn(digits, "0123456789")] == '\0';
}

static void take_vendor(Nvme *n, const char *controller) {
        if (!n->vendor)
                n->vendor = sysfs_string(controller, "device/vendor");
}

/* A subsystem's controllers: a single one that is not on PCIe, or none at all, and the namespace
 * is not ours. */
static int look_at_controllers(const char *device, Nvme *n) {
        _cleanup_strv_free_ char **names = NULL;
        int r;

        r = fb_list(device, &names);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        bool any = false, all = true;
        STRV_FOREACH (name, names) {
                _cleanup_free_ char *controller = strf("%s/%s", device, *name);

                if (!controller)
                        return -ENOMEM;
                if (!is_controller(*name))
                        continue;
                any = true;
                all = all && is_pcie(controller);
                take_vendor(n, controller);
        }
        n->local = any && all;
        return 0;
}

int nvme_read(const char *folder, Nvme *ret) {
        _cleanup_free_ char *device = strf("%s/device", folder), *transport = NULL;
        _cleanup_(nvme_done) Nvme n = {};
        int r;

        if (!device)
                return -ENOMEM;
        n.model = sysfs_string(device, "model");
        n.serial = sysfs_string(device, "serial");
        if (!n.model || !n.serial)
                return 0;
        n.wwid = sysfs_string(folder, "wwid");

        transport = sysfs_string(device, "transport");
        if (transport) {
                n.local = streq(transport, "pcie");
                take_vendor(&n, device);
        } else {
                r = look_at_controllers(device, &n);
                if (r < 0)
                        return r;
        }
        *ret = n;
        n = (Nvme) {};
        return 1;
}
