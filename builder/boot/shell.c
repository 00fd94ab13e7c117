/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* --on-error=shell: a way into the guest that did not come up. Where sshd answers, a shell of
 * root's; else the serial console, on which systemd (256 and newer) has logged root in, and whose
 * emergency shell asks for no password (qemu.c). */

#include "boot/internal.h"
#include "boot/terminal.h"
#include "shared/duration.h"
#include "shared/time-util.h"

#define SSH_USEC (30 * USEC_PER_SEC)

typedef struct Machine {
        Boot *b;
        VmProcess *p;
} Machine;

static void look(void *userdata) {
        const Machine *m = userdata;

        boot_look(m->b, m->p);
}

/* Before there are services nobody answers, nor after a panic. */
static bool may_answer(const Boot *b) {
        return b->key && b->ssh_port && b->watch.phase >= BOOT_SERVICES && !b->panicked;
}

static bool shell_by_ssh(Boot *b) {
        char limit[FORMAT_DURATION_MAX];
        int r, status;

        if (!may_answer(b))
                return false;
        log_info("Trying ssh, for %s at most", format_duration(limit, SSH_USEC));
        r = ssh_try(b->key, b->ssh_port, SSH_USEC);
        if (r < 0)
                return false;

        log_notice("A shell of root's in the guest; its end ends the machine");
        r = ssh_run(b->key, b->ssh_port, NULL, &status);
        if (r < 0)
                log_error_errno(r, "Cannot run ssh");
        return r >= 0 && status != 255; /* ssh's own trouble */
}

static void shell_by_console(Boot *b, VmProcess *p) {
        Machine m = { b, p };
        _cleanup_close_ int fd = vm_console(p);
        int r;

        if (fd < 0) {
                log_error_errno(fd, "The guest's console cannot be had");
                return;
        }
        log_notice("The guest's console: Enter shows a prompt where there is one, Ctrl-] leaves and ends the machine");
        r = terminal_join(fd, STDIN_FILENO, STDERR_FILENO, look, &m);
        fputc('\n', stderr);
        if (r == 0)
                log_info("The machine has ended");
        if (r < 0 && r != -ECANCELED)
                log_error_errno(r, "The console is lost");
}

void boot_shell(Boot *b, VmProcess *p) {
        int status;

        if (!vm_alive(p, &status)) {
                log_notice("The machine has ended: there is no shell to be had in it");
                return;
        }

        b->ctx->progress = progress_free(b->ctx->progress); /* the terminal is the shell's */
        if (b->watch.verdict != BOOT_REACHED)
                log_error("The guest did not reach %s%s%s", b->o->until, b->watch.why ? ": " : "",
                                strempty(b->watch.why));
        if (!shell_by_ssh(b) && vm_alive(p, &status) && !interrupt_signal())
                shell_by_console(b, p);
        boot_look(b, p);
}
