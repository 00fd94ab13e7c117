/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Which shape this machine is: the table, the configuration, the cloud's metadata, the firmware
 * and the GPUs put together, for the steps that hold the machine to it. */

#include "steps/shape/shape.h"
#include "steps/common/step.h"

/* GPUs as a caller knows them better, by NVML. */
typedef struct ShapeGpus {
        const char *model; /* NULL where they differ or are not known */
        unsigned count;
        unsigned nvlinks; /* active ones of each GPU; 0: not known */
        ShapeLinks links;
} ShapeGpus;

typedef struct ShapeDetected {
        Shapes table;
        const Shape *shape; /* in table; NULL: unknown */
        ShapeSource by;
        char *why;       /* of an unknown one */
        char *gpu_model; /* what was looked for */
        unsigned gpus;
} ShapeDetected;

void shape_detected_done(ShapeDetected *d);

/* Without gpus, those that sysfs shows on PCI are counted, and the driver's
 * /proc/driver/nvidia/gpus asked for their model. A faulty table records shape.invalid; an unknown
 * shape records nothing. Adds the figure "shape" (name and how it was found). Returns 0 or
 * negative errno, -EPROTO where the verdict is in. */
int shape_detect(StepContext *c, const ShapeGpus *gpus, ShapeDetected *ret);

/* Records shape.unknown as shape.unknown of the configuration has it: -EPROTO for fail, 0 for
 * warn. */
int shape_unknown(StepContext *c, const ShapeDetected *d);

/* NVIDIA GPUs on PCI (vendor 10de, class 0300 or 0302): their number, or negative errno. */
int gpus_on_pci(void);

/* Their addresses in PCI's order, which is CUDA's with CUDA_DEVICE_ORDER=PCI_BUS_ID. 0 or negative
 * errno; the caller frees them. */
int shape_gpu_addresses(char ***ret);

/* What PCI shows besides: NVSwitches, and slots without anything in them that are like those of
 * the GPUs: bridges of the same kind and width as the one above a GPU. 0 or negative errno. */
int shape_read_pci(unsigned *ret_gpus, unsigned *ret_nvswitches, unsigned *ret_empty_slots);
