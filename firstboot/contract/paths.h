/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Where everything lies. FIRSTBOOT_ROOT (for tests; ignored in set-uid programs) goes before each
 * path. */

#include "shared/macro.h"

#define PATH_BAKED_CONFIG "/etc/firstboot/node.json"
#define PATH_CONFIG_DROPINS "/etc/firstboot/conf.d"
#define PATH_SITE_STEPS "/etc/firstboot/steps.d"
#define PATH_STEPS "/usr/lib/firstboot/steps.d"
#define PATH_SHAPES "/usr/lib/firstboot/shapes.json"
#define PATH_SITE_SHAPES "/etc/firstboot/shapes.d"
#define PATH_HELPER "/usr/lib/firstboot/firstboot-helper"
#define PATH_STEP "/usr/lib/firstboot/firstboot-step"
#define PATH_LVM "/usr/lib/firstboot/firstboot-lvm"
#define PATH_STATE_FOLDER "/var/lib/firstboot"
#define PATH_STATE "/var/lib/firstboot/state.json"
#define PATH_SCRATCH_RECORD "/var/lib/firstboot/scratch.json"
#define PATH_RUN "/run/firstboot"
#define PATH_RUN_CONFIG "/run/firstboot/config.json"
#define PATH_RUN_STATUS "/run/firstboot/status.json"
/* Its place while /run has no room for it (contract/status-file.h). */
#define PATH_SPARE_STATUS "/var/lib/firstboot/status.json"
#define PATH_RUN_RESULTS "/run/firstboot/results"
#define PATH_RUN_SECTIONS "/run/firstboot/sections"
#define PATH_RUN_CHECK "/run/firstboot/check"
/* Written and removed, as a proof that there is room (contract/room.h). */
#define PATH_RUN_ROOM "/run/firstboot/room"
#define PATH_READY "/run/firstboot/ready"
/* /etc/nccl.conf for programs in containers: a CDI specification, and a file to be mounted. */
#define PATH_CDI_NCCL "/run/cdi/imgbuild-nccl.json"
#define PATH_NCCL_POD "/run/firstboot/nccl-pod.conf"
/* The verdict that was announced in full: the file above, the units, the journal. */
#define PATH_RUN_ANNOUNCED "/run/firstboot/announced"
/* There while what is on record at PATH_STATE is older than what was to be put there. */
#define PATH_RUN_UNSAVED "/run/firstboot/unsaved"
/* Either: contract/drained.h. */
#define PATH_RUN_DRAINED "/run/firstboot/drained"
#define PATH_SPARE_DRAINED "/var/lib/firstboot/drained"
#define PATH_SLURMD_PERMIT "/run/firstboot/slurmd-permit"
/* There on a node that is ready and whose step has nothing to do: its daemon is the admin's. */
#define PATH_SLURMD_BY_HAND "/run/firstboot/slurmd-by-hand"
#define PATH_SLURMD_ENV "/run/firstboot/slurmd.env"
#define PATH_SLURM_CLIENT_CONF "/run/firstboot/slurm-client.conf"
#define PATH_KUBELET_PERMIT "/run/firstboot/kubelet-permit"
#define PATH_KUBELET_BY_HAND "/run/firstboot/kubelet-by-hand"
#define PATH_KUBEADM_JOIN "/run/firstboot/kubeadm-join.json"
/* kubeadm's and kubelet's own. */
#define PATH_KUBELET_CONF "/etc/kubernetes/kubelet.conf"
#define PATH_CLOUD_INIT_DATA "/run/cloud-init/instance-data.json"
#define PATH_CLOUD_INIT_COMBINED "/run/cloud-init/combined-cloud-config.json"
#define PATH_CLOUD_INIT_RESULT "/run/cloud-init/result.json"
#define PATH_CLOUD_INIT_STATUS "/run/cloud-init/status.json"
#define PATH_CLOUD_INIT_ENABLED "/run/cloud-init/enabled" /* made by its generator */

/* systemd's manager on the bus: org.freedesktop.systemd1(5). */
#define SYSTEMD "org.freedesktop.systemd1"
#define SYSTEMD_PATH "/org/freedesktop/systemd1"
#define SYSTEMD_MANAGER "org.freedesktop.systemd1.Manager"

#define DBUS_NAME "org.imgbuild.FirstBoot1"
#define DBUS_PATH "/org/imgbuild/FirstBoot1"
#define DBUS_MANAGER DBUS_NAME ".Manager"
#define DBUS_STEP DBUS_NAME ".Step"

/* What Manager.Rerun takes beside a step's name; no step has the second one's colon. */
#define RERUN_ALL "all" /* the configuration is gathered afresh, and every step runs */
#define RERUN_CHANGES \
        "config:changes" /* the same, but of the steps those that what differs concerns */

/* The path with the test root before it; NULL on out of memory. The caller frees it. */
char *fb_path(const char *path);

/* The same for a printf format. */
char *fb_pathf(const char *format, ...) _printf_(1, 2);

/* Sorted names in a folder below the test root (of sysfs, say), without those that begin with
 * a dot; NULL for none. A folder that is not there has none. Negative errno; the caller frees
 * them. */
int fb_list(const char *folder, char ***ret);
