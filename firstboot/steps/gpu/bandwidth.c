/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One GPU after the other: copies are timed by the GPU, the link is looked at under load. */

#include "steps/gpu/bandwidth.h"
#include "ncclbench/gpu-api.h"
#include "steps/gpu/nvml.h"

/* Copies of this size run at full rate (nvbandwidth measures with 512 MiB); some before the clock
 * starts, for a link that saved power takes a moment to be fast again. */
#define BYTES (64 * 1024 * 1024)
#define WARM_UP 4
#define COPIES 8
#define ROUNDS 3 /* the best counts: others use the host's memory too */
#define POLL_USEC 200

typedef struct Measure {
        const CudaApi *cuda;
        const NvmlApi *nvml; /* NULL: the generation is not asked */
        nvmlDevice_t device;
        GpuPhase *phase;
        Gpu *gpu;
        int index;
        CUstream stream;
        CUevent start, end;
        CUdeviceptr memory;
        void *host;
} Measure;

/* Notes the call; false where it failed. */
static bool good(Measure *m, CUresult r) {
        if (r == CUDA_SUCCESS)
                return true;
        m->gpu->cuda_error = r;
        snprintf(m->gpu->cuda_call, sizeof(m->gpu->cuda_call), "%.63s", m->phase->call);
        return false;
}

#define TRY(m, symbol, call) \
        (gpu_phase_enter((m)->phase, symbol, (m)->index), good(m, (m)->cuda->call))

static void see_generation(Measure *m) {
        GpuFact *f = &m->gpu->facts[GPU_PCIE_GENERATION_LOAD];
        unsigned now = 0;

        if (!m->nvml || !m->nvml->DeviceGetCurrPcieLinkGeneration)
                return;
        nvmlReturn_t r = m->nvml->DeviceGetCurrPcieLinkGeneration(m->device, &now);
        if (r == NVML_SUCCESS && (f->state != GPU_READ || f->value < now))
                *f = (GpuFact) { .state = GPU_READ, .value = now };
}

static bool enqueue(Measure *m, bool to_device) {
        return to_device ? TRY(m, "cuMemcpyHtoDAsync",
                                           MemcpyHtoDAsync(m->memory, m->host, BYTES, m->stream))
                         : TRY(m, "cuMemcpyDtoHAsync",
                                           MemcpyDtoHAsync(m->host, m->memory, BYTES, m->stream));
}

static bool wait_for_end(Measure *m) {
        CUresult r;

        gpu_phase_enter(m->phase, "cuStreamQuery", m->index);
        while ((r = m->cuda->StreamQuery(m->stream)) == CUDA_ERROR_NOT_READY)
                usleep(POLL_USEC);
        return good(m, r);
}

/* The GPU's own clock tells how long the copies took, however busy the host's processors are. The
 * first copy keeps the GPU at work while the others are handed over. */
static bool measure_round(Measure *m, bool to_device, float *ret_ms) {
        if (!enqueue(m, to_device) || !TRY(m, "cuEventRecord", EventRecord(m->start, m->stream)))
                return false;
        for (unsigned i = 0; i < COPIES; i++)
                if (!enqueue(m, to_device))
                        return false;
        return TRY(m, "cuEventRecord", EventRecord(m->end, m->stream)) && wait_for_end(m) &&
               TRY(m, "cuEventElapsedTime", EventElapsedTime(ret_ms, m->start, m->end));
}

static bool measure_direction(Measure *m, bool to_device, GpuFact *fact) {
        float best = 0;

        /* While the warm-up runs the link is seen under load. */
        for (unsigned i = 0; i < WARM_UP; i++) {
                if (!enqueue(m, to_device))
                        return false;
                see_generation(m);
        }
        if (!wait_for_end(m))
                return false;
        for (unsigned i = 0; i < ROUNDS; i++) {
                float ms = 0;

                if (!measure_round(m, to_device, &ms))
                        return false;
                if (ms > 0 && (best == 0 || ms < best))
                        best = ms;
        }
        see_generation(m);
        /* A clock that stood still has measured nothing: the fact stays unread. */
        if (best > 0)
                *fact = (GpuFact) { .state = GPU_READ,
                        .value = (int64_t) ((double) BYTES * COPIES / 1e3 / (double) best) };
        return true;
}

