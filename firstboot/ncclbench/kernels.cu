/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The GPU kernels: fill a buffer with a rank's data, and count the elements of a result that are
 * not what they must be (all arithmetic is in pattern.h); and the load: copy memory, multiply matrices on
 * the tensor cores, and check the product (matrix.h).
 *
 * The PTX made from this file is checked in as kernels.ptx.inc, so neither the build nor the node needs
 * a CUDA compiler. `make ptx` makes it anew, with clang: it writes PTX 6.0 for compute capability 7.0,
 * which every driver since CUDA 9 compiles for whatever GPU it finds, from V100 on. (nvcc 13 writes PTX
 * 9.0 for 7.5 at the least, which neither V100 nor yesterday's drivers take.) Compiles with nvcc too. */

#if !defined(__CUDA__) && !defined(__CUDACC__)
#error "a CUDA source: clang -x cuda or nvcc"
#endif

#include "pattern.h"

#include "matrix.h"

#ifdef __NVCC__
#define ALIGNED ".aligned"
#define BLOCK_X blockIdx.x
#define BLOCK_Y blockIdx.y
#define THREAD threadIdx.x
typedef uint4 Vector;
#define THREAD_FIRST ((uint64_t) blockIdx.x * blockDim.x + threadIdx.x)
#define THREAD_COUNT ((uint64_t) gridDim.x * blockDim.x)
#define ATOMIC_ADD(p, v) atomicAdd((unsigned long long *) (p), (unsigned long long) (v))
#define ATOMIC_MIN(p, v) atomicMin((unsigned long long *) (p), (unsigned long long) (v))
#else
#define ALIGNED "" /* implied by PTX 6.0, which does not know the word */
#define BLOCK_X __nvvm_read_ptx_sreg_ctaid_x()
#define BLOCK_Y __nvvm_read_ptx_sreg_ctaid_y()
#define THREAD __nvvm_read_ptx_sreg_tid_x()
typedef uint32_t Vector __attribute__((ext_vector_type(4)));
#define __shared__ __attribute__((shared))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
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

/* Copies `count` times 16 bytes. */
extern "C" __global__ void ncclbench_copy(void *to, const void *from, uint64_t count) {
        for (uint64_t e = THREAD_FIRST, step = THREAD_COUNT; e < count; e += step)
                ((Vector *) to)[e] = ((const Vector *) from)[e];
}

/* The bits of A (which 1) or B (which 2): n × n 16-bit floats, row by row. */
extern "C" __global__ void ncclbench_matrix(void *data, uint32_t n, uint32_t which, uint32_t seed) {
        for (uint64_t e = THREAD_FIRST, step = THREAD_COUNT; e < (uint64_t) n * n; e += step)
                ((uint16_t *) data)[e] = matrix_half(matrix_value(seed, which, (uint32_t) (e / n), (uint32_t) (e % n)));
}

/* sums[k] is the sum of row k of B. */
extern "C" __global__ void ncclbench_sums(int32_t *sums, uint32_t n, uint32_t seed) {
        for (uint64_t k = THREAD_FIRST, step = THREAD_COUNT; k < n; k += step) {
                int32_t sum = 0;

                for (uint32_t j = 0; j < n; j++)
                        sum += matrix_value(seed, 2, (uint32_t) k, j);
                sums[k] = sum;
        }
}

/* Counts the rows of C whose sums are not what they must be: found as for ncclbench_check. */
extern "C" __global__ void ncclbench_rows(const float *c, const int32_t *sums, uint32_t n, uint32_t seed, uint64_t *found) {
        for (uint64_t i = THREAD_FIRST, step = THREAD_COUNT; i < n; i += step) {
                int64_t want = 0, got = 0;

                for (uint32_t k = 0; k < n; k++) {
                        want += (int64_t) matrix_value(seed, 1, (uint32_t) i, k) * sums[k];
                        got += (int64_t) c[i * n + k];
                }
                if (got != want) {
                        ATOMIC_ADD(&found[0], 1);
                        ATOMIC_MIN(&found[1], i);
                }
        }
}

/* C = A × B, n a multiple of TILE: a block makes a tile of C, its eight warps 64 × 32 each. While the tensor
 * cores work on one slice of A and B in shared memory the next one is fetched. */
#define TILE 128
#define SLICE 32
#define A_ROW (SLICE + 8) /* elements; the gap keeps rows out of each other's memory banks */
#define B_ROW (TILE + 8)

#define FRAGMENT(f) "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3]), "=r"(f[4]), "=r"(f[5]), "=r"(f[6]), "=r"(f[7])
#define OPERAND(f) "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "r"(f[4]), "r"(f[5]), "r"(f[6]), "r"(f[7])
#define RESULT(f) "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3]), "+f"(f[4]), "+f"(f[5]), "+f"(f[6]), "+f"(f[7])
#define VALUE(f) "f"(f[0]), "f"(f[1]), "f"(f[2]), "f"(f[3]), "f"(f[4]), "f"(f[5]), "f"(f[6]), "f"(f[7])

/* Where something in shared memory lies, as 32 bits. */
#define SHARED_ADDRESS(result, pointer)                                                                      \
        asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(result) : "l"(pointer))

