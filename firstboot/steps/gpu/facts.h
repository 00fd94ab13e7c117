/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What is known of a node's GPUs: PCI as the kernel shows it, NVML's answers, the kernel log, and
 * the bandwidth measured. Everything is of fixed size and without pointers, so that the whole can
 * lie in memory shared with a child that may be killed at any moment. All bytes zero means
 * "nothing was read", and nothing that was not read ever passes (judge.c).
 *
 * Needs the C library alone: firstboot-gpu-facts is built from it on machines that have no json-c
 * and no libsystemd. */

#include "shared/macro.h"

#define GPUS_MAX 64
#define GPU_LINKS_MAX 36 /* NVML_NVLINK_MAX_LINKS of CUDA 13.3's nvml.h; 18 up to 13.2 */
#define GPU_XIDS_MAX 256

typedef enum GpuFactId {
        GPU_ARCHITECTURE,
        GPU_PERSISTENCE,
        GPU_MIG,
        GPU_MIG_PENDING,
        GPU_MIG_DEVICES,
        GPU_VIRTUALIZATION,
        GPU_BRAND,
        GPU_ECC,
        GPU_ECC_PENDING,
        GPU_ECC_VOLATILE,
        GPU_ECC_AGGREGATE,
        GPU_SRAM_THRESHOLD,
        GPU_SRAM_VOLATILE,
        GPU_SRAM_AGGREGATE,
        GPU_REMAPPED_CORRECTABLE,
        GPU_REMAPPED_UNCORRECTABLE,
        GPU_REMAP_PENDING,
        GPU_REMAP_FAILED,
        GPU_RETIRED_SINGLE_BIT,
        GPU_RETIRED_DOUBLE_BIT,
        GPU_RETIRED_PENDING,
        GPU_PCIE_GENERATION,
        GPU_PCIE_GENERATION_MAX,
        GPU_PCIE_GENERATION_DEVICE,
        GPU_PCIE_GENERATION_LOAD,
        GPU_PCIE_WIDTH,
        GPU_PCIE_WIDTH_MAX,
        GPU_PCIE_REPLAYS,
        GPU_CLOCK_REASONS,
        GPU_CLOCK_REASONS_LOAD,
        GPU_CLOCK_MAX,
        GPU_CLOCK_LOAD,
        GPU_CLOCK_LOAD_FREE,
        GPU_POWER_LIMIT,
        GPU_POWER_LIMIT_DEFAULT,
        GPU_TEMPERATURE,
        GPU_TEMPERATURE_MARGIN,
        GPU_TEMPERATURE_SLOWDOWN,
        GPU_RECOVERY_ACTION,
        GPU_FABRIC_STATE,
        GPU_FABRIC_STATUS,
        GPU_FABRIC_HEALTH,
        GPU_FABRIC_SUMMARY,
        GPU_CLIQUE,
        GPU_H2D,
        GPU_D2H,
        GPU_FACTS_N,
} GpuFactId;

typedef enum GpuFactState {
        GPU_NOT_READ,  /* nobody asked, or the answer did not come */
        GPU_READ,      /* value holds */
        GPU_ERROR,     /* NVML or CUDA answered an error: its number in error */
        GPU_NO_SYMBOL, /* the library lacks the function */
} GpuFactState;

typedef struct GpuFact {
        GpuFactState state;
        int error;
        int64_t value;
} GpuFact;

/* Name of a fact in figures and on paper, its unit ("" where none) and the function it is from. */
typedef struct GpuFactName {
        const char *name, *unit, *symbol;
} GpuFactName;
extern const GpuFactName gpu_fact_names[GPU_FACTS_N];

typedef enum GpuLinkCounter {
        GPU_LINK_REPLAY,
        GPU_LINK_RECOVERY,
        GPU_LINK_CRC_FLIT,
        GPU_LINK_CRC_DATA,
        GPU_LINK_COUNTERS_N,
} GpuLinkCounter;
extern const char *const gpu_link_counter_names[GPU_LINK_COUNTERS_N];

typedef struct GpuLink {
        GpuFact active;      /* 1 or 0; an error for a link that the GPU does not have */
        GpuFact remote_type; /* NVML_NVLINK_DEVICE_TYPE_… */
        char remote[32];     /* PCI address at the other end; empty: not known */
        GpuFact counters[GPU_LINK_COUNTERS_N];
} GpuLink;

typedef struct Gpu {
        int error; /* of nvmlDeviceGetHandleByIndex; then nothing else is known */
        bool read; /* all questions were asked */
        char name[96], uuid[96], serial[32], vbios[32];
        char pci[32];     /* "0000:3b:00.0" as sysfs writes it */
        char cluster[37]; /* UUID of the NVLink domain beyond this node; empty: there is none */
        GpuFact facts[GPU_FACTS_N];
        GpuLink links[GPU_LINKS_MAX];
        int cuda_error; /* of the CUDA call that failed, with its name */
        char cuda_call[64];
} Gpu;

typedef struct GpuPci {
        char address[32]; /* "0000:3b:00.0" */
        char driver[32];  /* "nvidia"; empty: none has it */
        unsigned device;  /* PCI device id */
} GpuPci;

typedef struct GpuXid {
        char pci[32]; /* "0000:3b:00", as far as the driver gives it */
        unsigned xid;
        bool is_switch, fatal; /* an NVSwitch's SXid, and whether it calls itself fatal */
        bool cured;            /* a reset that cures it came later */
        bool tells_recovery;   /* Xid 154: … */
        int recovery;          /* … the action that the driver asks for since then */
        char text[160];
} GpuXid;

