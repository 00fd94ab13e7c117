/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What /sys/class/infiniband shows. Attributes by the kernel's
 * Documentation/ABI/stable/sysfs-class-infiniband; one that cannot be read is NULL (or 0). */

#include "shared/strv.h"

/* An entry of a port's GID table that is in use. */
typedef struct RdmaGid {
        unsigned index;
        bool roce_v2;
        bool ipv4; /* IPv4-mapped: ::ffff:a.b.c.d */
} RdmaGid;

typedef struct RdmaCounter {
        char *name; /* "counters/symbol_error", "hw_counters/out_of_sequence" */
        bool readable;
        uint64_t value;
} RdmaCounter;

typedef struct RdmaPort {
        char *device; /* "mlx5_0" */
        unsigned port;
        bool alone;       /* the device has no other port */
        char *state;      /* "4: ACTIVE" */
        char *phys_state; /* "5: LinkUp" */
        char *link_layer; /* "InfiniBand", "Ethernet", "Unknown" */
        char *rate;       /* "400 Gb/sec (4X NDR)" */
        double rate_gbps; /* 10⁹ bits a second */
        char *netdev;     /* of its first GID */
        unsigned mtu;     /* of that interface, bytes; 0: not known */
        RdmaGid *gids;
        size_t n_gids;
        RdmaCounter *counters;
        size_t n_counters;
} RdmaPort;

typedef struct RdmaDevice {
        char *name;
        char *firmware;              /* "28.39.1002" */
        char *type;                  /* hca_type "MT4129" and board_id, to compare like with like */
        char *pci;                   /* "0000:0c:00.0" */
        unsigned width, width_limit; /* PCIe lanes now, and what card and slot can; 0: not shown */
        double speed, speed_limit;   /* GT/s, likewise */
        char *redirecting; /* the nearest bridge above it that redirects by ACS, or NULL */
} RdmaDevice;

typedef struct RdmaFacts {
        RdmaDevice *devices;
        size_t n_devices;
        RdmaPort *ports;
        size_t n_ports;
        char **away; /* devices in other network namespaces, by name */
        size_t n_away_ports;
} RdmaFacts;

void rdma_facts_done(RdmaFacts *f);

/* Adds the devices that are in other network namespaces. 0 or -ENOMEM. */
int rdma_facts_add_away(RdmaFacts *f);

/* No RDMA device at all is no error. Returns 0 or negative errno. */
int rdma_facts(RdmaFacts *ret);

const RdmaDevice *rdma_facts_device(const RdmaFacts *f, const char *name);
const RdmaPort *rdma_facts_port(const RdmaFacts *f, const char *device, unsigned port);
const RdmaCounter *rdma_port_counter(const RdmaPort *p, const char *name);
