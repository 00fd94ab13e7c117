/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Between the first look and the first write others are at work: cloud-init's runcmd, an admin.
 * What they did meanwhile is seen here, and what they do afterwards by lvm, which wipes no
 * signature unless it is told to. */

#include "steps/scratch/hold.h"
#include "steps/scratch/facts.h"

#include <fcntl.h>
#include <sys/file.h>

#define LOCK_WAIT_USEC (10 * USEC_PER_SEC)
#define LOCK_PAUSE_USEC (100 * USEC_PER_MSEC)

static void close_all(int *fds, size_t *n) {
        for (size_t i = 0; i < *n; i++)
                safe_close(fds[i]);
        *n = 0;
}

void hold_done(Hold *h) {
        close_all(h->alone, &h->n_alone);
        close_all(h->locks, &h->n_locks);
        free(h->alone);
        free(h->locks);
}

void hold_let_write(Hold *h) {
        close_all(h->alone, &h->n_alone);
}

/* udev puts off the events of a whole disk that somebody holds a BSD lock on (systemd's "Locking
 * Block Device Access"): it sees no half-made state, and does not compete with us for the CPU. It
 * locks, too, while it looks; whoever locks for longer is at work on the disk. */
static int lock_disk(const ScratchVolume *v, const char *device, Hold *h) {
        int fd = open(device, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

        if (fd < 0)
                return step_fail_later(v->context, "scratch.probe-failed", "%s: %s", device,
                                strerror(errno));
        h->locks[h->n_locks++] = fd;
        for (uint64_t waited = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; waited += LOCK_PAUSE_USEC) {
                if (errno != EWOULDBLOCK || waited >= LOCK_WAIT_USEC)
                        return step_fail_later(v->context, "scratch.in-use",
                                        "%s is locked by another program: %s", device,
                                        strerror(errno));
                usleep(LOCK_PAUSE_USEC);
        }
        return 0;
}

static bool is_unchanged(const DiskFacts *before, const DiskFacts *now) {
        if (before->n_signatures != now->n_signatures || (now->has_data && !before->has_data))
                return false;
        for (int i = 0; i < now->n_signatures; i++) {
                const Signature *a = &before->signatures[i], *b = &now->signatures[i];

                if (!streq(a->type, b->type) || !streq(a->label, b->label) ||
                                a->remains != b->remains)
                        return false;
        }
        return true;
}

int hold_changed(const ScratchVolume *v, const Disk *disk, const char *device) {
        return step_fail_later(v->context, "scratch.changed",
                        "%s (serial %s) was written to by somebody else while the volume was planned; nothing was done",
                        device, disk->serial);
}

static int take_disk(const ScratchVolume *v, const DiskFacts *before, const char *device, Hold *h) {
        DiskFacts now = { .disk = before->disk };
        int fd = open(device, O_RDONLY | O_EXCL | O_CLOEXEC | O_NONBLOCK), r;

        if (fd < 0)
                return step_fail_later(v->context, "scratch.in-use",
                                "%s (serial %s) cannot be had alone: %s", device,
                                before->disk->serial, strerror(errno));
        h->alone[h->n_alone++] = fd;

        r = disk_probe(fd, &now);
        if (r < 0)
                return step_fail_later(v->context, "scratch.probe-failed", "%s (serial %s): %s",
                                device, before->disk->serial, strerror(-r));
        return is_unchanged(before, &now) ? 0 : hold_changed(v, before->disk, device);
}

int hold_disks(const ScratchVolume *v, Hold *ret) {
        _cleanup_(hold_done) Hold h = { .locks = calloc(v->plan->n_use + 1, sizeof(int)),
                .alone = calloc(v->plan->n_use + 1, sizeof(int)) };

        if (!h.locks || !h.alone)
                return -ENOMEM;
        for (size_t i = 0; i < v->plan->n_use; i++) {
                const DiskFacts *f = &v->facts[v->plan->use[i]];
                _cleanup_free_ char *device = disk_device(f->disk);
                int r = device ? lock_disk(v, device, &h) : -ENOMEM;

                if (r < 0)
                        return r;
                r = take_disk(v, f, device, &h);
                if (r < 0)
                        return r;
        }
        *ret = h;
        h = (Hold) {};
        return 0;
}
