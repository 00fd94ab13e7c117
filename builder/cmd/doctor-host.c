/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the kernel and the machine have to offer. Where a look at a file could lie (a limit, a
 * security module, a container), the thing itself is tried, in a child process. */

#include "cmd/doctor-report.h"

#include "shared/file-util.h"
#include "inspect/inspect.h"
#include "common/kvm.h"
#include "shared/size.h"
#include "shared/spawn.h"
#include "stage/tools.h"

#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>

#define NATIVE "build boot shell check export"
#define GIB (UINT64_C(1) << 30)

/* Room a store needs: the tools tree and a CPU image with their downloads take 2.5 GiB, the GPU
 * image 8 GiB. */
#define SPACE_NEEDED (3 * GIB)
#define SPACE_COMFORTABLE (12 * GIB)
#define MEMORY_NEEDED (3 * GIB / 2)

/* Runs fn in a child: 0, or the errno that it ends with. */
static int try_in_child(int (*fn)(void *userdata), void *userdata) {
        int status;
        pid_t pid = fork();

        if (pid < 0)
                return errno;
        if (pid == 0)
                _exit(-fn(userdata));
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return errno;
        return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

static int enter_user_namespace(void *userdata _unused_) {
        return unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 ? -errno : 0;
}

static int write_proc(const char *path, const char *text) {
        _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

        return fd < 0 ? -errno : write_all(fd, text, strlen(text));
}

/* Without a map a file of our own is nobody's there, and an overlay cannot make its work folder. */
static int enter_as_root(void) {
        _cleanup_free_ char *uids = strf("0 %u 1", (unsigned) geteuid()),
                            *gids = strf("0 %u 1", (unsigned) getegid());
        int r;

        if (!uids || !gids)
                return -ENOMEM;
        if (unshare(CLONE_NEWNS | CLONE_NEWUSER) < 0)
                return -errno;
        r = write_proc("/proc/self/setgroups", "deny");
        if (r < 0)
                return r;
        r = write_proc("/proc/self/uid_map", uids);
        if (r < 0)
                return r;
        return write_proc("/proc/self/gid_map", gids);
}

/* A namespace of its own and an overlay in it, as sandbox/ mounts one. */
static int mount_overlay(void *userdata) {
        _cleanup_free_ char *options = NULL, *lower = path_join(userdata, "lower"),
                            *upper = path_join(userdata, "upper"),
                            *work = path_join(userdata, "work"),
                            *root = path_join(userdata, "root");
        bool user = geteuid() != 0;
        int r;

        if (!lower || !upper || !work || !root)
                return -ENOMEM;
        if (mkdir(lower, 0755) < 0 || mkdir(upper, 0755) < 0 || mkdir(work, 0755) < 0 ||
                        mkdir(root, 0755) < 0)
                return -errno;
        r = user ? enter_as_root() : unshare(CLONE_NEWNS) < 0 ? -errno : 0;
        if (r < 0)
                return r;
        if (!user && mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
                return -errno;
        options = strf("%slowerdir=%s,upperdir=%s,workdir=%s", user ? "userxattr," : "", lower,
                        upper, work);
        if (!options)
                return -ENOMEM;
        return mount("overlay", root, "overlay", 0, options) < 0 ? -errno : 0;
}

/* The nearest folder that exists. */
static char *existing_parent(const char *path) {
        char *p = strdup(path);

        while (p && access(p, F_OK) < 0) {
                char *slash = strrchr(p, '/');

                if (!slash || slash == p) {
                        free(p);
                        return strdup(slash ? "/" : ".");
                }
                *slash = '\0';
        }
        return p;
}

static int check_overlay(DoctorReport *r, const char *store) {
        _cleanup_free_ char *folder = existing_parent(store),
                            *scratch = folder ? path_join(folder, ".imgbuild-doctor-XXXXXX") : NULL;
        int error;

        if (!scratch)
                return -ENOMEM;
        if (!mkdtemp(scratch)) {
                _cleanup_free_ char *found = strf("%s: %s", folder, strerror(errno));
                return found ? doctor_add(r, "store", NATIVE " cache", DOCTOR_MISSING, found,
                                               "run as root, or give --cache=FOLDER")
                             : -ENOMEM;
        }
        error = try_in_child(mount_overlay, scratch);
        (void) rm_rf(scratch);
        if (error == 0)
                return doctor_add(r, "overlayfs", NATIVE, DOCTOR_OK, "mounts in a namespace", NULL);
        return doctor_add(r, "overlayfs", NATIVE, DOCTOR_MISSING, strerror(error),
                        error == ENODEV ? "load the kernel's overlay module"
                        : error == EPERM
                                        ? "run as root; in a container, give it CAP_SYS_ADMIN"
                                        : "put the store on ext4, xfs or btrfs with --cache=FOLDER; a user's needs Linux 5.11");
}

static bool has_subordinate_ids(const char *path) {
        _cleanup_fclose_ FILE *f = fopen(path, "re");
        _cleanup_free_ char *line = NULL;
        const struct passwd *pw = getpwuid(getuid());
        size_t room = 0;

        while (f && pw && getline(&line, &room, f) >= 0) {
                const char *rest = startswith(line, pw->pw_name);
                unsigned long start, count;

                if (rest && sscanf(rest, ":%lu:%lu", &start, &count) == 2 && count >= 65535)
                        return true;
        }
        return false;
}

/* Root needs none of this. */
static int check_user(DoctorReport *r) {
        int error;

        if (geteuid() == 0)
                return doctor_add(r, "privileges", NATIVE, DOCTOR_OK, "root", NULL);
        error = try_in_child(enter_user_namespace, NULL);
        if (error != 0)
                return doctor_add(r, "user namespaces", NATIVE, DOCTOR_MISSING, strerror(error),
                                "run imgbuild as root, or sysctl kernel.unprivileged_userns_clone=1 (Debian), "
                                "kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), user.max_user_namespaces=10000");
        if (!program_find("newuidmap", NULL) || !program_find("newgidmap", NULL))
                return doctor_add(r, "newuidmap", NATIVE, DOCTOR_MISSING, "not installed",
                                "apt install uidmap, or run imgbuild as root");
        if (!has_subordinate_ids("/etc/subuid") || !has_subordinate_ids("/etc/subgid"))
                return doctor_add(r, "subordinate ids", NATIVE, DOCTOR_MISSING,
                                "fewer than 65535 in /etc/subuid or /etc/subgid",
                                "usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER, or run imgbuild as root");
        return doctor_add(r, "user namespaces", NATIVE, DOCTOR_OK, "usable, with subordinate ids",
                        NULL);
}

static int check_space(DoctorReport *r, const char *store) {
        _cleanup_free_ char *folder = existing_parent(store), *found = NULL;
        char size[FORMAT_BYTES_MAX];
        struct statvfs s;

        if (!folder)
                return -ENOMEM;
        if (statvfs(folder, &s) < 0)
                return doctor_add(r, "free space", NATIVE, DOCTOR_MISSING, strerror(errno),
                                "give another --cache=FOLDER");
        uint64_t free_bytes = (uint64_t) s.f_bavail * s.f_frsize;
        found = strf("%s in %s", format_bytes(size, free_bytes), folder);
        if (!found)
                return -ENOMEM;
        if (free_bytes < SPACE_NEEDED)
                return doctor_add(r, "free space", "build boot check shell", DOCTOR_MISSING, found,
                                "3 GiB for a small image, 12 GiB for the GPU image: imgbuild cache --help, or --cache=FOLDER");
        if (free_bytes < SPACE_COMFORTABLE)
                return doctor_add(r, "free space", "build boot check shell", DOCTOR_SLOWER, found,
                                "enough for a small image; the GPU image wants 12 GiB");
        return doctor_add(r, "free space", "build boot check shell", DOCTOR_OK, found, NULL);
}

static int check_memory(DoctorReport *r) {
        char found[FORMAT_BYTES_MAX];
        struct sysinfo s;

        if (sysinfo(&s) < 0)
                return 0;

        uint64_t total = (uint64_t) s.totalram * s.mem_unit;
        format_bytes(found, total);
        if (total < MEMORY_NEEDED)
                return doctor_add(r, "memory", "build boot", DOCTOR_MISSING, found,
                                "1.5 GiB or more: the machine that is booted has 2 GiB (--memory)");
        return doctor_add(r, "memory", "build boot", DOCTOR_OK, found, NULL);
}

static int check_kvm(DoctorReport *r) {
        _cleanup_free_ char *why = NULL;
        int k = kvm_probe(&why);

        if (k > 0)
                return doctor_add(r, "KVM", "boot inspect diff build", DOCTOR_OK, "runs guests",
                                NULL);
        return doctor_add(r, "KVM", "boot inspect diff build", DOCTOR_SLOWER,
                        why ? why : strerror(-k),
                        "nothing needs to be done: QEMU emulates. How long a boot takes then depends on the cores and what else they do: 30 to 40 s until multi-user on two idle ones, minutes on busy ones ('imgbuild boot --timeout')");
}

static int check_guestfs(DoctorReport *r) {
        _cleanup_free_ char *missing = guestfs_missing();
        _cleanup_guestfs_ guestfs_h *g = guestfs_create();
        struct guestfs_version *v = g ? guestfs_version(g) : NULL;
        _cleanup_free_ char *found =
                        v ? strf("%lld.%lld.%lld", (long long) v->major, (long long) v->minor,
                                            (long long) v->release)
                          : strdup("there");

        guestfs_free_version(v);
        if (!found)
                return -ENOMEM;
        if (missing)
                return doctor_add(r, "libguestfs", "build inspect diff", DOCTOR_MISSING,
                                "its appliance cannot be made", missing);
        return doctor_add(r, "libguestfs", "build inspect diff", DOCTOR_OK, found, NULL);
}

/* Built when a verb first wants it, by the programs that are asked for beside this. */
static int check_tools(DoctorReport *r) {
        static const char verbs[] = "build boot export";
        _cleanup_free_ char *recipe = tools_recipe();

        if (!recipe)
                return doctor_add(r, "tools tree", verbs, DOCTOR_MISSING,
                                "no recipe of it: neither images/tools.json, nor beside this program, nor " DATADIR
                                "/images/tools.json",
                                "make install puts it there, or run imgbuild beside images/");
        return doctor_add(r, "tools tree", verbs, DOCTOR_OK, recipe, NULL);
}

static int check_loop(DoctorReport *r) {
        bool there = access("/dev/loop-control", F_OK) >= 0;

        return doctor_add(r, "loop devices", "none", DOCTOR_OK,
                        there ? "there; no verb needs them" : "none; no verb needs them", NULL);
}

int doctor_check_host(DoctorReport *r, const char *store_path) {
        int k;

        k = check_user(r);
        if (k < 0)
                return k;
        k = check_overlay(r, store_path);
        if (k < 0)
                return k;
        k = check_space(r, store_path);
        if (k < 0)
                return k;
        k = check_memory(r);
        if (k < 0)
                return k;
        k = check_tools(r);
        if (k < 0)
                return k;
        k = check_guestfs(r);
        if (k < 0)
                return k;
        k = check_kvm(r);
        if (k < 0)
                return k;
        return check_loop(r);
}