/* How far a child that asks a library came. */
typedef enum GpuPhaseState {
        GPU_PHASE_NONE, /* not begun */
        GPU_PHASE_DONE,
        GPU_PHASE_NO_LIBRARY,
        GPU_PHASE_NO_SYMBOL,
        GPU_PHASE_FAILED, /* error: NVML's or CUDA's */
        GPU_PHASE_TIMEOUT,
        GPU_PHASE_CRASHED, /* error: the signal */
} GpuPhaseState;

typedef struct GpuPhase {
        GpuPhaseState state;
        int error;
        int gpu;       /* being asked; -1: none */
        char call[64]; /* the library's function it was in last */
        char text[160];
} GpuPhase;

/* Counters as they were before the load. */
typedef enum GpuCounter {
        GPU_COUNT_ECC,
        GPU_COUNT_SRAM,
        GPU_COUNT_PCIE_REPLAYS,
        GPU_COUNT_LINK_ERRORS, /* replays and recoveries of all links */
        GPU_COUNT_LINK_CRC,
        GPU_COUNTERS_N,
} GpuCounter;

typedef struct GpuPair {
        uint8_t from, to;
        double gbps; /* 10⁹ bytes a second */
} GpuPair;

#define GPU_PAIRS_MAX (GPUS_MAX * (GPUS_MAX - 1))

/* `ncclbench load`, and what the counters were before it. */
typedef struct GpuLoad {
        GpuPhaseState state;
        char text[160]; /* why it failed */
        uint64_t usec;  /* from the first counters to the last */
        GpuFact before[GPUS_MAX][GPU_COUNTERS_N];
        double hbm_gbps[GPUS_MAX], gemm_tflops[GPUS_MAX]; /* 0: not measured */
        unsigned n_pairs;
        GpuPair pairs[GPU_PAIRS_MAX];
        GpuPhase watch; /* the child that looks at the clocks meanwhile */
        bool over;      /* tells it to end */
} GpuLoad;

typedef enum GpuServiceState {
        GPU_SERVICE_NOT_ASKED,
        GPU_SERVICE_RUNNING,
        GPU_SERVICE_FAILED,
        GPU_SERVICE_ABSENT,
} GpuServiceState;

typedef struct GpuService {
        GpuServiceState state;
        char text[160];
        char version[64]; /* of nv-fabricmanager; empty: not known */
} GpuService;

typedef struct GpuFacts {
        /* sysfs */
        int pci_error; /* errno of reading it */
        unsigned n_pci, n_switches;
        GpuPci pci[GPUS_MAX];
        char module_version[64]; /* of the kernel module; empty: not loaded */

        /* NVML */
        uint64_t uptime_usec; /* for counters that only ever grow */
        GpuPhase nvml;
        char driver_version[80], nvml_version[80];
        unsigned n;
        Gpu gpus[GPUS_MAX];

        /* CUDA */
        GpuPhase cuda;

        /* kernel log since boot */
        int log_error;           /* errno */
        bool log_read, log_lost; /* lost: its beginning was overwritten */
        unsigned n_xids; /* that were seen and not cured when there was no more room; the first
                          * GPU_XIDS_MAX are kept */
        GpuXid xids[GPU_XIDS_MAX];

        GpuLoad load;

        GpuService persistenced, fabric_manager, imex;
        bool imex_channel; /* there is a channel for applications */
} GpuFacts;

/* An all-zero GpuFacts in memory that forked children share; NULL on out of memory. */
GpuFacts *gpu_facts_new(void);
GpuFacts *gpu_facts_free(GpuFacts *f);
DEFINE_CLEANUP(GpuFacts *, gpu_facts_free);
#define _cleanup_gpu_facts_ _cleanup_(gpu_facts_freep)

static inline bool gpu_fact_known(const Gpu *g, GpuFactId id) {
        return g->facts[id].state == GPU_READ;
}

/* Runs ask() in a child that ends with it, or is killed when the time is over: *phase then says
 * which call it was in. ask() sets phase->state. Never waits longer than the limit and a second. */
void gpu_ask(GpuFacts *f, GpuPhase *phase,
                void (*ask)(GpuFacts *f, GpuPhase *phase, void *userdata), void *userdata,
                uint64_t timeout_usec);

/* The same in two halves: between them the caller does something else. */
typedef struct GpuChild {
        pid_t pid;
        int pidfd;
} GpuChild;
GpuChild gpu_ask_begin(GpuFacts *f, GpuPhase *phase,
                void (*ask)(GpuFacts *f, GpuPhase *phase, void *userdata), void *userdata);
void gpu_ask_end(GpuPhase *phase, GpuChild child, uint64_t timeout_usec);

/* A counter of a GPU as it is now. */
GpuFact gpu_counter(const Gpu *g, GpuCounter counter);

/* Notes which function is called next, for which GPU (-1: none). */
void gpu_phase_enter(GpuPhase *phase, const char *call, int gpu);

/* Sets how the phase ended. */
void gpu_phase_end(GpuPhase *phase, GpuPhaseState state, int error, const char *format, ...)
                _printf_(4, 5);

/* One line a fact, "KEY=VALUE"; "gpu.0.ecc=error 3" where it could not be read. */
void gpu_facts_print(const GpuFacts *f, FILE *to);
