/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The finished disk, read back by somebody else: not by the tools that wrote it, but by a Linux
 * kernel, in libguestfs' appliance, read-only. What is read is the file that is delivered. Its
 * start takes longer than all reading, so it begins beside the writing of the disk
 * (proof-process.c); where that appliance cannot be had, or died, there is another one, started the
 * plain way. */

#include "disk/proof-process.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "store/store.h"

struct DiskProof {
        Context *ctx;
        const Plan *plan;
        char *const *layers;
        char *folder;
        ProofProcess *process; /* NULL: there is none, or it failed */
};

int disk_proof_begin(Context *ctx, const Plan *plan, char *const *layers, DiskProof **ret) {
        _cleanup_free_ char *missing = guestfs_missing();
        _cleanup_disk_proof_free_ DiskProof *p = calloc(1, sizeof(*p));
        int r;

        if (missing) {
                log_error("libguestfs cannot read the finished disk back: this host lacks %s (--no-proof builds without)",
                                missing);
                return -ENOPKG;
        }
        if (!p)
                return log_oom();
        *p = (DiskProof) { .ctx = ctx, .plan = plan, .layers = layers };
        r = store_scratch(ctx->store, "proof", &p->folder);
        if (r < 0)
                return log_error_errno(r, "Cannot make room for the proof");
        /* A vendor's disk is looked for a system first, in an appliance that has no other disk. */
        r = plan->recipe->disk.keep
                            ? 0
                            : proof_process_start(ctx, plan, layers, p->folder, &p->process);
        if (r < 0)
                log_debug("The proof's appliance does not start early: %s", strerror(-r));
        *ret = TAKE_PTR(p);
        return 0;
}

DiskProof *disk_proof_free(DiskProof *p) {
        if (!p)
                return NULL;
        proof_process_free(p->process);
        if (p->folder)
                (void) rm_rf(p->folder);
        free(p->folder);
        free(p);
        return NULL;
}

static void show_progress(size_t done, size_t total, void *userdata) {
        const DiskProof *p = userdata;

        progress_bytes(p->ctx->progress, "proof", done, total);
}

typedef struct Plain {
        const DiskProof *proof;
        const DiskInfo *disk;
        Samples samples;
} Plain;

static int compare_plain(guestfs_h *g, void *userdata) {
        Plain *plain = userdata;
        const ProofWatch watch = { show_progress, (void *) plain->proof };

        return proof_compare(g, "/dev/sda", plain->proof->plan->recipe, plain->disk,
                        &plain->samples, &watch);
}

static int proof_plain(
                const DiskProof *p, const DiskInfo *disk, const char *image, const char *format) {
        Plain plain = { .proof = p, .disk = disk };
        int r;

        r = proof_samples(p->ctx, p->plan, p->layers, &plain.samples);
        if (r < 0)
                return r;
        progress_detail(p->ctx->progress, "proof", "starting libguestfs");
        r = guestfs_use_readonly(image, format, compare_plain, &plain);
        samples_done(&plain.samples);
        return r;
}

int disk_proof_finish(DiskProof *p, const DiskInfo *disk, const char *image, const char *format) {
        const ProofWatch watch = { show_progress, p };
        _cleanup_free_ char *path = realpath(image, NULL);
        int r;

        if (!path)
                return log_error_errno(errno, "%s: cannot read it back", image);
        if (p->process) {
                r = proof_process_ask(p->process, disk, path, format, &watch);
                if (r != -EAGAIN)
                        return r;
                p->process = proof_process_free(p->process);
                log_debug("The proof's early appliance is gone; starting another one");
        }
        return proof_plain(p, disk, path, format);
}
