/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whether /dev/kvm really runs guests. The device being there says little: on virtual machines
 * whose hypervisor does not nest, some kernels (KVM-PVM, nested set-ups) offer it and emulate every
 * guest instruction, at a million a second and with holes. A guest then starts and seems to hang.
 * So the question is asked by running guests:
 *
 *  1. a guest of a few instructions, made here from raw ioctls: long mode with paging, x87 and SSE,
 * CPUID, then forty million instructions. Hardware needs 10 ms, QEMU's TCG (one level down) 0.2 s;
 * an emulator dies at the x87 instruction or is still counting when the time is up. It needs
 * nothing but the device.
 *  2. where that worked and this host has QEMU and a kernel in /boot: that kernel, until its first
 * words.
 *
 * Everything runs in child processes with a hard limit. The answer is kept in /run for as long as
 * this boot lasts. */

#include "common/kvm.h"

#include "shared/file-util.h"
#include "shared/json-util.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <glob.h>
#include <linux/kvm.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define TINY_GUEST_LIMIT (3 * USEC_PER_SEC)
#define KERNEL_GUEST_LIMIT (12 * USEC_PER_SEC)

/* The guest's memory: code, then page tables that map the first 2 MiB onto themselves. */
#define GUEST_MEMORY 0x10000
#define CODE_AT 0x1000
#define STACK_TOP 0x2000
#define PML4_AT 0x3000
#define PDPT_AT 0x4000
#define PD_AT 0x5000

#define REPORT_PORT 0xe9
#define REPORT_VALUE 'K'

static const uint8_t guest_code[] = {
        0xdb, 0xe3,                   /* fninit */
        0x9b,                         /* fwait */
        0x0f, 0x57, 0xc0,             /* xorps %xmm0, %xmm0 */
        0x31, 0xc0,                   /* xor %eax, %eax */
        0x0f, 0xa2,                   /* cpuid */
        0xb9, 0x00, 0x2d, 0x31, 0x01, /* mov $20000000, %ecx */
        0xff, 0xc9,                   /* dec %ecx */
        0x75, 0xfc,                   /* jnz, back to dec */
        0xb0, REPORT_VALUE,           /* mov $'K', %al */
        0xe6, REPORT_PORT,            /* out %al, $0xe9 */
        0xf4,                         /* hlt */
};

/* What the child tells: one of these as its exit status. */
typedef enum TinyResult {
        TINY_RAN,
        TINY_NO_DEVICE,
        TINY_NO_PERMISSION,
        TINY_BUSY,
        TINY_SETUP,
        TINY_INTERNAL_ERROR,
        TINY_WRONG_EXIT,
} TinyResult;

static const char *const tiny_why[] = {
        [TINY_NO_DEVICE] =
                        "there is no /dev/kvm: the CPU's virtualization is off in the firmware, its module (kvm_intel, kvm_amd) is not loaded, or this is a virtual machine without nesting",
        [TINY_NO_PERMISSION] = "/dev/kvm may not be opened by this user: add it to the group kvm",
        [TINY_BUSY] = "another hypervisor has the CPU's virtualization",
        [TINY_SETUP] = "the kernel's KVM refuses to set up a guest",
        [TINY_INTERNAL_ERROR] =
                        "a guest of a few instructions ends in a KVM internal error: this kernel emulates guests instead of running them on the CPU",
        [TINY_WRONG_EXIT] = "a guest of a few instructions does not do what they say",
};

static void set_long_mode(struct kvm_sregs *s) {
        struct kvm_segment code = {
                .base = 0,
                .limit = 0xffffffff,
                .selector = 8,
                .type = 11,
                .present = 1,
                .s = 1,
                .l = 1,
                .g = 1,
        };
        struct kvm_segment data = code;

        data.selector = 16;
        data.type = 3;
        data.l = 0;
        data.db = 1;
        s->cs = code;
        s->ds = s->es = s->fs = s->gs = s->ss = data;
        s->cr3 = PML4_AT;
        s->cr4 = 1 << 5 | 1 << 9 | 1 << 10;                         /* PAE, OSFXSR, OSXMMEXCPT */
        s->cr0 = 1u << 31 | 1 << 16 | 1 << 5 | 1 << 4 | 1 << 1 | 1; /* PG, WP, NE, ET, MP, PE */
        s->efer = 1 << 10 | 1 << 8;                                 /* LMA, LME */
}

/* One virtual CPU in long mode, until it reports or fails. All of this runs in the child, which
 * exits next. */
