/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* libarchive reads, and what it says is made here, by descriptors alone: each entry is new, in a
 * folder that is reached through no link. libarchive's own writer would not set ACLs by number, and
 * follows what it finds.
 *
 * A folder's times and the ACL that its children inherit are set when all is there. */

#include "stage/plant.h"

#include "sandbox/open-inside.h"
#include "store/store.h"
#include "shared/file-util.h"
#include "shared/strv.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <locale.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#define BLOCK_SIZE (256 * 1024)
#define DEFAULT_ACL "system.posix_acl_default"
#define OPAQUE "trusted.overlay.opaque"
#define OPAQUE_USER "user.overlay.opaque"

/* As stage/unpack.c has them, and says why. */
#define BOMB_BYTES (UINT64_C(256) * 1024 * 1024)
#define BOMB_RATIO 200
#define ENTRY_BYTES 4096

/* What a folder gets at the end. */
typedef struct Later {
        char *path;
        struct timespec time;
        void *acl;
        size_t acl_size;
} Later;

typedef struct Planting {
        int root;
        char *parent; /* path of the folder that parent_fd is; NULL: none yet */
        int parent_fd;
        uint64_t packed, out, apparent;
        const LayerRoom *layer; /* NULL: a whole tree */
        Planted *planted;
        Later *later;
        size_t n_later, room;
        char **ret_why;
} Planting;

static void planting_done(Planting *p) {
        for (size_t i = 0; i < p->n_later; i++) {
                free(p->later[i].path);
                free(p->later[i].acl);
        }
        free(p->later);
        free(p->parent);
        safe_close(p->parent_fd);
        safe_close(p->root);
}

static struct archive *reader_free(struct archive *a) {
        archive_read_free(a);
        return NULL;
}
DEFINE_CLEANUP(struct archive *, reader_free);

static int say(Planting *p, const char *name, const char *what) {
        free(*p->ret_why);
        *p->ret_why = name ? strf("%s: %s", name, what) : strdup(what);
        return -EBADMSG;
}

static int say_archive(Planting *p, const char *name, struct archive *a) {
        say(p, name, strempty(archive_error_string(a)));
        return -EPIPE;
}

/* An errno of the disk's is the caller's business. */
static int fail(Planting *p, const char *name, int error) {
        say(p, name, strerror(error));
        return error == EEXIST || error == ENOTDIR || error == ENOENT || error == ELOOP ||
                                               error == EXDEV
                               ? -EBADMSG
                               : -error;
}

static int count(Planting *p, const char *name, uint64_t bytes) {
        p->out += bytes;
        if (p->out <= BOMB_BYTES || p->out / BOMB_RATIO <= p->packed)
                return 0;
        return say(p, name,
                        "more comes out than an image of this size can hold: it is made to fill the disk");
}

/* "./a/b" is "a/b", "." is "". NULL where it leads anywhere else. */
static const char *plain(const char *name) {
        const char *part;

        if (!name)
                return NULL;
        while (startswith(name, "./"))
                name += 2;
        if (streq(name, "."))
                return name + 1;
        for (part = name;; part++) {
                size_t n = strcspn(part, "/");

                if (n == 0 && part[n] == '\0')
                        return part == name || part[-1] == '/' ? name : NULL;
                if (n == 0 || (n == 1 && part[0] == '.') || (n == 2 && strncmp(part, "..", 2) == 0))
                        return NULL;
                part += n;
                if (*part == '\0')
                        return name;
        }
}

/* Opens the folder that `path` is in, by no link. *ret_base is its last part; a slash behind it is
 * cut off. */
