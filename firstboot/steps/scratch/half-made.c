/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* All that lvm wrote on such a disk lies at its beginning: label, header of the metadata area,
 * text. The text goes first, so that whatever a power cut leaves of this is told by the header's
 * mark. */

#include "steps/scratch/half-made.h"
#include "shared/file-util.h"
#include "shared/json-util.h"
#include "shared/log.h"
#include "steps/scratch/hold.h"

#include <fcntl.h>

/* Sector 0 to 3: the label. Byte 4096: the header, a sector. */
#define HEADERS_BYTES (8 * 1024)
/* Where lvm begins to hand out extents. */
#define AREA_BYTES (1024 * 1024)

static int clear_area(int fd) {
        int r = write_zeros(fd, HEADERS_BYTES, AREA_BYTES - HEADERS_BYTES);

        return r < 0 ? r : write_zeros(fd, 0, HEADERS_BYTES);
}

static int clear_disk(const ScratchVolume *v, const Disk *disk, const char *device) {
        _cleanup_close_ int fd = open(device, O_RDWR | O_CLOEXEC | O_NONBLOCK);
        int r = fd < 0 ? -errno : clear_area(fd);

        if (r < 0)
                return step_fail_later(v->context, "scratch.lvm", "%s: %s", device, strerror(-r));
        log_info("Power went while %s (serial %s) was put into a volume group: begun anew.", device,
                        disk->serial);
        return 0;
}

/* Whether lvm, asked again, still finds no metadata of the group on any disk. */
static int check_disk(
                const ScratchVolume *v, json_object *report, const Disk *disk, const char *device) {
        json_object *o = lvm_report_find(report, device);

        if (o && lvm_group_is_lost(json_get_string(o, "vg_name")))
                return 0;
        return hold_changed(v, disk, device);
}

/* Checks the disks whose group was lost, where there is a report, or clears them. */
static int for_lost(const ScratchVolume *v, json_object *report) {
        for (size_t i = 0; i < v->plan->n_use; i++) {
                const DiskFacts *f = &v->facts[v->plan->use[i]];
                _cleanup_free_ char *device = NULL;
                int r;

                if (!f->vg_lost)
                        continue;
                device = disk_device(f->disk);
                if (!device)
                        return -ENOMEM;
                r = report ? check_disk(v, report, f->disk, device)
                           : clear_disk(v, f->disk, device);
                if (r < 0)
                        return r;
        }
        return 0;
}

static bool any_lost(const ScratchVolume *v) {
        for (size_t i = 0; i < v->plan->n_use; i++)
                if (v->facts[v->plan->use[i]].vg_lost)
                        return true;
        return false;
}

int half_made_clear(const ScratchVolume *v) {
        _cleanup_json_ json_object *report = NULL;
        int r;

        if (!any_lost(v))
                return 0;
        r = scratch_volume_report(v, &report);
        if (r < 0)
                return r;
        /* All of them first: where one has changed, none is written to. */
        r = for_lost(v, report);
        return r < 0 ? r : for_lost(v, NULL);
}
