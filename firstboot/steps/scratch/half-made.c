/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* All that lvm wrote on such a disk lies at its beginning: label, header of the metadata area, text.
 * The text goes first, so that whatever a power cut leaves of this is told by the header's mark. */

#include "steps/scratch/half-made.h"
#include "shared/file-util.h"
#include "shared/json-util.h"
#include "shared/log.h"

#include <fcntl.h>

/* Sector 0 to 3: the label. Byte 4096: the header, a sector. */
#define HEADERS_BYTES (8 * 1024)
/* Where lvm begins to hand out extents. */
#define AREA_BYTES (1024 * 1024)

static int clear(int fd, off_t from, size_t size) {
        _cleanup_free_ char *zeros = calloc(1, size);
        int r;

        if (!zeros)
                return -ENOMEM;
        r = lseek(fd, from, SEEK_SET) < 0 ? -errno : write_all(fd, zeros, size);
        return r < 0 ? r : fsync(fd) < 0 ? -errno : 0;
}

static int clear_area(int fd) {
        int r = clear(fd, HEADERS_BYTES, AREA_BYTES - HEADERS_BYTES);

        return r < 0 ? r : clear(fd, 0, HEADERS_BYTES);
}

static int clear_label(const ScratchVolume *v, const char *device) {
        _cleanup_close_ int fd = open(device, O_RDWR | O_CLOEXEC | O_NONBLOCK);
        int r = fd < 0 ? -errno : clear_area(fd);

        return r < 0 ? step_fail_later(v->context, "scratch.lvm", "%s: %s", device, strerror(-r))
                     : 0;
}

/* Whether lvm, asked again, still finds no metadata of the group on any disk. */
static bool is_still_lost(json_object *report, const char *device) {
        for (size_t i = 0; i < json_object_array_length(report); i++) {
                json_object *o = json_object_array_get_idx(report, i);
                const char *pv = json_get_string(o, "pv_name");

                if (pv && (streq(pv, device) || same_block_device(pv, device)))
                        return lvm_group_is_lost(json_get_string(o, "vg_name"));
        }
        return false;
}

static int clear_disk(const ScratchVolume *v, const Disk *disk) {
        _cleanup_json_ json_object *report = NULL;
        _cleanup_free_ char *device = disk_device(disk);
        int r;

        if (!device)
                return -ENOMEM;
        r = lvm_report(v->lvm, &report);
        if (r < 0)
                return step_fail_later(v->context, "scratch.lvm",
                                "LVM's report could not be read: %s", strerror(-r));
        if (!is_still_lost(report, device))
                return step_fail_later(v->context, "scratch.changed",
                                "%s (serial %s) was written to by somebody else while the volume was planned; "
                                "nothing was done",
                                device, disk->serial);
        log_info("Power went while %s (serial %s) was put into a volume group: begun anew.", device,
                        disk->serial);
        return clear_label(v, device);
}

int half_made_clear(const ScratchVolume *v) {
        for (size_t i = 0; i < v->plan->n_use; i++) {
                const DiskFacts *f = &v->facts[v->plan->use[i]];
                int r = f->vg_lost ? clear_disk(v, f->disk) : 0;

                if (r < 0)
                        return r;
        }
        return 0;
}