static TinyResult run_cpu(int kvm, int vm) {
        enum { N_CPUID = 256 };
        _cleanup_free_ struct kvm_cpuid2 *cpuid =
                        calloc(1, sizeof(*cpuid) + N_CPUID * sizeof(cpuid->entries[0]));
        struct kvm_regs regs = { .rip = CODE_AT, .rsp = STACK_TOP, .rflags = 2 };
        struct kvm_sregs sregs;

        if (!cpuid)
                return TINY_SETUP;
        cpuid->nent = N_CPUID;
        int cpu = ioctl(vm, KVM_CREATE_VCPU, 0);
        int run_size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
        if (cpu < 0 || run_size < (int) sizeof(struct kvm_run))
                return TINY_SETUP;
        struct kvm_run *run =
                        mmap(NULL, (size_t) run_size, PROT_READ | PROT_WRITE, MAP_SHARED, cpu, 0);
        if (run == MAP_FAILED)
                return TINY_SETUP;

        if (ioctl(kvm, KVM_GET_SUPPORTED_CPUID, cpuid) < 0 ||
                        ioctl(cpu, KVM_SET_CPUID2, cpuid) < 0 ||
                        ioctl(cpu, KVM_GET_SREGS, &sregs) < 0)
                return TINY_SETUP;
        set_long_mode(&sregs);
        if (ioctl(cpu, KVM_SET_SREGS, &sregs) < 0 || ioctl(cpu, KVM_SET_REGS, &regs) < 0)
                return TINY_SETUP;

        while (ioctl(cpu, KVM_RUN, 0) < 0)
                if (errno != EINTR && errno != EAGAIN)
                        return TINY_INTERNAL_ERROR;
        if (run->exit_reason == KVM_EXIT_INTERNAL_ERROR)
                return TINY_INTERNAL_ERROR;
        if (run->exit_reason != KVM_EXIT_IO || run->io.port != REPORT_PORT ||
                        *((const uint8_t *) run + run->io.data_offset) != REPORT_VALUE)
                return TINY_WRONG_EXIT;
        return TINY_RAN;
}

static TinyResult run_guest(const char *device) {
        struct kvm_userspace_memory_region region = { .memory_size = GUEST_MEMORY };

        int kvm = open(device, O_RDWR | O_CLOEXEC);
        if (kvm < 0)
                return errno == EACCES || errno == EPERM ? TINY_NO_PERMISSION : TINY_NO_DEVICE;
        int vm = ioctl(kvm, KVM_CREATE_VM, 0);
        if (vm < 0)
                return errno == EBUSY ? TINY_BUSY : errno == ENOTTY ? TINY_NO_DEVICE : TINY_SETUP;

        uint8_t *memory = mmap(NULL, GUEST_MEMORY, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
                return TINY_SETUP;
        memcpy(memory + CODE_AT, guest_code, sizeof(guest_code));
        *(uint64_t *) (memory + PML4_AT) = PDPT_AT | 3; /* present, writable */
        *(uint64_t *) (memory + PDPT_AT) = PD_AT | 3;
        *(uint64_t *) (memory + PD_AT) = 0x80 | 3; /* one page of 2 MiB */
        region.userspace_addr = (uintptr_t) memory;
        if (ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region) < 0)
                return TINY_SETUP;
        return run_cpu(kvm, vm);
}

static int answer_no(const char *why, char **ret_why) {
        if (ret_why) {
                *ret_why = strdup(why);
                if (!*ret_why)
                        return -ENOMEM;
        }
        return 0;
}

int kvm_run_tiny_guest(const char *device, uint64_t timeout_usec, char **ret_why) {
        int status = 0;
        pid_t pid, parent = getpid();

        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0) {
                if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
                        _exit(TINY_SETUP);
                _exit(run_guest(device));
        }
        _cleanup_close_ int pidfd = (int) syscall(SYS_pidfd_open, pid, 0);
        struct pollfd p = { .fd = pidfd, .events = POLLIN };
        bool ended = pidfd >= 0 && poll(&p, 1, (int) (timeout_usec / USEC_PER_MSEC)) > 0;
        if (!ended)
                kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return -errno;

        if (!ended)
                return answer_no(
                                "a guest of a few instructions does not finish in time: this kernel emulates guests instead of running them on the CPU",
                                ret_why);
        if (!WIFEXITED(status) || WEXITSTATUS(status) >= (int) ELEMENTSOF(tiny_why))
                return answer_no(
                                "the process of a guest of a few instructions was killed", ret_why);
        if (WEXITSTATUS(status) != TINY_RAN)
                return answer_no(tiny_why[WEXITSTATUS(status)], ret_why);
        return 1;
}

