/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A guest's journal as it comes in, in the export format of systemd.journal-export-formats: bytes
 * in, entries out. */

#include "shared/macro.h"

typedef struct JournalEntry {
        char *message, *message_id, *unit, *job_type, *job_result, *identifier;
        char *systemd_unit; /* the unit whose process wrote it */
        char *code, *step;  /* CODE= and STEP=, which firstbootd sends */
        uint64_t monotonic; /* µs since the guest's kernel started */
        int pid;            /* as the guest's kernel told its journal; -1 where there is none */
        int priority;       /* syslog level; LOG_INFO where there is none */
} JournalEntry;

typedef struct Journal {
        char *pending; /* bytes of the unfinished entry */
        size_t used, allocated;
        size_t parsed; /* how far its fields were looked at */
        uint64_t n_entries;
        bool broken; /* not an export stream, or an entry beyond all reason: the rest is ignored */
} Journal;

#define JOURNAL_ENTRY_MAX (64 * 1024 * 1024) /* bytes; coredumps are in there */

/* Returns 0, -EBADMSG once the stream makes no sense (it is ignored from then on), -ENOMEM. The
 * entry lasts until the callback returns. */
int journal_feed(Journal *j, const char *data, size_t size,
                void (*callback)(const JournalEntry *e, void *userdata), void *userdata);
void journal_done(Journal *j);

/* What systemd's manager says about units; only entries of process 1 count. */
typedef enum UnitEvent {
        UNIT_NOTHING,
        UNIT_STARTING,
        UNIT_STARTED,
        UNIT_FAILED,
        UNIT_RESTARTING,
        UNIT_STOPPED
} UnitEvent;
UnitEvent journal_unit_event(const JournalEntry *e);