static int open_parent(Planting *p, char *path, int *ret_fd, const char **ret_base) {
        size_t n = strlen(path);
        char *slash;
        int r;

        if (n > 0 && path[n - 1] == '/')
                path[n - 1] = '\0';
        slash = strrchr(path, '/');
        *ret_base = slash ? slash + 1 : path;
        if (!slash) {
                *ret_fd = p->root;
                return 0;
        }
        *slash = '\0';
        if (!streq_ptr(path, p->parent)) {
                _cleanup_close_ int fd = -EBADF;
                char *copy;

                r = inside_has_no_link(p->root, path);
                if (r < 0)
                        return r;
                fd = inside_open(p->root, path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
                if (fd < 0)
                        return fd;
                copy = strdup(path);
                if (!copy)
                        return -ENOMEM;
                free(p->parent);
                p->parent = copy;
                safe_close(p->parent_fd);
                p->parent_fd = TAKE_FD(fd);
        }
        *slash = '/';
        *ret_fd = p->parent_fd;
        return 0;
}

/* What a layer's own are, overlayfs reads; XFS shows ACLs once more under names of its own. */
static bool is_overlays(const char *name) {
        return startswith(name, "trusted.overlay.") || startswith(name, "user.overlay.");
}

/* As an archive has it, and this store: NULL where it is none that a layer may bring along. */
static const char *opaque_name(
                const Planting *p, const char *name, const void *value, size_t size, bool folder) {
        if (!folder || !streq(name, OPAQUE) || size != 1 || memcmp(value, "y", 1) != 0)
                return NULL;
        return p->layer->userxattr ? OPAQUE_USER : OPAQUE;
}

/* Only root of the host may; a user's images go without them, as its other bases do. */
static bool may_be_refused(const char *name, int error) {
        return (error == EPERM || error == EOPNOTSUPP) &&
               (streq(name, "security.selinux") || startswith(name, "trusted."));
}

static int keep_acl(Planting *p, const void *value, size_t size) {
        Later *l = p->later + p->n_later - 1;

        free(l->acl);
        l->acl = malloc(size + 1);
        if (!l->acl)
                return -ENOMEM;
        memcpy(l->acl, value, size);
        l->acl_size = size;
        return 0;
}

/* `at` names what was made just now through a descriptor's link; a link itself is not followed. */
static int set_attributes(Planting *p, struct archive_entry *e, const char *at, bool folder) {
        const char *name;
        const void *value;
        size_t size;

        archive_entry_xattr_reset(e);
        while (archive_entry_xattr_next(e, &name, &value, &size) == ARCHIVE_OK) {
                int r = 0;

                if (startswith(name, "trusted.SGI_ACL_") || (is_overlays(name) && !p->layer))
                        continue;
                if (is_overlays(name)) {
                        name = opaque_name(p, name, value, size, folder);
                        if (!name)
                                return say(p, archive_entry_pathname(e),
                                                "has an attribute that only overlayfs may set");
                }
                if (folder && streq(name, DEFAULT_ACL))
                        r = keep_acl(p, value, size);
                else if (lsetxattr(at, name, value, size, 0) < 0) {
                        if (may_be_refused(name, errno))
                                p->planted->attributes++;
                        else
                                r = -errno;
                }
                if (r < 0)
                        return r;
        }
        return 0;
}

static struct timespec time_of(struct archive_entry *e) {
        return (struct timespec) { archive_entry_mtime(e), archive_entry_mtime_nsec(e) };
}

/* In this order: a change of owner takes set-uid bits and capabilities away. */
static int finish(Planting *p, struct archive_entry *e, int parent, const char *base) {
        const struct timespec times[] = { time_of(e), time_of(e) };
        _cleanup_free_ char *at = strf("/proc/self/fd/%d/%s", parent, base);
        mode_t type = archive_entry_filetype(e);
        int r;

        if (!at)
                return -ENOMEM;
        if (fchownat(parent, base, (uid_t) archive_entry_uid(e), (gid_t) archive_entry_gid(e),
                            AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        if (type != AE_IFLNK && fchmodat(parent, base, archive_entry_perm(e), 0) < 0)
                return -errno;
        r = set_attributes(p, e, at, type == AE_IFDIR);
        if (r < 0 || type == AE_IFDIR)
                return r;
        return utimensat(parent, base, times, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

static int remember(Planting *p, struct archive_entry *e, const char *path) {
        if (p->n_later == p->room) {
                size_t room = MAX(2 * p->room, (size_t) 1024);
                Later *grown = reallocarray(p->later, room, sizeof(*grown));

                if (!grown)
                        return -ENOMEM;
                p->later = grown;
                p->room = room;
        }
        p->later[p->n_later] = (Later) { .path = strdup(path), .time = time_of(e) };
        return p->later[p->n_later++].path ? 0 : -ENOMEM;
}

/* What is between the blocks of a sparse file stays a hole. */
static int make_file(Planting *p, struct archive *from, struct archive_entry *e, int parent,
                const char *base) {
        _cleanup_close_ int fd = openat(
                        parent, base, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

        if (fd < 0)
                return fail(p, base, errno);
        p->apparent += (uint64_t) MAX(archive_entry_size(e), (la_int64_t) 0);
        if (p->apparent > STORE_LAYER_MAX)
                return say(p, base, "is a sparse file that no image has room for");
        for (;;) {
                const void *block;
                la_int64_t offset;
                size_t size;
                int r = archive_read_data_block(from, &block, &size, &offset);

                if (r == ARCHIVE_EOF)
                        break;
                if (r < ARCHIVE_WARN)
                        return say_archive(p, base, from);
                r = count(p, base, size);
                if (r < 0)
                        return r;
                r = write_all_at(fd, block, size, (uint64_t) offset);
                if (r < 0)
                        return r;
                p->planted->bytes += size;
        }
        return ftruncate(fd, archive_entry_size(e)) < 0 ? -errno : 0;
}

static int make_link(Planting *p, const char *target, int parent, const char *base) {
        const char *name = plain(target), *target_base;
        _cleanup_close_ int held = -EBADF;
        _cleanup_free_ char *path = name && *name ? strdup(name) : NULL;
        int fd, r;

        if (!path)
                return say(p, base, "is a hard link to what is not in the image");
        held = fcntl(parent, F_DUPFD_CLOEXEC, 0); /* the kept one is the target's from now on */
        if (held < 0)
                return -errno;
        r = open_parent(p, path, &fd, &target_base);
        if (r < 0)
                return fail(p, base, -r);
        return linkat(fd, target_base, held, base, 0) < 0 ? fail(p, base, errno) : 0;
}

static bool is_whiteout(struct archive_entry *e) {
        return archive_entry_filetype(e) == AE_IFCHR && archive_entry_rdevmajor(e) == 0 &&
               archive_entry_rdevminor(e) == 0;
}

static int make_node(Planting *p, struct archive_entry *e, int parent, const char *base) {
        mode_t type = archive_entry_filetype(e);
        dev_t device = makedev(archive_entry_rdevmajor(e), archive_entry_rdevminor(e));

        if (p->layer && !p->layer->devices && type != AE_IFIFO && !is_whiteout(e))
                return say(p, archive_entry_pathname(e),
                                "is a device node, and no stage makes one");
        if (mknodat(parent, base, type | 0600, type == AE_IFIFO ? 0 : device) >= 0)
                return 0;
        if (errno == EPERM) {
                say(p, archive_entry_pathname(e),
                                "is a device node, and only root may make one: import this image as root");
                return -EPERM;
        }
        return fail(p, base, errno);
}

static int make(Planting *p, struct archive *from, struct archive_entry *e, int parent,
                const char *base) {
        switch (archive_entry_filetype(e)) {
        case AE_IFREG:
                return make_file(p, from, e, parent, base);
        case AE_IFDIR:
                return mkdirat(parent, base, 0700) < 0 ? fail(p, base, errno) : 0;
        case AE_IFLNK:
                return symlinkat(strempty(archive_entry_symlink(e)), parent, base) < 0
                                       ? fail(p, base, errno)
                                       : 0;
        case AE_IFCHR:
        case AE_IFBLK:
        case AE_IFIFO:
                return make_node(p, e, parent, base);
        default:
                return say(p, base, "is of no kind that a file system has");
        }
}

static int plant_root(Planting *p, struct archive_entry *e) {
        int r;

        if (archive_entry_filetype(e) != AE_IFDIR)
                return say(p, "/", "is no folder");
        r = remember(p, e, "");
        return r < 0 ? r : finish(p, e, p->root, ".");
}

static int plant_entry(Planting *p, struct archive *from, struct archive_entry *e) {
        const char *name = plain(archive_entry_pathname(e)), *base;
        _cleanup_free_ char *path = NULL;
        int parent, r;

        if (!name)
                return say(p, archive_entry_pathname(e), "leads out of the image");
        if (*name == '\0')
                return plant_root(p, e);
        if (archive_entry_filetype(e) == AE_IFSOCK)
                return 0;
        if (!p->layer && is_whiteout(e) && !archive_entry_hardlink(e)) {
                p->planted->whiteouts++;
                return 0;
        }
        r = count(p, name, ENTRY_BYTES);
        if (r < 0)
                return r;
        path = strdup(name);
        if (!path)
                return -ENOMEM;
        r = open_parent(p, path, &parent, &base);
        if (r < 0)
                return fail(p, name, -r);

        if (archive_entry_hardlink(e))
                return make_link(p, archive_entry_hardlink(e), parent, base);
        r = make(p, from, e, parent, base);
        if (r < 0)
                return r;
        r = archive_entry_filetype(e) == AE_IFDIR ? remember(p, e, path) : 0;
        if (r < 0)
                return r;
        r = finish(p, e, parent, base);
        return r < 0 && r != -ENOMEM ? fail(p, name, -r) : r;
}

static int finish_folder(const Planting *p, const Later *l) {
        const struct timespec times[] = { l->time, l->time };
        _cleanup_close_ int fd = inside_open(p->root, l->path, O_RDONLY | O_DIRECTORY);

        if (fd < 0)
                return fd;
        if (l->acl && fsetxattr(fd, DEFAULT_ACL, l->acl, l->acl_size, 0) < 0)
                return -errno;
        return futimens(fd, times) < 0 ? -errno : 0;
}

static int read_all(Planting *p, struct archive *from) {
        for (;;) {
                struct archive_entry *e;
                int r = archive_read_next_header(from, &e);

                if (r == ARCHIVE_EOF)
                        return 0;
                if (r < ARCHIVE_WARN)
                        return say_archive(p, NULL, from);
                r = plant_entry(p, from, e);
                if (r < 0)
                        return r;
        }
}

static int reader_new(Planting *p, int fd, struct archive **ret) {
        _cleanup_(reader_freep) struct archive *a = archive_read_new();

        if (!a || archive_read_support_format_tar(a) == ARCHIVE_FATAL ||
                        (p->layer && archive_read_support_filter_zstd(a) == ARCHIVE_FATAL))
                return -ENOMEM;
        if (archive_read_open_fd(a, fd, BLOCK_SIZE) != ARCHIVE_OK)
                return say_archive(p, NULL, a);
        *ret = TAKE_PTR(a);
        return 0;
}

/* Who writes shall not wait for ever with what fills the last block. */
static int drain(int fd) {
        char buffer[16 * 1024];

        for (;;) {
                ssize_t n = read(fd, buffer, sizeof(buffer));

                if (n == 0)
                        return 0;
                if (n < 0 && errno != EINTR)
                        return -errno;
        }
}

static int plant(int fd, const char *folder, Planting *given) {
        _cleanup_(planting_done) Planting p = *given;
        _cleanup_(reader_freep) struct archive *from = NULL;
        int r;

        *p.ret_why = NULL;
        p.parent_fd = -EBADF;
        p.root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (p.root < 0)
                return -errno;
        (void) umask(0);
        /* libarchive turns names into the locale's bytes; these are bytes of no locale. */
        (void) setlocale(LC_CTYPE, "C.UTF-8");

        r = reader_new(&p, fd, &from);
        if (r < 0)
                return r;
        r = read_all(&p, from);
        if (r < 0)
                return r;
        for (size_t i = p.n_later; i > 0; i--) {
                r = finish_folder(&p, p.later + i - 1);
                if (r < 0)
                        return r;
        }
        return drain(fd);
}

int plant_tree(int fd, const char *folder, uint64_t packed, Planted *planted, char **ret_why) {
        Planting p = { .packed = packed, .planted = planted, .ret_why = ret_why };

        return plant(fd, folder, &p);
}

int plant_layer(int fd, const LayerRoom *room, Planted *planted, char **ret_why) {
        Planting p = {
                .packed = room->packed, .layer = room, .planted = planted, .ret_why = ret_why
        };

        return plant(fd, room->folder, &p);
}
