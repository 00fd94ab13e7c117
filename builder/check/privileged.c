/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which files of the tree give rights to who runs or opens them: set-uid and set-gid programs, file
 * capabilities, device nodes. No rule: a distribution has some. The manifest lists them, and diff
 * shows what came to them. */

#include "check/internal.h"

#include <endian.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

/* By their numbers: capabilities(7). */
static const char *const names[] = { "chown", "dac_override", "dac_read_search", "fowner", "fsetid",
        "kill", "setgid", "setuid", "setpcap", "linux_immutable", "net_bind_service",
        "net_broadcast", "net_admin", "net_raw", "ipc_lock", "ipc_owner", "sys_module", "sys_rawio",
        "sys_chroot", "sys_ptrace", "sys_pacct", "sys_admin", "sys_boot", "sys_nice",
        "sys_resource", "sys_time", "sys_tty_config", "mknod", "lease", "audit_write",
        "audit_control", "setfcap", "mac_override", "mac_admin", "syslog", "wake_alarm",
        "block_suspend", "audit_read", "perfmon", "bpf", "checkpoint_restore" };

/* "cap_net_raw,cap_net_admin" of what a file permits and may inherit; "" where it is nothing. */
static char *capability_names(uint64_t set) {
        _cleanup_strv_free_ char **words = NULL;

        for (size_t i = 0; i < 64; i++) {
                if (!(set & (UINT64_C(1) << i)))
                        continue;
                if ((i < ELEMENTSOF(names) ? strv_extendf(&words, "cap_%s", names[i])
                                           : strv_extendf(&words, "cap_%zu", i)) < 0)
                        return NULL;
        }
        return words ? strv_join(words, ",") : strdup("");
}

/* security.capability of the file at fd (O_PATH will do). *ret NULL: it has none. */
static int file_capabilities(int fd, char **ret) {
        struct vfs_ns_cap_data data = {};
        char path[64];
        uint64_t set;
        ssize_t n;

        *ret = NULL;
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        n = getxattr(path, "security.capability", &data, sizeof(data));
        if (n < 0)
                return errno == ENODATA || errno == EOPNOTSUPP ? 0 : -errno;
        if (n < (ssize_t) XATTR_CAPS_SZ_1)
                return -EBADMSG;
        set = le32toh(data.data[0].permitted) | le32toh(data.data[0].inheritable);
        if (n >= (ssize_t) XATTR_CAPS_SZ_2)
                set |= (uint64_t) (le32toh(data.data[1].permitted) |
                                       le32toh(data.data[1].inheritable))
                       << 32;
        *ret = capability_names(set);
        return *ret ? 0 : -ENOMEM;
}

static int add(Findings *f, const char *path, const struct stat *st, const char *capabilities) {
        bool device = S_ISBLK(st->st_mode) || S_ISCHR(st->st_mode);
        _cleanup_free_ char *absolute = strf("/%s", path),
                            *mode = strf("%04o", (unsigned) st->st_mode & 07777),
                            *number = !device ? NULL
                                              : strf("%s %u:%u",
                                                                S_ISBLK(st->st_mode) ? "block"
                                                                                     : "character",
                                                                major(st->st_rdev),
                                                                minor(st->st_rdev));
        json_object *o = NULL;
        int r;

        if (!absolute || !mode || (device && !number))
                return -ENOMEM;
        if (!f->privileged) {
                f->privileged = json_object_new_array();
                if (!f->privileged)
                        return -ENOMEM;
        }
        r = json_append_object(f->privileged, &o);
        if (r < 0)
                return r;
        return json_set_fields(o, JSON_STRING("path", absolute), JSON_STRING("mode", mode),
                        JSON_INT("uid", st->st_uid), JSON_INT("gid", st->st_gid),
                        JSON_STRING("device", number), JSON_STRING("capabilities", capabilities));
}

static int look_at(const Tree *t, const char *path, const struct stat *st, void *userdata) {
        _cleanup_free_ char *capabilities = NULL;
        _cleanup_close_ int fd = -EBADF;
        Findings *f = userdata;
        int r;

        if (S_ISBLK(st->st_mode) || S_ISCHR(st->st_mode))
                return add(f, path, st, NULL);
        if (!S_ISREG(st->st_mode) || !(st->st_mode & 0111))
                return 0;
        fd = tree_open_file(t, path, O_PATH);
        if (fd < 0)
                return fd;
        r = file_capabilities(fd, &capabilities);
        if (r < 0)
                return r;
        if (!capabilities && !(st->st_mode & (S_ISUID | S_ISGID)))
                return 0;
        return add(f, path, st, capabilities);
}

int check_privileged(const Tree *t, Findings *f) {
        return tree_walk(t, "", look_at, f);
}
