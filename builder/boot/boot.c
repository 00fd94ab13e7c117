/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One boot, from the start of QEMU to its end. The loop looks ten times a second at the console,
 * the journal, the monitor, the clock and the signals; watch.c makes a verdict of it. */

#include "boot/internal.h"
#include "shared/file-util.h"
#include "sandbox/open-inside.h"
#include "common/kvm.h"
#include "boot/link.h"
#include "boot/nvme-model.h"
#include "shared/time-util.h"

#include <poll.h>

#define TICK_MS 100
#define POWER_OFF_USEC (90 * USEC_PER_SEC)
#define SETTLE_USEC (1 * USEC_PER_SEC)       /* for the last lines after a verdict */
#define KVM_SILENCE_USEC (45 * USEC_PER_SEC) /* firmware and boot loader on KVM take 5 s */

/* For cluster.c, a line each; nobody waits for a reader that is behind. */
static _printf_(2, 3) void tell(const Boot *b, const char *format, ...) {
        char line[512];
        va_list ap;
        int n;

        if (b->o->report_fd <= 0)
                return;
        va_start(ap, format);
        n = vsnprintf(line, sizeof(line) - 1, format, ap);
        va_end(ap);
        if (n < 0)
                return;

        size_t size = MIN((size_t) n, sizeof(line) - 2);
        line[size] = '\n';
        (void) !write(b->o->report_fd, line, size + 1);
}

static void on_phase(BootWatch *w, BootPhase phase, void *userdata) {
        Boot *b = userdata;
        json_object *o = json_object_new_object();

        for (BootPhase p = 0; p < phase; p++)
                if (w->reached_at[p] != 0)
                        progress_set(b->ctx->progress, boot_phase_names[p], PROGRESS_DONE);
        tell(b, "phase %s", boot_phase_names[phase]);
        if (phase < BOOT_UP)
                progress_set(b->ctx->progress, boot_phase_names[phase], PROGRESS_RUNNING);
        if (o) {
                (void) json_set_fields(o, JSON_STRING("phase", boot_phase_names[phase]),
                                JSON_INT("usec", w->now - b->started));
                progress_event(b->ctx->progress, "boot.phase", o);
        }
}

static void on_unit(BootWatch *w, const char *unit, UnitEvent event, const char *message,
                void *userdata) {
        static const char *const names[] = {
                [UNIT_STARTING] = "starting",
                [UNIT_STARTED] = "started",
                [UNIT_FAILED] = "failed",
                [UNIT_RESTARTING] = "restarting",
                [UNIT_STOPPED] = "stopped",
        };
        Boot *b = userdata;
        json_object *o = json_object_new_object();

        snprintf(b->last, sizeof(b->last), "%s", strempty(message));
        tell(b, "last %s", b->last);
        if (event == UNIT_FAILED)
                log_warning("In the guest: %s", strempty(message));
        if (!o)
                return;

        (void) json_set_fields(o, JSON_STRING("unit", unit), JSON_STRING("state", names[event]),
                        JSON_INT("usec", w->now - b->started));
        progress_event(b->ctx->progress, "boot.unit", o);
}

static void on_event(const char *event, json_object *data, void *userdata) {
        Boot *b = userdata;

        if (streq(event, "GUEST_PANICKED"))
                boot_watch_fail(&b->watch, now_usec(), "kernel panic");
        else if (streq(event, "SHUTDOWN"))
                b->guest_ended = json_get_bool(data, "guest", false);
        else if (streq(event, "RESET") && json_get_bool(data, "guest", false)) {
                b->resets++;
                log_notice("The guest restarts itself");
        }
}

static void follow(int fd, void (*feed)(BootWatch *w, const char *data, size_t size, uint64_t now),
                Boot *b) {
        char buffer[65536];
        ssize_t n;

        while (fd >= 0 && (n = read(fd, buffer, sizeof(buffer))) > 0)
                feed(&b->watch, buffer, (size_t) n, now_usec());
}

static void look(Boot *b, VmProcess *p) {
        follow(b->console_fd, boot_watch_console, b);
        follow(b->journal_fd, boot_watch_journal, b);
        vm_monitor(p, on_event, b);

        size_t n = console_kept(&b->watch.console);
        progress_detail(b->ctx->progress, boot_phase_names[b->watch.phase],
                        b->last[0] ? b->last
                        : n > 0    ? console_kept_line(&b->watch.console, n - 1)
                                   : "");
}

static void rest(void) {
        struct pollfd fd = { .fd = interrupt_fd(), .events = POLLIN };

        if (interrupt_signal())
                fd.fd = -1;
        (void) poll(&fd, 1, TICK_MS);
}

