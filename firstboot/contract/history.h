/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The last verdicts and key figures of this node, in /var/lib/firstboot/history: slots of 512
 * bytes, a line of text each, "CRC32 JSON" padded with blanks. All of it is allocated at once, so
 * that a disk that fills up later costs nothing; a torn write costs the entry that was being
 * written. Entries are in the order of their sequence numbers, whatever the clock says. */

#include "shared/json-util.h"

#define PATH_HISTORY "/var/lib/firstboot/history"
#define PATH_HISTORY_LOCK "/run/firstboot/history.lock"
#define HISTORY_ENTRIES 1000 /* that are shown */
#define HISTORY_SLOTS 1024   /* a few more: what is being overwritten is shown no more */
#define HISTORY_SLOT 512

typedef enum HistoryFigure {
        HISTORY_BUSBW, /* GB/s (10⁹) over all GPUs */
        HISTORY_H2D,   /* MB/s (10⁶), of the slowest GPU */
        HISTORY_D2H,
        HISTORY_ECC,     /* uncorrectable errors, all GPUs */
        HISTORY_LINKS,   /* active NVLinks, of the GPU with the fewest */
        HISTORY_PORTS,   /* RDMA ports in use */
        HISTORY_NFS,     /* ms, of the slowest mount */
        HISTORY_SCRATCH, /* ms, a small file's way to the disks */
        _HISTORY_FIGURES,
} HistoryFigure;

typedef struct HistoryFigureInfo {
        const char *name, *unit, *help;
        bool speed; /* less than it used to be is a finding */
} HistoryFigureInfo;
extern const HistoryFigureInfo history_figure_info[_HISTORY_FIGURES];

typedef struct HistoryEntry {
        uint64_t sequence; /* set by history_append() */
        int64_t time;      /* seconds since 1970, as the clock said */
        char kind[12];     /* "verdict", "check" */
        char verdict[12];  /* "ready", "degraded", "failed" */
        char code[64], text[128];
        uint32_t machine; /* of whose GPUs the figures are: a moved instance has other ones */
        bool slow;        /* slower than its past, and so no part of it */
        bool known[_HISTORY_FIGURES];
        double figures[_HISTORY_FIGURES];
} HistoryEntry;

/* Takes the key figures out of a step's figures. */
void history_take(HistoryEntry *e, const char *step, json_object *figures);

/* Adds the entry, durably, and sets its sequence number. 0 or negative errno. */
int history_append(HistoryEntry *e);

/* The entries, oldest first, at most HISTORY_ENTRIES; none where there is no history. The caller
 * frees them. *ret_damaged (may be NULL): slots that hold something else. 0 or negative errno. */
int history_load(HistoryEntry **ret, size_t *ret_n, size_t *ret_damaged);

/* A slot's line from an entry, and back: 0, or -EBADMSG for one that is empty or torn. */
int history_slot_write(const HistoryEntry *e, char slot[HISTORY_SLOT]);
int history_slot_read(const char slot[HISTORY_SLOT], HistoryEntry *ret);

/* Its sequence number alone; 0: it is empty or torn. */
uint64_t history_slot_sequence(const char slot[HISTORY_SLOT]);

/* Whether a figure of the entry is lower than the median of the same machine's past by more than so
 * many percent; *ret_figure is the first, *ret_usual the median. Fewer than HISTORY_PAST_MIN values
 * are no past. */
#define HISTORY_PAST_MIN 5
bool history_is_slow(const HistoryEntry *past, size_t n, const HistoryEntry *e, double percent,
                HistoryFigure *ret_figure, double *ret_usual);

json_object *history_to_json(const HistoryEntry *e);