static void measure(Measure *m, CUdevice device) {
        CUcontext context = NULL;

        if (!TRY(m, "cuDevicePrimaryCtxRetain", PrimaryCtxRetain(&context, device)))
                return;
        if (TRY(m, "cuCtxSetCurrent", CtxSetCurrent(context)) &&
                        TRY(m, "cuStreamCreate",
                                        StreamCreate(&m->stream, CUDA_STREAM_NON_BLOCKING)) &&
                        TRY(m, "cuEventCreate", EventCreate(&m->start, 0)) &&
                        TRY(m, "cuEventCreate", EventCreate(&m->end, 0)) &&
                        TRY(m, "cuMemAlloc", MemAlloc(&m->memory, BYTES)) &&
                        TRY(m, "cuMemAllocHost", MemAllocHost(&m->host, BYTES)) &&
                        measure_direction(m, true, &m->gpu->facts[GPU_H2D]))
                (void) measure_direction(m, false, &m->gpu->facts[GPU_D2H]);
        gpu_phase_enter(m->phase, "cuDevicePrimaryCtxRelease", m->index);
        if (m->host)
                (void) m->cuda->MemFreeHost(m->host);
        if (m->memory)
                (void) m->cuda->MemFree(m->memory);
        if (m->start)
                (void) m->cuda->EventDestroy(m->start);
        if (m->end)
                (void) m->cuda->EventDestroy(m->end);
        if (m->stream)
                (void) m->cuda->StreamDestroy(m->stream);
        (void) m->cuda->PrimaryCtxRelease(device);
}

static Gpu *gpu_at(GpuFacts *f, const char *bus_id, int *ret_index) {
        char pci[32];

        nvml_pci_address(bus_id, pci, sizeof(pci));
        for (unsigned i = 0; i < f->n; i++)
                if (streq(f->gpus[i].pci, pci)) {
                        *ret_index = (int) i;
                        return &f->gpus[i];
                }
        return NULL;
}

/* Initialises CUDA and counts its GPUs; the phase tells which call failed. */
static CUresult count_gpus(const CudaApi *cuda, GpuPhase *phase, int *ret_n) {
        CUresult r;

        gpu_phase_enter(phase, "cuInit", -1);
        r = cuda->Init(0);
        if (r != CUDA_SUCCESS)
                return r;
        gpu_phase_enter(phase, "cuDeviceGetCount", -1);
        return cuda->DeviceGetCount(ret_n);
}

/* One of CUDA's GPUs, if it is one of NVML's too. nvml NULL: it is not there. */
static void measure_gpu(
                GpuFacts *f, GpuPhase *phase, const CudaApi *cuda, const NvmlApi *nvml, int index) {
        Measure m = { .cuda = cuda, .phase = phase, .index = -1 };
        CUdevice device;
        char pci[32] = "";

        gpu_phase_enter(phase, "cuDeviceGetPCIBusId", -1);
        if (cuda->DeviceGet(&device, index) != CUDA_SUCCESS ||
                        cuda->DeviceGetPCIBusId(pci, sizeof(pci), device) != CUDA_SUCCESS)
                return;
        m.gpu = gpu_at(f, pci, &m.index);
        if (!m.gpu || !m.gpu->read)
                return;
        /* CUDA shows the instances of a divided GPU one by one. */
        if (gpu_fact_known(m.gpu, GPU_MIG) && m.gpu->facts[GPU_MIG].value == 1)
                return;

        gpu_phase_enter(phase, "nvmlDeviceGetHandleByIndex", m.index);
        if (nvml && nvml->DeviceGetHandleByIndex((unsigned) m.index, &m.device) == NVML_SUCCESS)
                m.nvml = nvml;
        measure(&m, device);
}

void gpu_ask_cuda(GpuFacts *f, GpuPhase *phase, void *userdata) {
        const char *library = userdata ? userdata : "libcuda.so.1";
        _cleanup_free_ char *error = NULL;
        char text[160];
        NvmlApi nvml = {};
        CudaApi cuda = {};
        bool has_nvml;
        int r, n = 0;

        gpu_phase_enter(phase, "dlopen", -1);
        r = cuda_api_load(library, &cuda, &error);
        if (r < 0) {
                gpu_phase_end(phase, r == -ENOENT ? GPU_PHASE_NO_LIBRARY : GPU_PHASE_NO_SYMBOL, 0,
                                "%s", strempty(error));
                return;
        }
        r = count_gpus(&cuda, phase, &n);
        if (r != CUDA_SUCCESS) {
                error = cuda_error_text(&cuda, r);
                gpu_phase_end(phase, GPU_PHASE_FAILED, r, "%s: %s", phase->call, strempty(error));
                return;
        }

        gpu_phase_enter(phase, "nvmlInit_v2", -1);
        has_nvml = nvml_api_load(NVML_LIBRARY, &nvml, text, sizeof(text)) >= 0 &&
                   nvml.Init() == NVML_SUCCESS;
        for (int i = 0; i < n; i++)
                measure_gpu(f, phase, &cuda, has_nvml ? &nvml : NULL, i);
        if (has_nvml)
                (void) nvml.Shutdown();
        gpu_phase_end(phase, GPU_PHASE_DONE, 0, "%d GPUs", n);
}