/* Models are written before the machine runs. 1 once it runs, 0 not yet. */
static int release(Boot *b, VmProcess *p) {
        int r;

        if (!vm_monitor_ready(p))
                return 0;
        r = vm_set_models(vm_qemu_pid(p), &b->vm);
        if (r < 0) {
                log_error("Cannot set the model of the NVMe disks: %s",
                                r == -ENOENT ? "QEMU's controllers were not found in its memory"
                                             : strerror(-r));
                return r;
        }
        return vm_command(p, "cont") < 0 ? -EIO : 1;
}

/* QEMU ended on its own: was that the guest's wish, KVM's fault, or QEMU's? */
static void note_end(Boot *b, int status, const char *words) {
        if (b->guest_ended || status == 0)
                boot_watch_fail(&b->watch, now_usec(), "the guest switched itself off");
        else
                boot_watch_fail(&b->watch, now_usec(), "QEMU ended with exit code %d%s%s", status,
                                words ? ": " : "", strempty(words));
}

/* Until there is a verdict: 0; -EAGAIN: KVM is to blame, try without; -ETIMEDOUT, -ECANCELED, other
 * -errno (logged). */
static int wait_for_verdict(Boot *b, VmProcess *p, uint64_t deadline) {
        bool paused = b->vm.paused, may_distrust = b->vm.kvm && b->o->accel == VM_ACCEL_AUTO;
        int status, r;

        for (;;) {
                bool alive = vm_alive(p, &status);

                look(b, p);
                uint64_t now = now_usec();

                if (paused && alive) {
                        r = release(b, p);
                        if (r < 0)
                                return r;
                        paused = r == 0;
                }
                if (boot_watch_verdict(&b->watch, now) != BOOT_WAITING)
                        return 0;

                bool early = b->watch.phase < BOOT_KERNEL && b->watch.journal.n_entries == 0;
                if (!alive) {
                        _cleanup_free_ char *words = vm_last_words(p);

                        if (may_distrust && early && !b->guest_ended) {
                                kvm_distrust(words ? words : "QEMU died with it");
                                return -EAGAIN;
                        }
                        note_end(b, status, words);
                        return 0;
                }

                if (may_distrust && early && now - b->started > KVM_SILENCE_USEC &&
                                console_kept(&b->watch.console) == 0) {
                        kvm_distrust("a guest did not say a word with it");
                        return -EAGAIN;
                }

                if (interrupt_signal())
                        return -ECANCELED;
                if (now >= deadline)
                        return -ETIMEDOUT;
                rest();
        }
}

/* The last words after a verdict: a panic's trace, units that start with the marker. */
static void settle(Boot *b, VmProcess *p) {
        int status;

        for (uint64_t end = now_usec() + SETTLE_USEC;
                        now_usec() < end && vm_alive(p, &status) && !interrupt_signal();) {
                look(b, p);
                rest();
        }
}

