/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A guest of a few instructions, made from raw ioctls: long mode with paging, x87 and SSE, CPUID,
 * then forty million instructions. Hardware needs 10 ms, QEMU's TCG (one level down) 0.2 s; an
 * emulator dies at the x87 instruction or is still counting when the time is up. */

#include "common/kvm-guest.h"

#include <fcntl.h>
#include <linux/kvm.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

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
        struct kvm_run *run;
        int cpu, run_size;

        if (!cpuid)
                return TINY_SETUP;
        cpuid->nent = N_CPUID;
        cpu = ioctl(vm, KVM_CREATE_VCPU, 0);
        run_size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
        if (cpu < 0 || run_size < (int) sizeof(struct kvm_run))
                return TINY_SETUP;
        run = mmap(NULL, (size_t) run_size, PROT_READ | PROT_WRITE, MAP_SHARED, cpu, 0);
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
        uint8_t *memory;
        int kvm, vm;

        kvm = open(device, O_RDWR | O_CLOEXEC);
        if (kvm < 0)
                return errno == EACCES || errno == EPERM ? TINY_NO_PERMISSION : TINY_NO_DEVICE;
        vm = ioctl(kvm, KVM_CREATE_VM, 0);
        if (vm < 0)
                return errno == EBUSY ? TINY_BUSY : errno == ENOTTY ? TINY_NO_DEVICE : TINY_SETUP;

        memory = mmap(NULL, GUEST_MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                        0);
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
        *ret_why = strdup(why);
        return *ret_why ? 0 : -ENOMEM;
}

int kvm_device_check(const char *device, char **ret_why) {
        if (access(device, F_OK) < 0)
                return answer_no(tiny_why[TINY_NO_DEVICE], ret_why);
        if (access(device, R_OK | W_OK) < 0)
                return answer_no(tiny_why[TINY_NO_PERMISSION], ret_why);
        return 1;
}

/* Whether the child ends in time; it is killed where not. */
static int wait_for(pid_t pid, uint64_t timeout_usec, bool *ret_ended, int *ret_status) {
        _cleanup_close_ int pidfd = (int) syscall(SYS_pidfd_open, pid, 0);
        struct pollfd p = { .fd = pidfd, .events = POLLIN };

        *ret_ended = pidfd >= 0 && poll(&p, 1, (int) (timeout_usec / USEC_PER_MSEC)) > 0;
        if (!*ret_ended)
                kill(pid, SIGKILL);
        while (waitpid(pid, ret_status, 0) < 0)
                if (errno != EINTR)
                        return -errno;
        return 0;
}

int kvm_run_tiny_guest(const char *device, uint64_t timeout_usec, char **ret_why) {
        pid_t pid, parent = getpid();
        int r, status = 0;
        bool ended;

        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0) {
                if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
                        _exit(TINY_SETUP);
                _exit(run_guest(device));
        }

        r = wait_for(pid, timeout_usec, &ended, &status);
        if (r < 0)
                return r;
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
