/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* After the verdict: the last words, what --strict asks, the command in the guest, and the end of
 * the machine. */

#include "boot/internal.h"
#include "shared/duration.h"
#include "shared/time-util.h"

#define POWER_OFF_USEC (90 * USEC_PER_SEC)
#define LAST_WORDS_USEC (1 * USEC_PER_SEC)

/* The last words after a verdict: a panic's trace, units that start with the marker. */
static void hear_last_words(Boot *b, VmProcess *p) {
        int status;

        for (uint64_t end = now_usec() + LAST_WORDS_USEC;
                        now_usec() < end && vm_alive(p, &status) && !interrupt_signal();) {
                boot_look(b, p);
                boot_rest();
        }
}

static int run_command(Boot *b, VmProcess *p, uint64_t deadline) {
        int r, status;

        r = boot_ssh_wait(b, p, deadline);
        if (r < 0)
                return exit_code_from_errno(r);
        r = boot_ssh_command(b, &status);
        boot_look(b, p);
        if (r < 0) {
                log_error_errno(r, "Cannot run the command in the guest");
                return exit_code_from_errno(r);
        }
        if (status != 0) {
                log_error("The command in the guest ended with exit code %d", status);
                return EXIT_FAILED;
        }
        return EXIT_OK;
}

void boot_keep_running(Boot *b, VmProcess *p) {
        int status;

        if (!vm_alive(p, &status))
                return;
        if (b->watch.verdict != BOOT_REACHED)
                log_error("The guest did not reach %s%s%s; it keeps running, its console: tail -f %s",
                                b->o->until, b->watch.why ? ": " : "", strempty(b->watch.why),
                                b->console);
        if (b->ssh_port)
                log_info("Running; ssh -p %u root@127.0.0.1 with your key; Ctrl-C ends it",
                                b->ssh_port);
        while (vm_alive(p, &status) && !interrupt_signal()) {
                boot_look(b, p);
                boot_rest();
        }
}

void boot_switch_off(Boot *b, VmProcess *p) {
        char limit[FORMAT_DURATION_MAX];
        int status;

        if (b->o->power_off && b->watch.verdict == BOOT_REACHED && vm_alive(p, &status) &&
                        vm_command(p, "system_powerdown") >= 0) {
                uint64_t end = now_usec() + POWER_OFF_USEC;

                while (vm_alive(p, &status) && now_usec() < end && !interrupt_signal()) {
                        boot_look(b, p);
                        boot_rest();
                }
                if (vm_alive(p, &status))
                        log_warning("The guest did not switch itself off within %s; its plug is pulled",
                                        format_duration(limit, POWER_OFF_USEC));
        }
        vm_stop(p);
        boot_look(b, p);
}

/* Until systemd has no more to do: a unit may fail long after the marker. An exit code. */
static int wait_until_settled(Boot *b, VmProcess *p, uint64_t deadline) {
        char limit[FORMAT_DURATION_MAX];
        int status;

        while (!b->watch.settled) {
                boot_look(b, p);
                if (interrupt_signal())
                        return EXIT_INTERRUPTED;
                if (!vm_alive(p, &status)) {
                        log_error("--strict: the guest ended before its boot had settled, so no unit can be called well; the end of the console says why: %s",
                                        b->console);
                        return EXIT_FAILED;
                }
                if (now_usec() >= deadline) {
                        log_error("--strict: %s within %s, so no unit can be called well ('systemctl list-jobs' in the guest names what it waits for; --timeout gives it longer)",
                                        b->watch.journal.n_entries > 0
                                                        ? "the boot has not settled"
                                                        : "no journal came from the guest",
                                        format_duration(limit, b->o->timeout * USEC_PER_SEC));
                        return EXIT_TIMED_OUT;
                }
                boot_rest();
        }
        return EXIT_OK;
}

static int be_strict(Boot *b, VmProcess *p, uint64_t deadline) {
        _cleanup_strv_free_ char **unforgiven = NULL;
        _cleanup_free_ char *names = NULL;
        int code;

        code = wait_until_settled(b, p, deadline);
        if (code != EXIT_OK)
                return code;
        if (boot_unforgiven(b, &unforgiven) < 0)
                return EXIT_FAILED;
        if (strv_length(unforgiven) == 0)
                return boot_is_degraded(b) ? BOOT_EXIT_DEGRADED : EXIT_OK;

        names = strv_join(unforgiven, " ");
        log_error("--strict: failed in the guest: %s (the journal says why; --allow-failed=UNIT lets one fail)",
                        strempty(names));
        return EXIT_FAILED;
}

/* What a person asked for, before the plug is pulled. A machine of a cluster runs on only once it
 * is up: the others would wait for it for ever, and whoever waits for them. */
static int linger(Boot *b, VmProcess *p, int code) {
        bool in_cluster = b->o->report_fd > 0;

        if (b->o->error_shell && code != EXIT_OK && code != EXIT_INTERRUPTED)
                boot_shell(b, p);
        if (b->o->keep && (code == EXIT_OK || !in_cluster))
                boot_keep_running(b, p);
        return code;
}

int boot_give_up(Boot *b, VmProcess *p, int error) {
        int code = exit_code_from_errno(error);

        return error == -ETIMEDOUT ? linger(b, p, code) : code;
}

int boot_conclude(Boot *b, VmProcess *p, uint64_t deadline) {
        int code = EXIT_OK;

        hear_last_words(b, p);
        if (b->watch.verdict == BOOT_FAILED)
                return linger(b, p, EXIT_FAILED);
        if (b->o->strict)
                code = be_strict(b, p, deadline);
        if (code == EXIT_OK && b->o->command)
                code = run_command(b, p, deadline);
        if (code == EXIT_OK)
                boot_tell(b, "up");
        return linger(b, p, code);
}
