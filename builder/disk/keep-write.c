/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Into the vendor's disk, by a kernel: libguestfs' appliance has the disk to write, the list of
 * what goes and the archive of what comes as drives beside it. Nothing of the image is run. */

#include "disk/keep.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#define ROOM_LEAST (INT64_C(64) * 1024) /* bytes: with less a file system is full */

typedef struct Root {
        guestfs_h *g;
        const Disk *d;
        char *root;     /* as libguestfs names it */
        unsigned grown; /* the partition that was; 0: none */
} Root;

/* Bytes; none where no more files can be made. XFS and btrfs make inodes as they go. */
static int64_t room(const struct guestfs_statvfs *v) {
        return v->files > 0 && v->favail <= 0 ? 0 : v->bavail * v->bsize;
}

/* The mount point with the least room, and how many bytes that is; NULL: nobody knows. The caller
 * frees it. */
static char *find_fullest(guestfs_h *g, int64_t *ret_left) {
        _cleanup_strv_free_ char **mounts = guestfs_mountpoints(g); /* device, point, device … */
        const char *fullest = NULL;
        int64_t least = INT64_MAX;

        for (size_t i = 0; mounts && mounts[i]; i += 2) {
                struct guestfs_statvfs *v = guestfs_statvfs(g, mounts[i + 1]);

                if (v && room(v) < least) {
                        least = room(v);
                        fullest = mounts[i + 1];
                }
                if (v)
                        guestfs_free_statvfs(v);
        }
        *ret_left = least;
        return fullest ? strdup(fullest) : NULL;
}

/* `full`: a mount point, or NULL where it is not known. */
static int fail_for_room(const Root *r, const char *full) {
        const char *recipe = r->d->plan->recipe->path;

        if (full && !streq(full, "/"))
                return log_error_return(-EINVAL,
                                "%s: $.disk.layout: the vendor's %s has no room for what the recipe adds there, and disk.size grows / alone: put less there, or let the disk be a new one",
                                recipe, full);
        return log_error_return(-EINVAL,
                        "%s: $.disk.size: the vendor's file systems have no room for what the recipe adds: say a larger size",
                        recipe);
}

/* tar says of what is written in part how much that is, and nothing of room. */
static bool is_for_room(const char *why, int64_t left) {
        return strstr(why, "No space left") || (strstr(why, "Wrote only") && left < ROOM_LEAST);
}

static int fail(const Root *r, const char *what) {
        _cleanup_free_ char *why = strdup(strempty(guestfs_last_error(r->g))), *full = NULL;
        int64_t left;

        full = find_fullest(r->g, &left);
        if (why && is_for_room(why, left))
                return fail_for_room(r, full);
        return log_error_return(-EIO, "The vendor's disk: %s: %s", what, strempty(why));
}

static int refuse(const Root *r, const char *why) {
        return log_error_return(-EINVAL, "%s: $.disk.size: the vendor's disk cannot be grown: %s",
                        r->d->plan->recipe->path, why);
}

/* --- the size --------------------------------------------------------------------------------- */

/* The one partition that its volume group is on. */
static int find_physical(const Root *r, char **ret) {
        _cleanup_strv_free_ char **pvs = guestfs_pvs(r->g);

        if (!pvs)
                return fail(r, "its physical volumes");
        if (strv_length(pvs) != 1)
                return refuse(r, "its volumes are on several partitions");
        *ret = strdup(pvs[0]);
        return *ret ? 0 : log_oom();
}

/* keep.c has grown the last one. */
static int require_last(const Root *r, const char *partition) {
        int number = guestfs_part_to_partnum(r->g, partition);

        if (number < 0)
                return refuse(r, "its system is on no partition");
        if ((unsigned) number != r->grown)
                return refuse(r, "another partition lies behind the system's");
        return 0;
}

static int grow_volume(const Root *r) {
        _cleanup_free_ char *pv = NULL;
        int e = find_physical(r, &pv);

        if (e < 0)
                return e;
        e = require_last(r, pv);
        if (e < 0)
                return e;
        if (guestfs_pvresize(r->g, pv) < 0 || guestfs_lvresize_free(r->g, r->root, 100) < 0)
                return fail(r, "its volume cannot be grown");
        return 0;
}

