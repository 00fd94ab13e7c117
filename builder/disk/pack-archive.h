/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A converted disk in the wrapping that a cloud wants. All take a readable disk image and an empty
 * file, and give the same bytes for the same disk. `uefi`: it boots by that,
 * else by BIOS. -ECANCELED after a Ctrl-C. Nothing is logged. */

#include "shared/macro.h"

/* One zstd frame with a checksum, made by all processors. */
int zstd_pack(int from, int to);

/* Google Cloud: a gzipped tar of GNU's format with disk.raw in it, whose size is a multiple of 1
 * GiB. https://cloud.google.com/compute/docs/import/import-existing-image */
int gce_pack(int from, int to);

/* Oracle Cloud: a tar with image_metadata.json (paravirtualized devices, firmware) and
 * output.QCOW2. https://docs.oracle.com/iaas/Content/Compute/Tasks/imageimportexport.htm */
int oci_pack(int from, int to, bool uefi);

/* vSphere and VirtualBox: a ustar archive of an OVF descriptor, a manifest of SHA-256 sums and the
 * disk, which is a stream-optimized VMDK below 8 GiB (-EFBIG for a larger one). The machine has 4
 * processors, 8 GiB of memory, its firmware, the disk at an AHCI controller and a VMXNET3 card.
 * DMTF DSP0243. */
int ova_pack(int from, int to, bool uefi);

/* Any registry: a tar of an OCI image layout with one artifact in it, the qcow2 image as
 * disk.qcow2, tagged "latest". OCI's image specification, "Image Layout". */
int artifact_pack(int from, int to);
