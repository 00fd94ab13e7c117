/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One boot, from the start of QEMU to its end. The loop looks ten times a second at the console,
 * the journal and the monitor (follow.c), the clock and the signals; watch.c makes a verdict of it,
 * and conclude.c does what is to be done then. */

#include "boot/internal.h"
#include "shared/file-util.h"
#include "sandbox/open-inside.h"
#include "common/kvm.h"
#include "boot/link.h"
#include "boot/nvme-model.h"
#include "shared/time-util.h"

#include <signal.h>

#define KVM_SILENCE_USEC (45 * USEC_PER_SEC) /* firmware and boot loader on KVM take 5 s */

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

/* QEMU's own fault, whatever the guest did: 128 + one of these. Who sends it SIGKILL or SIGTERM
 * means it. */
static bool emulator_crashed(int status) {
        static const int faults[] = { SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGTRAP };

        for (size_t i = 0; i < ELEMENTSOF(faults); i++)
                if (status == 128 + faults[i])
                        return true;
        return false;
}

/* QEMU ended on its own: was that the guest's wish, KVM's fault, or QEMU's? */
static void note_end(Boot *b, int status, const char *words) {
        if (b->guest_ended || status == 0)
                boot_watch_fail(&b->watch, now_usec(), "the guest switched itself off");
        else if (emulator_crashed(status))
                boot_watch_fail(&b->watch, now_usec(), "QEMU crashed twice (%s)%s%s",
                                strsignal(status - 128), words ? ": " : "", strempty(words));
        else
                boot_watch_fail(&b->watch, now_usec(), "QEMU ended with exit code %d%s%s", status,
                                words ? ": " : "", strempty(words));
}

/* Until there is a verdict: 0; -EAGAIN: KVM is to blame, try without; -ECHILD: QEMU crashed, for
 * the first time; -ETIMEDOUT,
 * -ECANCELED, other -errno (logged). */
static int wait_for_verdict(Boot *b, VmProcess *p, uint64_t deadline) {
        bool paused = b->vm.paused, may_distrust = b->vm.kvm && b->o->accel == VM_ACCEL_AUTO;
        int status, r;

        for (;;) {
                bool alive = vm_alive(p, &status);

                boot_look(b, p);
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
                        if (emulator_crashed(status) && !b->crashed) {
                                b->crashed = true;
                                log_warning("QEMU crashed (%s), which is no fault of the guest's; it is switched on once more",
                                                strsignal(status - 128));
                                return -ECHILD;
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
                boot_rest();
        }
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

/* What an earlier start left: QEMU begins both logs anew. */
static void forget_start(Boot *b) {
        if (b->console_fd >= 0)
                (void) lseek(b->console_fd, 0, SEEK_SET);
        if (b->journal_fd >= 0)
                (void) lseek(b->journal_fd, 0, SEEK_SET);
        b->guest_ended = b->panicked = false;
        b->resets = 0;
        b->last[0] = '\0';
}

/* Starts QEMU once. An exit code; -EAGAIN where KVM failed and another way is left, -ECHILD where
 * QEMU crashed. */
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

        forget_start(b);
        boot_follow(b);
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
        b->watch.on_phase(&b->watch, BOOT_FIRMWARE, b);

        r = wait_for_verdict(b, p, deadline);
        if (r == 0)
                r = boot_conclude(b, p, deadline);
        else if (r != -EAGAIN && r != -ECHILD)
                r = boot_give_up(b, p, r);

        b->ended = now_usec();
        boot_switch_off(b, p);
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
        while ((r = attempt(&b)) == -EAGAIN || r == -ECHILD) {
                if (r == -ECHILD)
                        continue;
                log_warning("KVM does not run this guest; again without it");
                (void) kvm_probe(&b.no_kvm);
                b.vm.kvm = false;
        }
        pull_out(&b);
        boot_report_end(&b, r);
        return r;
}
