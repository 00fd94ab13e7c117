/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A command in the guest, over ssh with a key that lives as long as the boot. */

#include "boot/internal.h"
#include "sandbox/open-inside.h"
#include "shared/file-util.h"
#include "shared/quote.h"
#include "shared/time-util.h"

#include <time.h>

#define KEY_MAX 4096 /* bytes of a public key */

int boot_ssh_key(Boot *b) {
        _cleanup_free_ char *public = NULL, *output = NULL, *text = NULL;
        int r, status;

        b->key = path_join(b->folder, "ssh-key");
        public = b->key ? strf("%s.pub", b->key) : NULL;
        if (!public)
                return log_oom();
        if (access(b->key, R_OK) < 0) {
                r = spawn_capture(NULL,
                                ARGV("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C",
                                                "imgbuild-boot", "-f", b->key),
                                &output, &status);
                if (r == -ENOENT) {
                        log_error("A command in the guest needs ssh here: apt install openssh-client");
                        return -ENOPKG;
                }
                if (r >= 0 && status != 0)
                        r = -EIO;
                if (r < 0)
                        return log_error_errno(r, "ssh-keygen makes no key: %s", strempty(output));
        }
        r = inside_read_output(b->folder, path_basename(public), KEY_MAX, &text, NULL);
        if (r < 0)
                return log_error_errno(r, "Cannot read %s", public);
        text[strcspn(text, "\n")] = '\0';
        r = strv_push(&b->keys, TAKE_PTR(text));
        return r < 0 ? log_oom() : 0;
}

static int ssh_argv(const Boot *b, char ***ret) {
        char port[16];

        snprintf(port, sizeof(port), "%u", b->ssh_port);
        *ret = strv_copy(ARGV("ssh", "-q", "-F", "/dev/null", "-i", b->key, "-o",
                        "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o",
                        "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o",
                        "ConnectTimeout=20", "-o", "LogLevel=ERROR", "-p", port, "root@127.0.0.1"));
        return *ret ? 0 : -ENOMEM;
}

int boot_ssh_wait(Boot *b, VmProcess *p, uint64_t deadline) {
        const struct timespec pause = { .tv_nsec = 500 * 1000 * 1000 };
        _cleanup_strv_free_ char **argv = NULL;
        _cleanup_free_ char *last = NULL;
        int r, status;

        if (ssh_argv(b, &argv) < 0 || strv_extend(&argv, "true") < 0)
                return log_oom();

        for (;;) {
                SpawnOptions options = { .timeout_usec = 60 * USEC_PER_SEC };

                free(last);
                last = NULL;
                r = spawn_capture(&options, argv, &last, &status);
                if (r >= 0 && status == 0)
                        return 0;
                if (r < 0 && r != -ETIMEDOUT)
                        return r == -ECANCELED ? r : log_error_errno(r, "Cannot run ssh");
                if (!vm_alive(p, &status)) {
                        log_error("QEMU ended before root could log in");
                        return -EIO;
                }
                if (now_usec() > deadline) {
                        log_error("root cannot log in over ssh: %s",
                                        isempty(last) ? "no answer" : last);
                        return -ETIMEDOUT;
                }
                nanosleep(&pause, NULL);
        }
}

/* One word is a command line, as with ssh itself; of several, the guest's shell is to see each as it
 * was given. */
static int add_command(char ***argv, char *const *command) {
        if (strv_length(command) == 1)
                return strv_extend(argv, command[0]);

        STRV_FOREACH (word, command) {
                int r = strv_push(argv, shell_quote(*word));

                if (r < 0)
                        return r;
        }
        return 0;
}

int boot_ssh_command(Boot *b, int *ret_status) {
        _cleanup_strv_free_ char **argv = NULL;
        const SpawnOptions options = { .stdin_inherit = true };

        if (ssh_argv(b, &argv) < 0)
                return log_oom();
        if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && strv_extend(&argv, "-t") < 0)
                return log_oom();
        if (add_command(&argv, b->o->command) < 0)
                return log_oom();

        return spawn_run(&options, argv, ret_status);
}
