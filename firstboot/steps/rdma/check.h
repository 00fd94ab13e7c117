/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What is seen of RDMA against what the machine must have. No system calls: facts.c reads. */

#include "steps/rdma/facts.h"

typedef struct RdmaLimit {
        const char *name; /* of a file in counters or hw_counters, such as "symbol_error" */
        uint64_t max;
} RdmaLimit;

/* 0 and NULL: nothing is asked for. */
typedef struct RdmaWish {
        unsigned ports;
        double rate_gbps;
        const char *link_layer;
        char *const *devices; /* NULL: any */
        /* The devices must be called so; else, where none of them is there (udev may rename them),
         * number and kind of ports decide. */
        bool exact_names;
        const char *firmware;
        const RdmaLimit *limits;
        size_t n_limits;
        bool gid_per_device; /* NCCL finds the GID of each port by itself: none need be common */
        unsigned mtu;        /* of the network interfaces of Ethernet ports, bytes */
        bool acs_warns;      /* bridges that redirect: a defect, no failure */
        bool acs_ignored;
        bool pcie_warns; /* a narrow PCIe link is a defect, not a failure */
} RdmaWish;

typedef struct RdmaFinding {
        const char *code;
        char *device;  /* NULL: of the machine as a whole */
        unsigned port; /* 0: of the device */
        char *value, *limit;
        bool warns;
        bool may_pass; /* links train, addresses come: worth another look */
} RdmaFinding;

typedef struct RdmaVerdict {
        RdmaFinding *findings;
        size_t n;
        const RdmaPort **ports; /* that NCCL is to use: as asked for and active */
        size_t n_ports;
        size_t n_expected;
        int gid_index; /* one that is RoCE v2 on all of these ports; -1: none, or InfiniBand */
} RdmaVerdict;

void rdma_verdict_done(RdmaVerdict *v);

/* later: the same machine a moment later, to see which error counters grow; NULL: no second look.
 * The verdict points into facts. Returns 0 or -ENOMEM. */
int rdma_check(const RdmaFacts *facts, const RdmaFacts *later, const RdmaWish *wish,
                RdmaVerdict *ret);

/* "DEVICE port N: VALUE, should be LIMIT", with as much of the place as the finding has. NULL on
 * out of memory; the caller frees it. */
char *rdma_finding_text(const RdmaFinding *f);
