/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Who is believed. "multi-user" is reached when the guest's process 1 says so in its journal.
 * Where no journal comes (an older systemd, another init), the console's word is taken after a
 * moment of grace; where one comes but does not confirm, after a longer one. A failed unit is no
 * failure of the boot: it is listed. */

#include "boot/watch.h"
#include "boot/qemu.h"
#include "shared/strv.h"

#include <ctype.h>
#include <stdarg.h>

const char *const boot_phase_names[BOOT_PHASES] = {
        [BOOT_FIRMWARE] = "firmware",
        [BOOT_LOADER] = "boot loader",
        [BOOT_KERNEL] = "kernel",
        [BOOT_SERVICES] = "services",
        [BOOT_UP] = "up",
};

/* Units whose start is the end of a boot. */
static const struct {
        const char *unit, *why;
} dead_ends[] = {
        { "emergency.target",
                        "emergency mode: systemd could not mount or start something essential" },
        { "rescue.target", "rescue mode instead of a boot" },
};

/* firstbootd's message "event.failed" (firstboot/contract/codes.c): every step has ended, and the
 * node is not ready. */
#define NODE_FAILED_ID "024713687dc641a4896ea7c35e688394"

/* SD_MESSAGE_STARTUP_FINISHED: the system manager's queue of jobs is empty. */
#define STARTUP_FINISHED_ID "b07a249cd024414a82dd00cd181378ff"

static const char *const unit_suffixes[] = { ".service", ".target", ".mount", ".socket", ".timer",
        ".path", ".device", ".swap" };

static bool is_unit_name(const char *s) {
        bool suffix = false;

        for (size_t i = 0; i < ELEMENTSOF(unit_suffixes); i++)
                suffix = suffix || endswith(s, unit_suffixes[i]);
        if (!suffix)
                return false;
        for (; *s; s++)
                if (!isalnum((unsigned char) *s) && !strchr(":_.\\-@", *s))
                        return false;
        return true;
}

int boot_watch_init(BootWatch *w, const char *until, char **ret_problem) {
        *w = (BootWatch) {};
        if (streq(until, "multi-user"))
                w->unit = strdup("multi-user.target");
        else if (streq(until, "ready"))
                w->unit = strdup("node-ready.target");
        else if (is_unit_name(until))
                w->unit = strdup(until);
        else {
                int r = regcomp(&w->pattern, until, REG_EXTENDED | REG_NOSUB);
                char text[256];

                if (r != 0) {
                        regerror(r, &w->pattern, text, sizeof(text));
                        *ret_problem = strdup(text);
                        return -EINVAL;
                }
                w->has_pattern = true;
                return 0;
        }
        return w->unit ? 0 : -ENOMEM;
}

void boot_watch_done(BootWatch *w) {
        free(w->unit);
        free(w->why);
        free(w->systemd);
        w->failed = strv_free(w->failed);
        if (w->has_pattern)
                regfree(&w->pattern);
        node_report_done(&w->node);
        console_done(&w->console);
        journal_done(&w->journal);
        *w = (BootWatch) {};
}

static void enter(BootWatch *w, BootPhase phase) {
        if (w->reached_at[phase] != 0)
                return;
        w->reached_at[phase] = w->now;
        if (phase < w->phase)
                return;
        w->phase = phase;
        if (w->on_phase)
                w->on_phase(w, phase, w->userdata);
}

static void reached(BootWatch *w, const char *evidence) {
        if (w->verdict != BOOT_WAITING)
                return;
        w->verdict = BOOT_REACHED;
        w->verdict_at = w->now;
        w->evidence = evidence;
        enter(w, BOOT_UP);
}

void boot_watch_fail(BootWatch *w, uint64_t now, const char *format, ...) {
        va_list ap;

        if (w->verdict != BOOT_WAITING)
                return;
        va_start(ap, format);
        w->why = vstrf(format, ap);
        va_end(ap);
        w->verdict = BOOT_FAILED;
        w->verdict_at = now;
}

static bool matches(const BootWatch *w, const char *line) {
        return w->has_pattern && line && regexec(&w->pattern, line, 0, NULL, 0) == 0;
}

/* "multi-user.target - Multi-User System." or, from before systemd 254, "Multi-User System." */
static bool console_names_target(const BootWatch *w, const char *detail) {
        const char *rest;

        if (!w->unit)
                return false;
        rest = startswith(detail, w->unit);
        if (rest)
                return *rest == '\0' || *rest == ' ' || *rest == '.';
        return streq(w->unit, "multi-user.target") && startswith(detail, "Multi-User System");
}