extern "C" __global__ void __launch_bounds__(256, 2) ncclbench_multiply(float *c, const uint16_t *a, const uint16_t *b, uint32_t n) {
        static __shared__ uint16_t a_tile[2][TILE * A_ROW] __attribute__((aligned(32)));
        static __shared__ uint16_t b_tile[2][SLICE * B_ROW] __attribute__((aligned(32)));
        uint32_t thread = THREAD, warp = thread / 32, row = warp / 4 * 64, column = warp % 4 * 32;
        uint32_t a_base, b_base;
        float sum[4][2][8];
        Vector next_a[2], next_b[2];

        SHARED_ADDRESS(a_base, a_tile);
        SHARED_ADDRESS(b_base, b_tile);

        for (int i = 0; i < 4; i++)
                for (int j = 0; j < 2; j++)
                        for (int k = 0; k < 8; k++)
                                sum[i][j][k] = 0;
        a += (uint64_t) BLOCK_Y * TILE * n;
        b += (uint64_t) BLOCK_X * TILE;

        for (uint32_t k = 0, now = 0; k <= n; k += SLICE, now ^= 1) {
                /* Eight elements at a time: four to a row of A's slice, sixteen to one of B's. */
                if (k < n)
#pragma unroll
                        for (uint32_t i = 0; i < 2; i++) {
                                uint32_t v = thread + i * 256;

                                next_a[i] = *(const Vector *) (a + (uint64_t) (v / 4) * n + k + v % 4 * 8);
                                next_b[i] = *(const Vector *) (b + (uint64_t) (k + v / 16) * n + v % 16 * 8);
                        }
                if (k > 0)
#pragma unroll
                        for (uint32_t s = 0; s < SLICE; s += 16) {
                                uint32_t fa[4][8], fb[2][8];
                                uint32_t pa = a_base + 2 * ((now ^ 1) * TILE * A_ROW + row * A_ROW + s);
                                uint32_t pb = b_base + 2 * ((now ^ 1) * SLICE * B_ROW + s * B_ROW + column);

#pragma unroll
                                for (int i = 0; i < 4; i++)
                                        asm volatile("wmma.load.a.sync" ALIGNED
                                                     ".row.m16n16k16.shared.f16 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8], %9;"
                                                     : FRAGMENT(fa[i])
                                                     : "r"(pa + 2 * i * 16 * A_ROW), "r"(A_ROW)
                                                     : "memory");
#pragma unroll
                                for (int j = 0; j < 2; j++)
                                        asm volatile("wmma.load.b.sync" ALIGNED
                                                     ".row.m16n16k16.shared.f16 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8], %9;"
                                                     : FRAGMENT(fb[j])
                                                     : "r"(pb + 2 * j * 16), "r"(B_ROW)
                                                     : "memory");
#pragma unroll
                                for (int i = 0; i < 4; i++)
#pragma unroll
                                        for (int j = 0; j < 2; j++)
                                                asm volatile("wmma.mma.sync" ALIGNED
                                                             ".row.row.m16n16k16.f32.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, "
                                                             "{%8,%9,%10,%11,%12,%13,%14,%15}, "
                                                             "{%16,%17,%18,%19,%20,%21,%22,%23}, {%0,%1,%2,%3,%4,%5,%6,%7};"
                                                             : RESULT(sum[i][j])
                                                             : OPERAND(fa[i]), OPERAND(fb[j]));
                        }
                if (k < n)
#pragma unroll
                        for (uint32_t i = 0; i < 2; i++) {
                                uint32_t v = thread + i * 256;

                                *(Vector *) (a_tile[now] + v / 4 * A_ROW + v % 4 * 8) = next_a[i];
                                *(Vector *) (b_tile[now] + v / 16 * B_ROW + v % 16 * 8) = next_b[i];
                        }
                __syncthreads();
        }

        c += (uint64_t) (BLOCK_Y * TILE + row) * n + BLOCK_X * TILE + column;
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 2; j++)
                        asm volatile("wmma.store.d.sync" ALIGNED ".row.m16n16k16.f32 [%0], {%1,%2,%3,%4,%5,%6,%7,%8}, %9;"
                                     :
                                     : "l"(c + (uint64_t) i * 16 * n + j * 16), VALUE(sum[i][j]), "r"(n)
                                     : "memory");
}
