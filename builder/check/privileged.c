/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which files of the tree give rights to who runs or opens them: set-uid and set-gid programs, file
 * capabilities, device nodes, access lists that name somebody. No rule: a distribution has some.
 * The manifest lists them, and diff shows what came to them. */

#include "check/internal.h"

#include <endian.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#define ACL_ENTRIES_MAX 8192 /* what 64 KiB, the most that an attribute has, are enough for */

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

/* "user 1000 rw-" of each user and group that the list names: the rest of it is a mode. */
static int acl_names(const Tree *t, const char *path, const char *attribute, const char *prefix,
                char ***words) {
        struct {
                struct posix_acl_xattr_header header;
                struct posix_acl_xattr_entry entries[ACL_ENTRIES_MAX];
        } acl;
        _cleanup_free_ char *file = strf("/proc/self/fd/%d/%s", t->fd, path);
        ssize_t n = file ? lgetxattr(file, attribute, &acl, sizeof(acl)) : -1;
        size_t entries;

        if (!file)
                return -ENOMEM;
        if (n < 0)
                return errno == ENODATA || errno == EOPNOTSUPP ? 0 : -errno;
        if (n < (ssize_t) sizeof(acl.header))
                return -EBADMSG;
        entries = ((size_t) n - sizeof(acl.header)) / sizeof(acl.entries[0]);
        for (size_t i = 0; i < entries; i++) {
                const struct posix_acl_xattr_entry *e = acl.entries + i;
                unsigned tag = le16toh(e->e_tag), may = le16toh(e->e_perm);
                int r;

                if (tag != ACL_USER && tag != ACL_GROUP)
                        continue;
                r = strv_extendf(words, "%s%s %u %c%c%c", prefix,
                                tag == ACL_USER ? "user" : "group", le32toh(e->e_id),
                                may & ACL_READ ? 'r' : '-', may & ACL_WRITE ? 'w' : '-',
                                may & ACL_EXECUTE ? 'x' : '-');
                if (r < 0)
                        return r;
        }
        return 0;
}

/* *ret NULL: nobody is named. */
static int file_acl(const Tree *t, const char *path, const struct stat *st, char **ret) {
        _cleanup_strv_free_ char **words = NULL;
        int r;

        *ret = NULL;
        r = acl_names(t, path, "system.posix_acl_access", "", &words);
        if (r == 0 && S_ISDIR(st->st_mode))
                r = acl_names(t, path, "system.posix_acl_default", "default ", &words);
        if (r < 0 || !words)
                return r;
        *ret = strv_join(words, ", ");
        return *ret ? 0 : -ENOMEM;
}

static int add(Findings *f, const char *path, const struct stat *st, const char *capabilities,
                const char *acl) {
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
                        JSON_STRING("device", number), JSON_STRING("capabilities", capabilities),
                        JSON_STRING("acl", acl));
}

static int look_at(const Tree *t, const char *path, const struct stat *st, void *userdata) {
        _cleanup_free_ char *capabilities = NULL, *acl = NULL;
        _cleanup_close_ int fd = -EBADF;
        Findings *f = userdata;
        int r;

        if (S_ISBLK(st->st_mode) || S_ISCHR(st->st_mode))
                return add(f, path, st, NULL, NULL);
        if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
                return 0;
        r = file_acl(t, path, st, &acl);
        if (r < 0)
                return r;
        if (!S_ISREG(st->st_mode) || !(st->st_mode & 0111))
                return acl ? add(f, path, st, NULL, acl) : 0;
        fd = tree_open_file(t, path, O_PATH);
        if (fd < 0)
                return fd;
        r = file_capabilities(fd, &capabilities);
        if (r < 0)
                return r;
        if (!capabilities && !acl && !(st->st_mode & (S_ISUID | S_ISGID)))
                return 0;
        return add(f, path, st, capabilities, acl);
}

int check_privileged(const Tree *t, Findings *f) {
        return tree_walk(t, "", look_at, f);
}
