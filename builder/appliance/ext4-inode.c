/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What an inode says of its file besides the content: owner, mode, time, device, attributes. */

#include "appliance/ext4.h"

#include "shared/strv.h"

#include <archive_entry.h>

typedef struct Attributes {
        struct ext2_xattr_handle *handle;
        struct archive_entry *e;
        errcode_t code;
} Attributes;

/* On the disk an ACL is in another form than the kernel shows. */
static int add_acl(Attributes *a, const char *name) {
        void *value = NULL;
        size_t size;

        a->code = ext2fs_xattr_get(a->handle, name, &value, &size);
        if (a->code)
                return XATTR_ABORT;
        archive_entry_xattr_add_entry(a->e, name, value, size);
        ext2fs_free_mem(&value);
        return 0;
}

/* What else libext2fs calls an attribute (data within an inode, say) the kernel does not show. */
static int on_attribute(char *name, char *value, size_t size, void *userdata) {
        Attributes *a = userdata;

        if (streq(name, "system.posix_acl_access") || streq(name, "system.posix_acl_default"))
                return add_acl(a, name);
        if (startswith(name, "user.") || startswith(name, "trusted.") ||
                        startswith(name, "security."))
                archive_entry_xattr_add_entry(a->e, name, value, size);
        return 0;
}

static int set_attributes(
                const Ext4Mount *m, ext2_ino_t ino, struct archive_entry *e, const char **ret_why) {
        Attributes a = { .e = e };
        errcode_t code = ext2fs_xattrs_open(m->fs, ino, &a.handle);

        if (code)
                return -ENOMEM;
        code = ext2fs_xattrs_read(a.handle);
        if (code == 0)
                code = ext2fs_xattrs_iterate(a.handle, on_attribute, &a);
        if (code == 0)
                code = a.code;
        (void) ext2fs_xattrs_close(&a.handle);
        if (!code)
                return 0;
        *ret_why = error_message(code);
        return -EBADMSG;
}

/* The kernel's rule: a field counts where the inode has room for it. Two bits of `extra` are
 * further seconds, the rest is nanoseconds. */
static void set_time(
                const Ext4Mount *m, const struct ext2_inode_large *inode, struct archive_entry *e) {
        const size_t end = offsetof(struct ext2_inode_large, i_mtime_extra) +
                           sizeof(inode->i_mtime_extra);
        time_t seconds = (int32_t) inode->i_mtime;
        long nanoseconds = 0;

        if (EXT2_INODE_SIZE(m->fs->super) > EXT2_GOOD_OLD_INODE_SIZE &&
                        end <= EXT2_GOOD_OLD_INODE_SIZE + (size_t) inode->i_extra_isize) {
                seconds += (time_t) (inode->i_mtime_extra & 3) << 32;
                nanoseconds = inode->i_mtime_extra >> 2;
        }
        archive_entry_set_mtime(e, seconds, nanoseconds);
}

static void set_device(const struct ext2_inode *inode, struct archive_entry *e) {
        uint32_t old = inode->i_block[0], new = inode->i_block[1];

        if (old) {
                archive_entry_set_rdevmajor(e, (old >> 8) & 0xff);
                archive_entry_set_rdevminor(e, old & 0xff);
        } else {
                archive_entry_set_rdevmajor(e, (new & 0xfff00) >> 8);
                archive_entry_set_rdevminor(e, (new & 0xff) | ((new >> 12) & 0xfff00));
        }
}

int ext4_describe(const Ext4Mount *m, ext2_ino_t ino, const struct ext2_inode_large *inode,
                struct archive_entry *e, const char **ret_why) {
        const struct ext2_inode *i = (const struct ext2_inode *) inode;

        archive_entry_set_mode(e, inode->i_mode);
        archive_entry_set_uid(e, inode_uid(*i));
        archive_entry_set_gid(e, inode_gid(*i));
        set_time(m, inode, e);
        if (LINUX_S_ISCHR(inode->i_mode) || LINUX_S_ISBLK(inode->i_mode))
                set_device(i, e);
        return set_attributes(m, ino, e, ret_why);
}
