/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Xids and SXids of this boot, until the reset that cures them. */

#include "steps/gpu/judge-internal.h"

/* Which GPU a report in the kernel log is about: NVML's index, or -1. */
static int gpu_at(const GpuFacts *f, const char *pci) {
        size_t n = strlen(pci);

        for (unsigned i = 0; i < f->n; i++)
                if (strncmp(f->gpus[i].pci, pci, n) == 0 && n > 0 &&
                                (f->gpus[i].pci[n] == '.' || f->gpus[i].pci[n] == '\0'))
                        return (int) i;
        return -1;
}

static bool xid_is_ignored(const GpuWish *w, const GpuXid *x) {
        if (x->is_switch)
                return !x->fatal;
        for (size_t i = 0; i < w->n_xid_ignore; i++)
                if (w->xid_ignore[i] == x->xid)
                        return true;
        return false;
}

/* The driver asks for nothing any more, although it did: the GPU was reset since, which clears what
 * the driver keeps, without a word in the log. */
static bool was_reset(const GpuFacts *f, int gpu) {
        int recovery = -1;

        if (gpu < 0 || !gpu_fact_known(&f->gpus[gpu], GPU_RECOVERY_ACTION) ||
                        f->gpus[gpu].facts[GPU_RECOVERY_ACTION].value != GPU_RECOVERY_NONE)
                return false;
        for (unsigned i = 0; i < MIN(f->n_xids, (unsigned) GPU_XIDS_MAX); i++)
                if (f->xids[i].tells_recovery && !f->xids[i].cured &&
                                gpu_at(f, f->xids[i].pci) == gpu)
                        recovery = f->xids[i].recovery;
        return gpu_recovery_is_reset(recovery);
}

/* Whether a report is over: by a reset that the log tells of, or by one that NVML shows. */
static bool xid_is_over(const GpuFacts *f, const GpuXid *x) {
        return x->cured || (!x->is_switch && gpu_xid_action(x) <= GPU_ACTION_RESET &&
                                           was_reset(f, gpu_at(f, x->pci)));
}

static bool told_before(const GpuFacts *f, unsigned i) {
        for (unsigned k = 0; k < i; k++)
                if (!f->xids[k].cured && f->xids[k].xid == f->xids[i].xid &&
                                streq(f->xids[k].pci, f->xids[i].pci) &&
                                f->xids[k].is_switch == f->xids[i].is_switch &&
                                f->xids[k].fatal == f->xids[i].fatal)
                        return true;
        return false;
}

void judge_log(Judge *j) {
        const GpuFacts *f = j->facts;

        if (!f->log_read)
                (void) judge_add(j, GPU_CODE_KERNEL_LOG, GPU_ACTION_CONFIG, -1,
                                "the kernel log could not be read: %s",
                                f->log_error ? strerror(f->log_error) : "nobody asked");
        else if (f->log_lost)
                (void) judge_add(j, GPU_CODE_KERNEL_LOG, GPU_ACTION_REBOOT, -1,
                                "the kernel log does not reach back to the boot");
        for (unsigned i = 0; i < MIN(f->n_xids, (unsigned) GPU_XIDS_MAX); i++) {
                const GpuXid *x = &f->xids[i];
                GpuFinding *y;

                if (xid_is_ignored(j->wish, x) || xid_is_over(f, x) || told_before(f, i))
                        continue;
                y = judge_add(j, GPU_CODE_XID, gpu_xid_action(x), gpu_at(f, x->pci), "%s %u: %s",
                                x->is_switch ? "SXid" : "Xid", x->xid, x->text);
                snprintf(y->pci, sizeof(y->pci), "%s", x->pci);
                finding_value(y, x->xid);
        }
        if (f->n_xids > GPU_XIDS_MAX)
                (void) judge_add(j, GPU_CODE_XID, GPU_ACTION_RESET, -1,
                                "%u Xids in the kernel log, of which %d were looked at", f->n_xids,
                                GPU_XIDS_MAX);
}