/* Before it is mounted; XFS and btrfs grow afterwards. */
static int grow_device(const Root *r) {
        _cleanup_free_ char *device = guestfs_mountable_device(r->g, r->root), *type = NULL;
        int e;

        if (!device)
                return fail(r, "its system");
        e = guestfs_is_lv(r->g, device) > 0 ? grow_volume(r) : require_last(r, device);
        if (e < 0)
                return e;
        type = guestfs_vfs_type(r->g, device);
        if (!type || !startswith(type, "ext"))
                return 0;
        if (guestfs_e2fsck(r->g, device, GUESTFS_E2FSCK_FORCEALL, 1, -1) < 0 ||
                        guestfs_resize2fs(r->g, device) < 0)
                return fail(r, "its file system cannot be grown");
        return 0;
}

static int grow_mounted(const Root *r) {
        _cleanup_free_ char *device = guestfs_mountable_device(r->g, r->root), *type = NULL;

        type = device ? guestfs_vfs_type(r->g, device) : NULL;
        if (streq_ptr(type, "btrfs"))
                return guestfs_btrfs_filesystem_resize(r->g, "/", -1) < 0
                                       ? fail(r, "its file system cannot be grown")
                                       : 0;
        if (!streq_ptr(type, "xfs"))
                return 0;
        if (guestfs_feature_available(r->g, ARGV("xfs")) <= 0)
                return log_error_return(-ENOPKG,
                                "The vendor's disk has XFS, which this host's libguestfs cannot grow: apt install libguestfs-xfs");
        return guestfs_xfs_growfs(r->g, "/", GUESTFS_XFS_GROWFS_DATASEC, 1, -1) < 0
                               ? fail(r, "its file system cannot be grown")
                               : 0;
}

/* --- the files -------------------------------------------------------------------------------- */

static int mount_all(Root *r, bool writable) {
        free(r->root);
        r->root = NULL;
        return system_mount(r->g, r->d->plan->recipe->base.image, r->d->plan->recipe->base.root,
                        writable, &r->root);
}

static int apply(const Root *r, const KeepChanges *changes) {
        _cleanup_free_ char *
                        output = NULL,
                       *script = strf("cd /sysroot && head -c %llu " APPLIANCE_SECOND
                                      " | xargs -0 -r rm -rf -- && "
                                      "tar --extract --file=" APPLIANCE_FIRST
                                      " --numeric-owner --same-owner --same-permissions "
                                      "--xattrs --xattrs-include='*' --warning=no-unknown-keyword 2>&1 && sync",
                                       (unsigned long long) changes->removed_size);

        if (!script)
                return log_oom();
        output = guestfs_debug(r->g, "sh", ARGV(script));
        if (!output)
                return fail(r, "files cannot be written");
        if (r->d->labels == LABELS_AT_BOOT && guestfs_touch(r->g, "/.autorelabel") < 0)
                return fail(r, "its labels cannot be asked for");
        return 0;
}

static int write_all_of_it(Root *r, const KeepChanges *changes) {
        int e = mount_all(r, r->grown == 0);

        if (e < 0)
                return e;
        if (r->grown > 0) {
                if (guestfs_umount_all(r->g) < 0)
                        return fail(r, "it cannot be let go of");
                e = grow_device(r);
                if (e < 0)
                        return e;
                e = mount_all(r, true);
                if (e < 0)
                        return e;
                e = grow_mounted(r);
                if (e < 0)
                        return e;
        }
        e = apply(r, changes);
        if (e < 0)
                return e;
        return guestfs_umount_all(r->g) < 0 || guestfs_shutdown(r->g) < 0
                               ? fail(r, "it cannot be let go of")
                               : 0;
}

int keep_write(const Disk *d, const KeepChanges *changes, unsigned grown) {
        _cleanup_free_ char *archive = path_join(d->work, KEEP_ARCHIVE),
                            *removed = path_join(d->work, KEEP_REMOVED);
        _cleanup_guestfs_ guestfs_h *g = NULL;
        Root root = { .d = d, .grown = grown };
        int r;

        if (!archive || !removed)
                return log_oom();
        r = guestfs_open_writable(d->path, (const char *const[]) { archive, removed }, &g);
        if (r < 0)
                return r;
        root.g = g;
        r = write_all_of_it(&root, changes);
        free(root.root);
        return r;
}
