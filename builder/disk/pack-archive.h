/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A converted disk in the wrapping that a cloud wants. All take a readable disk image and an empty
 * file, and give the same bytes for the same disk. -ECANCELED after a Ctrl-C. Nothing is logged. */

#include "shared/macro.h"

/* One zstd frame with a checksum, made by all processors. */
int zstd_pack(int from, int to);

/* Google Cloud: a gzipped tar of GNU's format with disk.raw in it, whose size is a multiple of 1
 * GiB. https://cloud.google.com/compute/docs/import/import-existing-image */
int gce_pack(int from, int to);

/* Oracle Cloud: a tar with image_metadata.json (paravirtualized devices, UEFI) and output.QCOW2.
 * https://docs.oracle.com/iaas/Content/Compute/Tasks/imageimportexport.htm */
int oci_pack(int from, int to);
