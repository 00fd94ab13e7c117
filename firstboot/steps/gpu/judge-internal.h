/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What judge.c, judge-finding.c, judge-device.c, judge-kind.c, judge-links.c, judge-load.c and
 * judge-log.c share. */

#include "steps/gpu/judge.h"

typedef struct Judge {
        const GpuFacts *facts;
        const GpuWish *wish;
        GpuFindings *findings;
        GpuFinding spare; /* written to where there is no memory for a finding */
        int r;
} Judge;

/* Adds a finding about the GPU of this index (-1: the node), to be completed by the caller. Never
 * NULL: out of memory is noted in j->r. */
GpuFinding *judge_add(Judge *j, GpuCode code, GpuAction action, int gpu, const char *format, ...)
                _printf_(5, 6);
void finding_value(GpuFinding *f, int64_t value);
void finding_limit(GpuFinding *f, int64_t value, int64_t limit);

/* Kinds of GPUs that cannot tell everything. */
bool gpu_is_vgpu(const Gpu *g);
bool gpu_is_consumer(const Gpu *g);

bool fact_is_unsupported(const GpuFact *f);

/* Adds a finding that tells why a fact that was needed is not there. */
void judge_not_read(Judge *j, int gpu, const GpuFact *f, const char *name, const char *symbol);

/* Whether the fact is known; a finding where it is not and nothing allows that. */
bool judge_need(Judge *j, int gpu, GpuFactId id);

/* Whether a fact that only newer drivers or GPUs have is known; a finding for any other error. */
bool judge_may(Judge *j, int gpu, GpuFactId id);

/* Of a fact that is known. */
int64_t judge_value(const Judge *j, int gpu, GpuFactId id);

/* judge-kind.c: what kind of GPU it is. False where nothing else is to be said of it. */
bool judge_kind(Judge *j, int gpu);
void judge_cluster(Judge *j);

/* judge-links.c: how many CRC errors of a link are let pass in so long. */
int64_t judge_crc_limit(const Judge *j, uint64_t usec);

/* judge-load.c: what the load has shown. */
void judge_load(Judge *j);
void judge_load_device(Judge *j, int gpu);

/* judge-device.c: what holds the clocks down, of a fact that is known; when: " under load", "". */
void judge_clock_reasons(Judge *j, int gpu, GpuFactId id, const char *when);

/* judge-device.c: one GPU's memory, PCIe, clocks, temperature, CUDA and recovery action. */
void judge_device(Judge *j, int gpu);

/* judge-log.c: what the kernel log has of GPUs and switches. */
void judge_log(Judge *j);

/* judge-links.c: one GPU's NVLinks against the number expected (-1: none is), and its place in
 * the fabric of NVSwitches. */
unsigned gpu_links_active(const Gpu *g);
void judge_links(Judge *j, int gpu, int expected);
void judge_fabric(Judge *j, int gpu);
