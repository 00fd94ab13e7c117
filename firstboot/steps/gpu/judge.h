/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* From facts to findings: what is wrong with which GPU, against which limit, and what to do. Pure:
 * it asks nothing and changes nothing. What was not read, or is not supported, never passes unless
 * the wish says so. */

#include "steps/gpu/facts.h"
#include "steps/gpu/xid.h"

/* The more serious one comes first: the verdict's code is that of the first. */
typedef enum GpuCode {
        GPU_CODE_NO_DRIVER,
        GPU_CODE_NONE,
        GPU_CODE_LIBRARY,
        GPU_CODE_SYMBOL,
        GPU_CODE_TIMEOUT,
        GPU_CODE_CRASHED,
        GPU_CODE_VERSION,
        GPU_CODE_NVML,
        GPU_CODE_LOST,
        GPU_CODE_UNBOUND,
        GPU_CODE_COUNT,
        GPU_CODE_VGPU,
        GPU_CODE_CONSUMER,
        GPU_CODE_MIG,
        GPU_CODE_XID,
        GPU_CODE_REMAP_FAILED,
        GPU_CODE_SRAM,
        GPU_CODE_ECC_ERRORS,
        GPU_CODE_ECC_OFF,
        GPU_CODE_REMAP_PENDING,
        GPU_CODE_REMAPPED_ROWS,
        GPU_CODE_PAGES_RETIRED,
        GPU_CODE_PAGES_PENDING,
        GPU_CODE_RECOVERY,
        GPU_CODE_PCIE_WIDTH,
        GPU_CODE_PCIE_GENERATION,
        GPU_CODE_PCIE_ERRORS,
        GPU_CODE_FABRIC_VERSION,
        GPU_CODE_FABRIC_MANAGER,
        GPU_CODE_NVLINK_DOWN,
        GPU_CODE_NVLINK_ERRORS,
        GPU_CODE_FABRIC,
        GPU_CODE_IMEX,
        GPU_CODE_CLOCKS,
        GPU_CODE_CLOCKS_LOCKED,
        GPU_CODE_POWER_LIMIT,
        GPU_CODE_TEMPERATURE,
        GPU_CODE_PERSISTENCE,
        GPU_CODE_CUDA,
        GPU_CODE_BANDWIDTH,
        GPU_CODE_LOAD,
        GPU_CODE_SLOW,
        GPU_CODE_NOT_SUPPORTED,
        GPU_CODE_KERNEL_LOG,
        GPU_CODES_N,
} GpuCode;
extern const char *const gpu_code_names[GPU_CODES_N]; /* "gpu.count" … */

typedef enum GpuEccWish {
        GPU_ECC_ON,           /* must be on */
        GPU_ECC_IF_SUPPORTED, /* must be on where the GPU has it */
        GPU_ECC_ANY,
} GpuEccWish;

typedef enum GpuFabricWish {
        GPU_FABRIC_AUTO, /* where NVSwitches are seen, on PCI or at a link's other end */
        GPU_FABRIC_ON,
        GPU_FABRIC_OFF,
} GpuFabricWish;

typedef enum GpuMigWish {
        GPU_MIG_OFF, /* no GPU may be divided */
        GPU_MIG_ON,  /* each must be, into one part at least */
        GPU_MIG_ANY,
} GpuMigWish;

typedef struct GpuWish {
        int count;           /* GPUs there must be; -1: as many as PCI shows */
        int nvlinks;         /* active links of each GPU; -1: as many as the best of them has */
        int pcie_generation; /* 0: what NVML calls the most that GPU and system can */
        int pcie_width;
        GpuEccWish ecc;
        GpuFabricWish fabric;
        GpuMigWish mig;
        bool vgpu, consumer; /* are let pass, with what they do not tell */
        bool imex;           /* must run where NVLinks leave the node */
        bool persistence, bandwidth, load;
        int64_t ecc_volatile_max, ecc_aggregate_max; /* uncorrectable errors */
        int64_t sram_max;     /* uncorrectable errors of the SRAM in the GPU's life */
        int64_t remapped_max; /* rows */
        int64_t retired_pages_max;
        int64_t pcie_replays_max;  /* during the load */
        int64_t nvlink_errors_max; /* of a link since the driver was loaded: replays, recoveries */
        int64_t nvlink_crc_max;    /* CRC errors of a link a second */
        int64_t temperature_max;   /* °C; 0: the GPU's own threshold */
        int64_t h2d_min, d2h_min;  /* MB/s (10⁶); 0: bandwidth_percent of the link's rate */
        int64_t bandwidth_percent; /* 0: the floor of the link's generation (gpu_pcie_floor()) */
        int64_t clock_percent;     /* of the highest clock, under load with nothing against it */
        int64_t power_percent;     /* of the default power limit */
        int64_t spread_percent;    /* of what the middle one of the node's GPUs reaches */
        const unsigned *xid_ignore;
        size_t n_xid_ignore;
        uint64_t allow_unsupported; /* bits 1 << GpuFactId */
} GpuWish;

/* The defaults of docs/node-config.md. */
GpuWish gpu_wish_default(void);

typedef struct GpuFinding {
        GpuCode code;
        GpuAction action;
        bool transient; /* may pass: worth trying again */
        int gpu;        /* NVML's index; -1: of the node, or of a GPU that NVML does not show */
        char uuid[96], serial[32], pci[32];
        bool has_value, has_limit;
        int64_t value, limit;
        char text[200]; /* "16 NVLinks are active, 18 expected" */
} GpuFinding;

typedef struct GpuFindings {
        GpuFinding *items;
        size_t n;
} GpuFindings;

void gpu_findings_done(GpuFindings *f);
#define _cleanup_gpu_findings_ _cleanup_(gpu_findings_done)

/* The findings, most serious first. 0 or -ENOMEM. */
int gpu_judge(const GpuFacts *facts, const GpuWish *wish, GpuFindings *ret);

/* Whether GPUs are tied together by NVSwitches, as far as the facts and the wish tell. */
bool gpu_has_fabric(const GpuFacts *facts, const GpuWish *wish);

/* Bytes a second that a PCIe link carries in one direction, in MB/s (10⁶): lanes × transfer rate ×
 * line code (PCI Express Base Specification 6.0: 8b/10b to generation 2, 128b/130b to 5, 242/256
 * for 6). 0 for a generation that is not known. */
int64_t gpu_pcie_rate(int generation, int width);

/* Least bandwidth of such a link in MB/s, where the configuration has none. */
int64_t gpu_pcie_floor(int generation, int width);

/* "GPU 3 (GPU-…, serial 165…, 0000:3b:00.0): TEXT"; the caller frees it. */
char *gpu_finding_sentence(const GpuFinding *f);
