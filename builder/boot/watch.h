/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Follows one boot from what its console and its journal say, until the marker it is waited for or
 * a failure that is final. Runs nothing and reads no clock: the caller tells the time. */

#include "shared/strv.h"
#include "boot/node-report.h"
#include "boot/console.h"
#include "boot/journal.h"

#include <regex.h>

typedef enum BootPhase {
        BOOT_FIRMWARE,
        BOOT_LOADER,
        BOOT_KERNEL,
        BOOT_SERVICES,
        BOOT_UP,
        BOOT_PHASES
} BootPhase;
typedef enum BootVerdict { BOOT_WAITING, BOOT_REACHED, BOOT_FAILED } BootVerdict;

/* How long the console's word waits for the journal's. Silent: nothing came through the journal's
 * channel yet. */
#define BOOT_GRACE_SILENT_USEC (5 * USEC_PER_SEC)
#define BOOT_GRACE_USEC (20 * USEC_PER_SEC)
#define BOOT_GRACE_NODE_USEC \
        (5 * USEC_PER_SEC) /* node-ready.target, and no word of firstbootd yet */
#define BOOT_GRACE_LOGIN_USEC (30 * USEC_PER_SEC) /* a login prompt, and never a journal */

typedef struct BootWatch BootWatch;
struct BootWatch {
        char *unit; /* waited for; NULL: the pattern is */
        regex_t pattern;
        bool has_pattern;

        Console console;
        Journal journal;
        FILE *readable; /* the journal as text, line by line; may be NULL; the caller's */

        BootPhase phase;
        uint64_t reached_at[BOOT_PHASES]; /* µs on the caller's clock, 0: not (seen) */
        BootVerdict verdict;
        uint64_t verdict_at;
        const char *evidence; /* "journal" or "console", once reached */
        uint64_t console_says_at, login_at;
        char *why;         /* once failed */
        char **failed;     /* units that are failed now */
        NodeReport node;   /* what the guest's firstbootd said */
        uint64_t ready_at; /* node-ready.target was started; firstbootd's verdict is waited for */
        bool settled;      /* systemd has nothing more to start: no unit will fail any more */
        char *systemd;     /* what it said of itself: "Welcome to Debian GNU/Linux 13 (trixie)!" */

        /* All may be NULL. */
        void (*on_phase)(BootWatch *w, BootPhase phase, void *userdata);
        void (*on_unit)(BootWatch *w, const char *unit, UnitEvent event, const char *message,
                        void *userdata);
        void *userdata;
        uint64_t now;
};

extern const char *const boot_phase_names[BOOT_PHASES];

/* until: "multi-user", "ready", a unit's name, or an extended regular expression for a line of
 * console or journal. -EINVAL with *ret_problem (the caller frees it) for a bad expression. */
int boot_watch_init(BootWatch *w, const char *until, char **ret_problem);
void boot_watch_done(BootWatch *w);

void boot_watch_console(BootWatch *w, const char *data, size_t size, uint64_t now);
void boot_watch_journal(BootWatch *w, const char *data, size_t size, uint64_t now);

/* A failure that the machine itself reports: it panicked, switched off, or QEMU ended. The first
 * one counts. */
void boot_watch_fail(BootWatch *w, uint64_t now, const char *format, ...) _printf_(3, 4);

/* The marker is node-ready.target, which comes with a verdict of the node's agent. */
bool boot_watch_for_ready(const BootWatch *w);

BootVerdict boot_watch_verdict(BootWatch *w, uint64_t now);
