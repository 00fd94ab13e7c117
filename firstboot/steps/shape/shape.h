/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The table of shapes: what a machine of a kind must have. Data, in /usr/lib/firstboot/shapes.json
 * and a site's files in /etc/firstboot/shapes.d, where a shape replaces a shipped one of the same
 * name. docs/shapes.md explains the keys. */

#include "shared/json-util.h"
#include "shared/strv.h"

#define SHAPE_NOT_SAID (-1)

/* A bus bandwidth of all_reduce that somebody has published. */
typedef struct ShapeBusbw {
        int nodes;      /* 1 or 2 */
        uint64_t bytes; /* size of the operation */
        double gbps;    /* 10⁹ bytes a second */
        bool gate;      /* a limit somebody gates on; else what a run measured */
        bool nvls;      /* holds with NVLink multicast (NVLS) alone */
        char *source;
} ShapeBusbw;

typedef struct Shape {
        char *name;
        char *provider;  /* "oci", "aws", "azure" or a site's own word; NULL: any host */
        char **instance; /* what the cloud's metadata calls it; at least the name itself */
        char **dmi;      /* the firmware's product_name, as shell patterns */

        /* SHAPE_NOT_SAID where the table does not say; so with all numbers below. */
        int gpus;
        char **gpu_models; /* as NVML has it ("NVIDIA H100 80GB HBM3"), as shell patterns */
        int nvswitches;    /* that PCI shows */
        int nvme_disks;
        int nvlinks;        /* of each GPU */
        double nvlink_gbps; /* of each link in each direction, 10⁹ bytes a second; 0: not said */

        int rdma_ports;
        int rdma_rate_gbps;    /* of each port, 10⁹ bits a second */
        char *rdma_link_layer; /* "Ethernet", "InfiniBand"; NULL: not said */
        char **rdma_devices;   /* which of the devices are for RDMA between nodes; NULL: all */

        char **nccl_env; /* "NCCL_IB_TC=41" … */
        ShapeBusbw *busbw;
        size_t n_busbw;
        char *file; /* where it was read */
} Shape;

typedef struct Shapes {
        Shape *items;
        size_t n;
} Shapes;

void shapes_done(Shapes *s);

/* Adds the shapes of one document, which came from `file`. Returns 0; -EINVAL with *ret_error a
 * sentence that names file, shape and key (the caller frees it), and nothing added; -ENOMEM. */
int shapes_add(Shapes *s, json_object *document, const char *file, char **ret_error);

/* Reads the shipped table and the site's. As shapes_add(); a shipped table that is not there is an
 * error too. */
int shapes_load(Shapes *ret, char **ret_error);

/* Where the NVLinks of all GPUs lead. */
typedef enum ShapeLinks {
        SHAPE_LINKS_UNKNOWN,
        SHAPE_LINKS_NONE,
        SHAPE_LINKS_CLOSED,   /* each one is up and leads to a GPU that is there */
        SHAPE_LINKS_OPEN,     /* some are down, or lead to a GPU that is not there */
        SHAPE_LINKS_SWITCHED, /* to NVSwitches */
} ShapeLinks;

/* What is known of this machine; NULL and 0 for what is not. */
typedef struct ShapeFacts {
        const char *name;     /* shape.name of the configuration: settles it */
        const char *instance; /* instance.shape: the cloud's metadata */
        const char *provider; /* instance.cloud, or by DMI */
        const char *product;  /* DMI product_name */
        const char *gpu_model;
        unsigned gpus;
        unsigned nvlinks; /* active ones of each GPU */
        ShapeLinks links;
        unsigned nvswitches;  /* on PCI */
        unsigned empty_slots; /* on PCI, like those of the GPUs */
        bool virtual_machine; /* it may have been given fewer GPUs than its board has */
} ShapeFacts;

typedef enum ShapeSource {
        SHAPE_BY_NAME, /* the configuration */
        SHAPE_BY_METADATA,
        SHAPE_BY_DMI,
        SHAPE_BY_SWITCHES,
        SHAPE_BY_GPUS,
} ShapeSource;

const char *shape_source_name(ShapeSource s);

/* The first that fits, in the order of ShapeSource. By NVSwitches, their number and the GPUs' model
 * must be the shape's, and no more GPUs be there than it has: some may be missing. By GPUs, model,
 * count and (where known) links must be the shape's: shapes of the machine's provider come first,
 * then those of none; two that fit are no answer, nor is one that a larger machine would look like
 * after it lost GPUs. Returns NULL with *ret_why (the caller frees it; NULL on out of memory)
 * saying what was looked for. */
const Shape *shape_find(const Shapes *s, const ShapeFacts *f, ShapeSource *ret_by, char **ret_why);

/* The entry to hold one node (or two) to: a gate before a measurement, then the largest size of at
 * most max_bytes (0: any); with nvls false, those that need NVLink multicast are passed over. NULL
 * where there is none. */
const ShapeBusbw *shape_busbw(const Shape *s, int nodes, bool nvls, uint64_t max_bytes);

/* The value of a variable in the shape's NCCL environment; NULL where it is not there. */
const char *shape_env(const Shape *s, const char *key);
