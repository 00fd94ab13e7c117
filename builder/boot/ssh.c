/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A command in the guest, over ssh with a key that lives as long as the boot. */

#include "boot/boot.h"
#include "shared/file-util.h"

#include <time.h>

int boot_ssh_key(Boot *b) {
        _cleanup_free_ char *public = NULL, *output = NULL, *text = NULL;
        int r, status;

        b->key = path_join(b->folder, "ssh-key");
        public = b->key ? strf("%s.pub", b->key) : NULL;
        if (!public)
                return log_oom();
        if (access(b->key, R_OK) < 0) {
                char *const argv[] = {
                        (char *) "ssh-keygen",
                        (char *) "-q",
                        (char *) "-t",
                        (char *) "ed25519",
                        (char *) "-N",
                        (char *) "",
                        (char *) "-C",
                        (char *) "imgbuild-boot",
                        (char *) "-f",
                        b->key,
                        NULL,
                };
                r = spawn_capture(NULL, argv, &output, &status);
                if (r == -ENOENT) {
                        log_error("A command in the guest needs ssh here: apt install openssh-client");
                        return -ENOPKG;
                }
                if (r >= 0 && status != 0)
                        r = -EIO;
                if (r < 0)
                        return log_error_errno(r, "ssh-keygen makes no key: %s", strempty(output));
        }
        r = read_line_file(public, &text);
        if (r < 0)
                return log_error_errno(r, "Cannot read %s", public);
        r = strv_push(&b->keys, TAKE_PTR(text));
        return r < 0 ? log_oom() : 0;
}

static int ssh_argv(const Boot *b, char ***ret) {
        _cleanup_strv_free_ char **argv = NULL;
        int r;

        r = strv_extend_many(&argv, "ssh", "-q", "-F", "/dev/null", "-i", b->key, "-o",
                        "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o",
                        "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o",
                        "ConnectTimeout=20", "-o", "LogLevel=ERROR", "-p", NULL);
        if (r >= 0)
                r = strv_extendf(&argv, "%u", b->ssh_port);
        if (r >= 0)
                r = strv_extend(&argv, "root@127.0.0.1");
        if (r < 0)
                return r;
        *ret = TAKE_PTR(argv);
        return 0;
}

int boot_ssh_wait(Boot *b, VmProcess *p, uint64_t deadline) {
        const struct timespec pause = { .tv_nsec = 500 * 1000 * 1000 };
        _cleanup_strv_free_ char **argv = NULL;
        _cleanup_free_ char *last = NULL;
        int r, status;

        r = ssh_argv(b, &argv);
        if (r >= 0)
                r = strv_extend(&argv, "true");
        if (r < 0)
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
                if (boot_clock() > deadline) {
                        log_error("root cannot log in over ssh: %s",
                                        isempty(last) ? "no answer" : last);
                        return -ETIMEDOUT;
                }
                nanosleep(&pause, NULL);
        }
}

/* The guest's shell takes the command as one string; what we were given are words. */
static char *quoted(const char *word) {
        char *result = malloc(4 * strlen(word) + 3), *p = result;

        if (!result)
                return NULL;
        *p++ = '\'';
        for (; *word; word++)
                if (*word == '\'')
                        p = stpcpy(p, "'\\''");
                else
                        *p++ = *word;
        *p++ = '\'';
        *p = '\0';
        return result;
}

int boot_ssh_command(Boot *b, int *ret_status) {
        _cleanup_strv_free_ char **argv = NULL;
        SpawnOptions options = { .stdin_inherit = true };
        int r;

        r = ssh_argv(b, &argv);
        if (r >= 0 && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
                r = strv_extend(&argv, "-t");
        /* One word is a command line, as with ssh itself; several are words. */
        if (r >= 0 && strv_length(b->o->command) == 1)
                r = strv_extend(&argv, b->o->command[0]);
        else
                for (size_t i = 0; r >= 0 && b->o->command[i]; i++)
                        r = strv_push(&argv, quoted(b->o->command[i]));
        if (r < 0)
                return log_oom();
        return spawn_run(&options, argv, ret_status);
}
