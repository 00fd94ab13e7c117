/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The two GPU kernels: fill a buffer with a rank's data, and count the elements of a result that are
 * not what they must be. All arithmetic is in pattern.h.
 *
 * The PTX made from this file is checked in as kernels.ptx.inc, so neither the build nor the node needs
 * a CUDA compiler. `make ptx` makes it anew, with clang: it writes PTX 6.0 for compute capability 7.0,
 * which every driver since CUDA 9 compiles for whatever GPU it finds, from V100 on. (nvcc 13 writes PTX
 * 9.0 for 7.5 at the least, which neither V100 nor yesterday's drivers take.) Compiles with nvcc too. */

#if !defined(__CUDA__) && !defined(__CUDACC__)
#error "a CUDA source: clang -x cuda or nvcc"
#endif

#include "pattern.h"

#ifdef __NVCC__
#define THREAD_FIRST ((uint64_t) blockIdx.x * blockDim.x + threadIdx.x)
#define THREAD_COUNT ((uint64_t) gridDim.x * blockDim.x)
#define ATOMIC_ADD(p, v) atomicAdd((unsigned long long *) (p), (unsigned long long) (v))
#define ATOMIC_MIN(p, v) atomicMin((unsigned long long *) (p), (unsigned long long) (v))
#else
#define __global__ __attribute__((global))
#define THREAD_FIRST                                                                              \
        ((uint64_t) __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() +              \
                        __nvvm_read_ptx_sreg_tid_x())
#define THREAD_COUNT ((uint64_t) __nvvm_read_ptx_sreg_nctaid_x() * __nvvm_read_ptx_sreg_ntid_x())
#define ATOMIC_ADD(p, v) __nvvm_atom_add_gen_ll((long long *) (p), (long long) (v))
#define ATOMIC_MIN(p, v) __nvvm_atom_min_gen_ull((unsigned long long *) (p), (unsigned long long) (v))
#endif

extern "C" __global__ void ncclbench_fill(PatternJob job, void *data) {
        for (uint64_t e = THREAD_FIRST, step = THREAD_COUNT; e < job.count; e += step)
                pattern_fill(&job, data, e);
}

/* found[0] is the number of wrong elements, found[1] the first of them (to begin with: all ones). */
extern "C" __global__ void ncclbench_check(PatternJob job, const void *data, uint64_t *found) {
        uint64_t wrong = 0, first = UINT64_MAX;

        for (uint64_t e = THREAD_FIRST, step = THREAD_COUNT; e < job.count; e += step)
                if (!pattern_matches(&job, data, e)) {
                        wrong++;
                        if (e < first)
                                first = e;
                }
        if (wrong > 0) {
                ATOMIC_ADD(&found[0], wrong);
                ATOMIC_MIN(&found[1], first);
        }
}