static void console_event(
                ConsoleEvent event, const char *line, const char *detail, void *userdata) {
        BootWatch *w = userdata;
        bool says = false;

        switch (event) {
        case CONSOLE_FIRMWARE:
                enter(w, BOOT_FIRMWARE);
                break;
        case CONSOLE_LOADER:
                enter(w, BOOT_LOADER);
                break;
        case CONSOLE_KERNEL:
                enter(w, BOOT_KERNEL);
                break;
        case CONSOLE_SYSTEMD:
                if (w->phase >= BOOT_KERNEL && !w->systemd)
                        w->systemd = strdup(line);
                break;
        case CONSOLE_TARGET:
                enter(w, BOOT_SERVICES);
                says = console_names_target(w, detail);
                break;
        case CONSOLE_UNIT_FAILED:
                enter(w, BOOT_SERVICES);
                break;
        case CONSOLE_LOGIN:
                enter(w, BOOT_SERVICES);
                if (w->login_at == 0 && w->unit && streq(w->unit, "multi-user.target"))
                        w->login_at = w->now;
                break;
        case CONSOLE_FAILURE:
                boot_watch_fail(w, w->now, "%s", detail);
                break;
        case CONSOLE_LINE:
                break;
        }
        if (says && w->console_says_at == 0)
                w->console_says_at = w->now;
        if (matches(w, line))
                reached(w, "console");
}

void boot_watch_console(BootWatch *w, const char *data, size_t size, uint64_t now) {
        w->now = now;
        console_feed(&w->console, data, size, console_event, w);
}

bool boot_watch_for_ready(const BootWatch *w) {
        return w->unit && streq(w->unit, "node-ready.target");
}

static void unit_changed(BootWatch *w, const JournalEntry *e, UnitEvent event) {
        if (event == UNIT_NOTHING || !e->unit)
                return; /* most entries are of no unit: kernel messages, say */
        /* Ours, not the image's: on a slow host its device may come after systemd's patience. */
        if (streq(e->unit, "imgbuild-journal.service") || strstr(e->unit, VM_JOURNAL_PORT))
                return;

        switch (event) {
        case UNIT_FAILED:
                if (!strv_contains(w->failed, e->unit))
                        (void) strv_extend(&w->failed, e->unit);
                break;
        case UNIT_STARTING:
        case UNIT_STARTED:
        case UNIT_RESTARTING:
                strv_remove(w->failed, e->unit);
                break;
        case UNIT_NOTHING:
        case UNIT_STOPPED:
                break;
        }
        if (event == UNIT_STARTED)
                for (size_t i = 0; i < ELEMENTSOF(dead_ends); i++)
                        if (streq(e->unit, dead_ends[i].unit) && !streq_ptr(w->unit, e->unit))
                                boot_watch_fail(w, w->now, "%s", dead_ends[i].why);
        if (w->unit && streq(e->unit, w->unit)) {
                /* firstbootd's verdict, which says whether all is well, follows in a moment. */
                if (event == UNIT_STARTED && boot_watch_for_ready(w) && !w->node.verdict)
                        w->ready_at = w->now;
                else if (event == UNIT_STARTED)
                        reached(w, "journal");
                else if (event == UNIT_FAILED)
                        boot_watch_fail(w, w->now, "%s failed: %s", w->unit, strempty(e->message));
        }
        if (w->on_unit)
                w->on_unit(w, e->unit, event, e->message, w->userdata);
}

static void journal_event(const JournalEntry *e, void *userdata) {
        BootWatch *w = userdata;

        if (w->readable && e->message)
                fprintf(w->readable, "[%5llu.%06llu] %s: %s\n",
                                (unsigned long long) (e->monotonic / USEC_PER_SEC),
                                (unsigned long long) (e->monotonic % USEC_PER_SEC),
                                e->identifier ? e->identifier : "kernel", e->message);
        enter(w, BOOT_SERVICES);
        UnitEvent event = journal_unit_event(e);
        if (event != UNIT_NOTHING)
                unit_changed(w, e, event);
        if (e->pid == 1 && streq_ptr(e->message_id, STARTUP_FINISHED_ID))
                w->settled = true;
        /* A marker job that never ran because something it needs failed. */
        if (w->unit && e->pid == 1 && e->unit && streq(e->unit, w->unit) &&
                        streq_ptr(e->job_result, "dependency"))
                boot_watch_fail(w, w->now, "%s", strempty(e->message));
        if (boot_watch_for_ready(w) && streq_ptr(e->systemd_unit, "firstbootd.service") &&
                        streq_ptr(e->message_id, NODE_FAILED_ID))
                boot_watch_fail(w, w->now, "firstbootd: %s", strempty(e->message));
        if (node_report_take(&w->node, e) > 0 && w->ready_at != 0)
                reached(w, "journal");
        if (matches(w, e->message))
                reached(w, "journal");
}

void boot_watch_journal(BootWatch *w, const char *data, size_t size, uint64_t now) {
        w->now = now;
        (void) journal_feed(&w->journal, data, size, journal_event, w);
}

BootVerdict boot_watch_verdict(BootWatch *w, uint64_t now) {
        bool silent = w->journal.n_entries == 0 || w->journal.broken;
        uint64_t grace = silent ? BOOT_GRACE_SILENT_USEC : BOOT_GRACE_USEC;

        w->now = now;
        if (w->console_says_at != 0 && now >= w->console_says_at + grace)
                reached(w, "console");
        if (w->ready_at != 0 && now >= w->ready_at + BOOT_GRACE_NODE_USEC)
                reached(w, "journal");
        /* getty comes up before multi-user is complete, on a slow machine long before. */
        if (silent && w->login_at != 0 && now >= w->login_at + BOOT_GRACE_LOGIN_USEC)
                reached(w, "console");
        return w->verdict;
}
