/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whether /dev/kvm really runs guests. The device being there says little: on virtual machines
 * whose hypervisor does not nest, some kernels (KVM-PVM, nested set-ups) offer it and emulate every
 * guest instruction, at a million a second and with holes. A guest then starts and seems to hang.
 * So the question is asked by running guests:
 *
 *  1. a guest of a few instructions (kvm-guest.c), which needs nothing but the device;
 *  2. where that worked and this host has QEMU and a kernel in /boot: that kernel, until its first
 *     words.
 *
 * Everything runs in child processes with a hard limit. The answer is kept in /run for as long as
 * this boot lasts. */

#include "common/kvm.h"
#include "common/kvm-guest.h"

#include "shared/file-util.h"
#include "shared/json-util.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <glob.h>

#define TINY_GUEST_LIMIT (3 * USEC_PER_SEC)
#define KERNEL_GUEST_LIMIT (12 * USEC_PER_SEC)
#define ANSWER_MAX 65536 /* bytes */

/* The last readable file that matches, which is the newest kernel. */
static char *last_readable(const char *pattern) {
        glob_t g = {};
        char *result = NULL;

        if (glob(pattern, 0, NULL, &g) == 0)
                for (size_t n = g.gl_pathc; n > 0 && !result; n--)
                        if (access(g.gl_pathv[n - 1], R_OK) >= 0)
                                result = strdup(g.gl_pathv[n - 1]);
        globfree(&g);
        return result;
}

/* The newest readable kernel of this host; NULL where there is none. */
static char *host_kernel(void) {
        static const char *const patterns[] = { "/boot/vmlinuz-*", "/usr/lib/modules/*/vmlinuz",
                "/boot/vmlinuz" };

        for (size_t i = 0; i < ELEMENTSOF(patterns); i++) {
                char *kernel = last_readable(patterns[i]);

                if (kernel)
                        return kernel;
        }
        return NULL;
}

typedef struct KernelWatch {
        bool spoke;
        char *last; /* what QEMU said last, for the explanation */
} KernelWatch;

static void watch_line(const char *line, void *userdata) {
        KernelWatch *w = userdata;

        w->spoke = w->spoke || strstr(line, "Linux version ");
        if (!w->spoke && strstr(line, "qemu")) {
                free(w->last);
                w->last = strdup(line);
        }
}

static void watch_done(KernelWatch *w) {
        free(w->last);
}

/* A stock kernel until its first words. Without a root file system it panics at once, which ends
 * QEMU. */
static int run_kernel_guest(char **ret_why) {
        _cleanup_free_ char *kernel = host_kernel();
        _cleanup_(watch_done) KernelWatch watch = {};
        const SpawnOptions options = {
                .timeout_usec = KERNEL_GUEST_LIMIT,
                .on_line = watch_line,
                .line_data = &watch,
        };
        int r, status = 0;

        if (!kernel || !program_find("qemu-system-x86_64", NULL))
                return 1; /* nothing to ask with; the first guest's answer stands */
        r = spawn_run(&options,
                        ARGV("qemu-system-x86_64", "-accel", "kvm", "-cpu", "host", "-machine",
                                        "q35", "-m", "256", "-nodefaults", "-display", "none",
                                        "-serial", "stdio", "-no-reboot", "-kernel", kernel,
                                        "-append", "console=ttyS0 panic=-1"),
                        &status);
        if (watch.spoke)
                return 1;
        if (r < 0 && r != -ETIMEDOUT)
                return r;

        if (r == -ETIMEDOUT)
                *ret_why = strf("%s does not say a word within %u s under QEMU with KVM", kernel,
                                (unsigned) (KERNEL_GUEST_LIMIT / USEC_PER_SEC));
        else
                *ret_why = strf("%s does not start under QEMU with KVM: %s", kernel,
                                watch.last ? watch.last : "it ended silently");
        return *ret_why ? 0 : -ENOMEM;
}

static int read_boot_id(char **ret) {
        return read_line_file("/proc/sys/kernel/random/boot_id", ret);
}

/* Where the answer is kept; NULL where this user has no such place. */
static char *answer_path(void) {
        const char *runtime = getenv("XDG_RUNTIME_DIR");

        if (getuid() == 0 && access("/run", W_OK) >= 0)
                return strdup("/run/imgbuild-kvm.json");
        return isempty(runtime) ? NULL : path_join(runtime, "imgbuild-kvm.json");
}

int kvm_answer_parse(const char *text, const char *boot_id, bool *ret_usable, char **ret_why) {
        _cleanup_json_ json_object *o = NULL;
        JsonError error;
        bool usable;
        int r;

        r = json_parse(text, strlen(text), &error, &o);
        if (r < 0)
                return r;
        if (!streq_ptr(json_get_string(o, "boot"), boot_id) ||
                        !json_object_is_type(json_get(o, "usable"), json_type_boolean))
                return -ESTALE;

        usable = json_get_bool(o, "usable", false);
        if (!usable && !json_get_string(o, "why"))
                return -ESTALE;
        if (!usable && ret_why) {
                *ret_why = strdup(json_get_string(o, "why"));
                if (!*ret_why)
                        return -ENOMEM;
        }
        *ret_usable = usable;
        return 0;
}

static void keep_answer(bool usable, const char *why) {
        _cleanup_free_ char *path = answer_path(), *boot_id = NULL;
        _cleanup_json_ json_object *o = json_object_new_object();
        const char *text;
        int r;

        if (!path || !o || read_boot_id(&boot_id) < 0)
                return;
        if (json_set_fields(o, JSON_STRING("boot", boot_id), JSON_BOOL("usable", usable),
                            JSON_STRING("why", why)) < 0)
                return;
        text = json_object_to_json_string(o);
        r = write_file_atomic(path, text, strlen(text), 0644);
        if (r < 0)
                log_debug("The answer about KVM cannot be kept in %s: %s", path, strerror(-r));
}

static int kept_answer(bool *ret_usable, char **ret_why) {
        _cleanup_free_ char *path = answer_path(), *text = NULL, *boot_id = NULL;
        int r;

        if (!path)
                return -ENOENT;
        r = read_file(path, ANSWER_MAX, &text, NULL);
        if (r < 0)
                return r;
        r = read_boot_id(&boot_id);
        if (r < 0)
                return r;
        return kvm_answer_parse(text, boot_id, ret_usable, ret_why);
}

/* Runs the guests. Returns as kvm_probe(). */
static int run_guests(char **ret_why) {
        int r;

        r = kvm_run_tiny_guest("/dev/kvm", TINY_GUEST_LIMIT, ret_why);
        return r > 0 ? run_kernel_guest(ret_why) : r;
}

/* What is about this user is asked anew each time; the rest is about the machine. */
static int probe(char **ret_why) {
        bool usable;
        int r;

        r = kvm_device_check("/dev/kvm", ret_why);
        if (r <= 0)
                return r;
        if (kept_answer(&usable, ret_why) >= 0)
                return usable;

        r = run_guests(ret_why);
        if (r >= 0)
                keep_answer(r > 0, *ret_why);
        return r;
}

int kvm_probe(char **ret_why) {
        _cleanup_free_ char *why = NULL;
        int r = probe(&why);

        if (r == 0 && ret_why)
                *ret_why = TAKE_PTR(why);
        return r;
}

void kvm_distrust(const char *why) {
        keep_answer(false, why);
}
