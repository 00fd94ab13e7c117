/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The file of the history. firstbootd and checks write to it; a lock keeps them apart. Everybody
 * may read the history, and who can read a file can lock it: so the lock is on a file of its own,
 * which nobody else can open. */

#include "contract/history.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/time-util.h"

#include <fcntl.h>
#include <sys/stat.h>

#define FILE_SIZE ((off_t) HISTORY_SLOTS * HISTORY_SLOT)
#define LOCK_USEC (2 * USEC_PER_SEC) /* somebody else's append takes a moment */

static int open_file(int flags) {
        _cleanup_free_ char *path = fb_path(PATH_HISTORY);
        int fd;

        if (!path)
                return -ENOMEM;
        fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0644);
        return fd < 0 ? -errno : fd;
}

/* All slots; those beyond the file's end are empty ones. The caller frees them. */
static int read_slots(int fd, char **ret) {
        _cleanup_free_ char *slots = calloc(HISTORY_SLOTS, HISTORY_SLOT);
        ssize_t n;

        if (!slots)
                return -ENOMEM;
        n = read_at(fd, slots, (size_t) FILE_SIZE, 0);
        if (n < 0)
                return (int) n;
        *ret = TAKE_PTR(slots);
        return 0;
}

/* The newest sequence number; 0: none. */
static uint64_t newest(const char *slots) {
        uint64_t max = 0;

        for (size_t i = 0; i < HISTORY_SLOTS; i++)
                max = MAX(max, history_slot_sequence(slots + i * HISTORY_SLOT));
        return max;
}

/* Returns what holds the lock while it is open. */
static int lock(void) {
        _cleanup_free_ char *path = fb_path(PATH_HISTORY_LOCK);

        return path ? lock_file(path, now_usec() + LOCK_USEC) : -ENOMEM;
}

static int write_slot(int fd, const char *slot, uint64_t sequence) {
        off_t at = (off_t) (sequence % HISTORY_SLOTS) * HISTORY_SLOT;
        ssize_t n = pwrite(fd, slot, HISTORY_SLOT, at);

        if (n != HISTORY_SLOT)
                return n < 0 ? -errno : -ENOSPC;
        return fdatasync(fd) < 0 ? -errno : 0;
}

int history_append(HistoryEntry *e) {
        _cleanup_free_ char *path = fb_path(PATH_HISTORY), *slots = NULL;
        _cleanup_close_ int fd = -EBADF, held = -EBADF;
        char slot[HISTORY_SLOT];
        struct stat st;
        int r;

        r = path ? mkdir_parents(path, 0755) : -ENOMEM;
        if (r < 0)
                return r;
        fd = open_file(O_RDWR | O_CREAT);
        if (fd < 0)
                return fd;
        held = lock();
        if (held < 0)
                return held;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (st.st_size < FILE_SIZE) {
                r = -posix_fallocate(fd, 0, FILE_SIZE);
                if (r < 0)
                        return r;
        }

        r = read_slots(fd, &slots);
        if (r < 0)
                return r;
        e->sequence = newest(slots) + 1;
        r = history_slot_write(e, slot);
        return r < 0 ? r : write_slot(fd, slot, e->sequence);
}

static int compare(const void *a, const void *b) {
        const HistoryEntry *x = a, *y = b;

        return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

/* Neither an entry nor one that nobody has written yet. */
static bool is_damaged(const char *slot) {
        for (size_t i = 0; i < HISTORY_SLOT; i++)
                if (slot[i] != '\0')
                        return true;
        return false;
}

int history_load(HistoryEntry **ret, size_t *ret_n, size_t *ret_damaged) {
        _cleanup_free_ HistoryEntry *list = calloc(HISTORY_SLOTS, sizeof(*list));
        _cleanup_free_ char *slots = NULL;
        _cleanup_close_ int fd = -EBADF;
        size_t n = 0, damaged = 0, first;
        int r;

        if (!list)
                return -ENOMEM;
        fd = open_file(O_RDONLY);
        if (fd < 0 && fd != -ENOENT)
                return fd;
        if (fd >= 0) {
                r = read_slots(fd, &slots);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; slots && i < HISTORY_SLOTS; i++) {
                const char *slot = slots + i * HISTORY_SLOT;

                if (history_slot_read(slot, &list[n]) >= 0)
                        n++;
                else if (is_damaged(slot))
                        damaged++;
        }
        qsort(list, n, sizeof(*list), compare);
        first = n > HISTORY_ENTRIES ? n - HISTORY_ENTRIES : 0;
        memmove(list, list + first, (n - first) * sizeof(*list));
        *ret = TAKE_PTR(list);
        *ret_n = n - first;
        if (ret_damaged)
                *ret_damaged = damaged;
        return 0;
}