static int run_command(Boot *b, VmProcess *p, uint64_t deadline) {
        int r, status;

        r = boot_ssh_wait(b, p, deadline);
        if (r < 0)
                return exit_code_from_errno(r);
        r = boot_ssh_command(b, &status);
        look(b, p);
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

static void keep_running(Boot *b, VmProcess *p) {
        int status;

        if (b->ssh_port)
                log_info("Running; ssh -p %u root@127.0.0.1 with your key; Ctrl-C ends it",
                                b->ssh_port);
        while (vm_alive(p, &status) && !interrupt_signal()) {
                look(b, p);
                rest();
        }
}

static void switch_off(Boot *b, VmProcess *p) {
        int status;

        if (b->o->power_off && b->watch.verdict == BOOT_REACHED && vm_alive(p, &status) &&
                        vm_command(p, "system_powerdown") >= 0) {
                uint64_t end = now_usec() + POWER_OFF_USEC;

                while (vm_alive(p, &status) && now_usec() < end && !interrupt_signal()) {
                        look(b, p);
                        rest();
                }
                if (vm_alive(p, &status))
                        log_warning("The guest did not switch itself off within %u s; its plug is pulled",
                                        (unsigned) (POWER_OFF_USEC / USEC_PER_SEC));
        }
        vm_stop(p);
        look(b, p);
}

static int conclude(Boot *b, VmProcess *p, uint64_t deadline) {
        _cleanup_strv_free_ char **unforgiven = NULL;
        int code = EXIT_OK;

        settle(b, p);
        if (b->watch.verdict == BOOT_FAILED)
                return EXIT_FAILED;
        if (b->o->strict) {
                if (boot_unforgiven(b, &unforgiven) < 0)
                        return EXIT_FAILED;
                if (strv_length(unforgiven) > 0)
                        code = EXIT_FAILED;
        }
        if (code == EXIT_OK && b->o->command)
                code = run_command(b, p, deadline);
        if (code == EXIT_OK)
                tell(b, "up");
        if (b->o->keep)
                keep_running(b, p);
        return code;
}

/* Before QEMU, so that it finds whom to send to. */
static int plug_in(Boot *b) {
        for (size_t i = 0; i < b->vm.n_links; i++) {
                const VmLink *l = b->vm.links + i;
                int r;

                r = link_start(l, b->folder, i, &b->ports[i]);
                if (r == -EADDRINUSE) {
                        log_error("%s%s%s is on the link %s already: give this machine another address",
                                        l->mac, l->address ? ", " : "", strempty(l->address),
                                        l->name);
                        return r;
                }
                if (r < 0)
                        return log_error_errno(r, "Cannot join the link %s", l->name);
        }
        return 0;
}

static void pull_out(Boot *b) {
        for (size_t i = 0; i < b->vm.n_links; i++) {
                link_stop(b->vm.links + i, b->ports[i]);
                b->ports[i] = 0;
        }
}

/* Starts QEMU once. An exit code, or -EAGAIN where KVM failed and another way is left. */
static int attempt(Boot *b) {
        const VmFolders folders = {
                .folder = b->folder,
                .console = b->console,
                .journal = b->o->no_journal ? NULL : b->journal,
                .image = b->image_folder,
                .kvm = b->vm.kvm,
        };
        _cleanup_strv_free_ char **argv = NULL;
        _cleanup_vm_free_ VmProcess *p = NULL;
        _cleanup_free_ char *problem = NULL;
        uint64_t deadline;
        int r;

        if (b->watch.readable)
                fclose(b->watch.readable);
        boot_watch_done(&b->watch);
        r = boot_watch_init(&b->watch, b->o->until, &problem);
        if (r < 0) {
                log_error("--until=%s: %s", b->o->until, problem ? problem : strerror(-r));
                return EXIT_USAGE;
        }

        b->watch.on_phase = on_phase;
        b->watch.on_unit = on_unit;
        b->watch.userdata = b;
        if (!b->o->no_journal)
                b->watch.readable = inside_print_output(b->logs, path_basename(b->readable));
        b->vm.paused = vm_wants_models(&b->vm);

        r = vm_argv(&b->vm, &argv);
        if (r < 0)
                return log_oom(), EXIT_FAILED;

        b->started = now_usec();
        deadline = b->started + b->o->timeout * USEC_PER_SEC;
        boot_report_start(b);
        r = vm_start(b->tools, &folders, argv, &p);
        if (r < 0) {
                log_error_errno(r, "Cannot start QEMU");
                return exit_code_from_errno(r);
        }

        b->watch.now = b->started;
        b->watch.reached_at[BOOT_FIRMWARE] = b->started;
        on_phase(&b->watch, BOOT_FIRMWARE, b);

        r = wait_for_verdict(b, p, deadline);
        if (r == 0)
                r = conclude(b, p, deadline);
        else if (r != -EAGAIN)
                r = exit_code_from_errno(r);

        b->ended = now_usec();
        switch_off(b, p);
        return r;
}

static int choose_accel(Boot *b) {
        int r;

        if (b->o->accel == VM_ACCEL_TCG)
                return 0;
        r = kvm_probe(&b->no_kvm);
        b->vm.kvm = r > 0;
        if (r > 0 || b->o->accel == VM_ACCEL_AUTO)
                return 0;
        log_error("--accel=kvm, but KVM is not usable: %s", b->no_kvm ? b->no_kvm : strerror(-r));
        return -ENOPKG;
}

int boot_run(Context *ctx, Tools *tools, const BootOptions *o) {
        _cleanup_boot_ Boot b = {
                .ctx = ctx,
                .tools = tools,
                .o = o,
                .vm = o->vm,
                .state_lock = -EBADF,
                .console_fd = -EBADF,
                .journal_fd = -EBADF,
        };
        int r;

        r = boot_prepare(&b);
        if (r < 0)
                return exit_code_from_errno(r);
        r = choose_accel(&b);
        if (r < 0)
                return exit_code_from_errno(r);

        r = plug_in(&b);
        if (r < 0) {
                pull_out(&b);
                return exit_code_from_errno(r);
        }
        r = attempt(&b);
        if (r == -EAGAIN) {
                log_warning("KVM does not run this guest; again without it");
                (void) kvm_probe(&b.no_kvm);
                b.vm.kvm = false;
                r = attempt(&b);
        }
        pull_out(&b);
        boot_report_end(&b, r);
        return r;
}
