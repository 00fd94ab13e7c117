/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* lvm through firstboot-lvm. Every command names the disks it may see with --devices: nothing else
 * on the machine is read or written, whatever lvm.conf says. */

#include "shared/json-util.h"

typedef struct Lvm {
        char **devices; /* paths of the disks lvm may see */
} Lvm;

/* Runs `firstboot-lvm words… --devices …` and logs what it says. 0, or -EIO with lvm's last words
 * in *ret_last (caller frees), or another -errno. words is a NULL-terminated list of arguments. */
int lvm_run(const Lvm *l, char *const words[], char **ret_last);

/* What lvm knows of the physical volumes among the devices: a JSON list of objects with pv_name,
 * vg_name, vg_uuid, vg_tags, vg_missing_pv_count, lv_count. */
int lvm_report(const Lvm *l, json_object **ret);

/* What the report says of the physical volume on the device, by whatever name lvm knows it;
 * borrowed, NULL where the device is none. */
json_object *lvm_report_find(json_object *report, const char *device);

/* Whether a report's vg_name says that the physical volume belongs to a group whose metadata is on
 * no disk: power went while the group was made, or the disks that knew it are away. */
bool lvm_group_is_lost(const char *vg_name);
