/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A command in the guest, over ssh with a key that lives as long as the boot. */

#include "boot/internal.h"
#include "sandbox/open-inside.h"
#include "shared/file-util.h"
#include "shared/quote.h"
#include "shared/time-util.h"

#include <time.h>

#define KEY_MAX 4096 /* bytes of a public key */

int ssh_make_key(const char *folder, char ***keys) {
        _cleanup_free_ char *path = path_join(folder, "ssh-key"),
                            *public = strf("%s/ssh-key.pub", folder), *output = NULL, *text = NULL;
        int r, status;

        if (!path || !public)
                return log_oom();
        if (access(path, R_OK) < 0) {
                r = spawn_capture(NULL,
                                ARGV("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C",
                                                "imgbuild-boot", "-f", path),
                                &output, &status);
                if (r == -ENOENT) {
                        log_error("A command in the guest needs ssh here: apt install openssh-client");
                        return -ENOPKG;
                }
                if (r < 0)
                        return log_error_errno(r, "Cannot run ssh-keygen");
                if (status != 0)
                        return log_error_return(
                                        -EIO, "ssh-keygen makes no key: %s", strempty(output));
        }
        r = inside_read_output(folder, path_basename(public), KEY_MAX, &text, NULL);
        if (r < 0)
                return log_error_errno(r, "Cannot read %s", public);
        text[strcspn(text, "\n")] = '\0';
        r = strv_push(keys, TAKE_PTR(text));
        return r < 0 ? log_oom() : 0;
}

static int ssh_argv(const char *key, uint16_t port, char ***ret) {
        char number[16];

        snprintf(number, sizeof(number), "%u", port);
        *ret = strv_copy(ARGV("ssh", "-q", "-F", "/dev/null", "-i", key, "-o", "IdentitiesOnly=yes",
                        "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o",
                        "UserKnownHostsFile=/dev/null", "-o", "ConnectTimeout=20", "-o",
                        "LogLevel=ERROR", "-p", number, "root@127.0.0.1"));
        return *ret ? 0 : -ENOMEM;
}

int ssh_wait(const char *key, uint16_t port, bool (*alive)(void *userdata), void *userdata,
                uint64_t deadline) {
        const struct timespec pause = { .tv_nsec = 500 * 1000 * 1000 };
        _cleanup_strv_free_ char **argv = NULL;
        _cleanup_free_ char *last = NULL;
        int r, status;

        if (ssh_argv(key, port, &argv) < 0 || strv_extend(&argv, "true") < 0)
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
                if (!alive(userdata)) {
                        log_error("The machine ended before root could log in: its console, above or with --save FOLDER, says why");
                        return -EIO;
                }
                if (now_usec() > deadline) {
                        log_error("root cannot log in over ssh: %s; the image needs sshd, and cloud-init that takes the seed's key",
                                        isempty(last) ? "no answer" : last);
                        return -ETIMEDOUT;
                }
                nanosleep(&pause, NULL);
        }
}

int ssh_try(const char *key, uint16_t port, uint64_t usec) {
        const SpawnOptions options = { .timeout_usec = usec };
        _cleanup_strv_free_ char **argv = NULL;
        _cleanup_free_ char *output = NULL;
        int r, status;

        r = ssh_argv(key, port, &argv);
        if (r < 0)
                return r;
        r = strv_extend(&argv, "true");
        if (r < 0)
                return r;
        r = spawn_capture(&options, argv, &output, &status);
        return r < 0 ? r : status == 0 ? 0 : -ECONNREFUSED;
}

/* One word is a command line, as with ssh itself; of several, the guest's shell is to see each as
 * it was given. */
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

int ssh_run(const char *key, uint16_t port, char *const *command, int *ret_status) {
        _cleanup_strv_free_ char **argv = NULL;
        const SpawnOptions options = { .stdin_inherit = true };

        if (ssh_argv(key, port, &argv) < 0)
                return log_oom();
        if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && strv_extend(&argv, "-t") < 0)
                return log_oom();
        if (add_command(&argv, command) < 0)
                return log_oom();

        return spawn_run(&options, argv, ret_status);
}

int boot_ssh_key(Boot *b) {
        b->key = path_join(b->folder, "ssh-key");
        return b->key ? ssh_make_key(b->folder, &b->keys) : log_oom();
}

static bool qemu_alive(void *userdata) {
        int status;

        return vm_alive(userdata, &status);
}

int boot_ssh_wait(Boot *b, VmProcess *p, uint64_t deadline) {
        return ssh_wait(b->key, b->ssh_port, qemu_alive, p, deadline);
}

int boot_ssh_command(Boot *b, int *ret_status) {
        return ssh_run(b->key, b->ssh_port, b->o->command, ret_status);
}