/* The newest readable kernel of this host; NULL where there is none. */
static char *host_kernel(void) {
        static const char *const patterns[] = { "/boot/vmlinuz-*", "/usr/lib/modules/*/vmlinuz",
                "/boot/vmlinuz" };

        for (size_t i = 0; i < ELEMENTSOF(patterns); i++) {
                glob_t g = {};
                char *result = NULL;

                if (glob(patterns[i], 0, NULL, &g) == 0)
                        for (size_t n = g.gl_pathc; n > 0 && !result; n--)
                                if (access(g.gl_pathv[n - 1], R_OK) >= 0)
                                        result = strdup(g.gl_pathv[n - 1]);
                globfree(&g);
                if (result)
                        return result;
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

/* A stock kernel until its first words. Without a root file system it panics at once, which ends
 * QEMU. */
static int run_kernel_guest(char **ret_why) {
        _cleanup_free_ char *kernel = host_kernel(), *why = NULL;
        KernelWatch watch = {};
        SpawnOptions options = {
                .timeout_usec = KERNEL_GUEST_LIMIT,
                .on_line = watch_line,
                .line_data = &watch,
        };
        char *argv[] = {
                (char *) "qemu-system-x86_64",
                (char *) "-accel",
                (char *) "kvm",
                (char *) "-cpu",
                (char *) "host",
                (char *) "-machine",
                (char *) "q35",
                (char *) "-m",
                (char *) "256",
                (char *) "-nodefaults",
                (char *) "-display",
                (char *) "none",
                (char *) "-serial",
                (char *) "stdio",
                (char *) "-no-reboot",
                (char *) "-kernel",
                kernel,
                (char *) "-append",
                (char *) "console=ttyS0 panic=-1",
                NULL,
        };
        int r, status = 0;

        if (!kernel || !program_find(argv[0], NULL))
                return 1; /* nothing to ask with; the first guest's answer stands */
        r = spawn_run(&options, argv, &status);
        if (watch.spoke) {
                free(watch.last);
                return 1;
        }
        if (r == -ETIMEDOUT)
                why = strf("%s does not say a word within %u s under QEMU with KVM", kernel,
                                (unsigned) (KERNEL_GUEST_LIMIT / USEC_PER_SEC));
        else if (r >= 0)
                why = strf("%s does not start under QEMU with KVM: %s", kernel,
                                watch.last ? watch.last : "it ended silently");
        free(watch.last);
        if (r < 0 && r != -ETIMEDOUT)
                return r;
        return why ? answer_no(why, ret_why) : -ENOMEM;
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
        int r;

        r = json_parse(text, strlen(text), &error, &o);
        if (r < 0)
                return r;
        if (!streq_ptr(json_get_string(o, "boot"), boot_id) ||
                        !json_object_is_type(json_get(o, "usable"), json_type_boolean))
                return -ESTALE;
        bool usable = json_get_bool(o, "usable", false);
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

        if (!path || !o || read_boot_id(&boot_id) < 0)
                return;
        if (json_set_string(o, "boot", boot_id) < 0 ||
                        json_set(o, "usable", json_object_new_boolean(usable)) < 0 ||
                        json_set_string(o, "why", why) < 0)
                return;
        const char *text = json_object_to_json_string(o);
        int r = write_file_atomic(path, text, strlen(text), 0644);
        if (r < 0)
                log_debug("The answer about KVM cannot be kept in %s: %s", path, strerror(-r));
}

static int kept_answer(bool *ret_usable, char **ret_why) {
        _cleanup_free_ char *path = answer_path(), *text = NULL, *boot_id = NULL;
        int r;

        if (!path)
                return -ENOENT;
        r = read_file(path, 65536, &text, NULL);
        if (r >= 0)
                r = read_boot_id(&boot_id);
        if (r < 0)
                return r;
        return kvm_answer_parse(text, boot_id, ret_usable, ret_why);
}

int kvm_probe(char **ret_why) {
        _cleanup_free_ char *why = NULL;
        bool usable;
        int r;

        /* What is about this user is asked anew each time; the rest is about the machine. */
        if (access("/dev/kvm", F_OK) < 0)
                return answer_no(tiny_why[TINY_NO_DEVICE], ret_why);
        if (access("/dev/kvm", R_OK | W_OK) < 0)
                return answer_no(tiny_why[TINY_NO_PERMISSION], ret_why);
        if (kept_answer(&usable, ret_why) >= 0)
                return usable;

        r = kvm_run_tiny_guest("/dev/kvm", TINY_GUEST_LIMIT, &why);
        if (r > 0)
                r = run_kernel_guest(&why);
        if (r < 0)
                return r;
        keep_answer(r > 0, why);
        if (r == 0 && ret_why)
                *ret_why = TAKE_PTR(why);
        return r;
}

void kvm_distrust(const char *why) {
        keep_answer(false, why);
}
