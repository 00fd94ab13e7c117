/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The walk through a system on ext4, and its archive. */

#include "appliance/ext4.h"
#include "appliance/left-out.h"

#include "shared/strv.h"
#include "store/tree-archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <limits.h>
#include <search.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define BLOCK_SIZE (512 * 512)              /* bytes, of the archive */
#define ZEROS (UINT64_C(256) * 1024 * 1024) /* of holes, at once: no memory */
#define TARGET_MAX 4096                     /* a link's */
#define BLOCK_BITS 32 /* of a block's number in a file: no kernel makes more */

typedef struct Link {
        const Ext4Mount *mount;
        ext2_ino_t ino;
        char *path; /* where it was first */
} Link;

typedef struct Child {
        ext2_ino_t ino;
        char *name;
} Child;

typedef struct Children {
        Child *items;
        size_t n, room;
        const char *why;
} Children;

typedef struct Pouring {
        Ext4System *system;
        struct archive *to;
        void *links;  /* a tree of Link */
        char *buffer; /* BLOCK_SIZE × 4 */
        void *zeros;
        char **ret_why;
} Pouring;

static void link_free(void *link) {
        free(((Link *) link)->path);
        free(link);
}

static void pouring_done(Pouring *p) {
        tdestroy(p->links, link_free);
        if (p->to)
                archive_write_free(p->to);
        if (p->zeros)
                (void) munmap(p->zeros, ZEROS);
        free(p->buffer);
}

static void children_done(Children *c) {
        for (size_t i = 0; i < c->n; i++)
                free(c->items[i].name);
        free(c->items);
}

static void entry_free(struct archive_entry **e) {
        archive_entry_free(*e);
}

static int damaged(Pouring *p, const char *path, const char *why) {
        free(*p->ret_why);
        *p->ret_why = strf("/%s: %s", path, why);
        return -EBADMSG;
}

/* Whoever reads has gone, and has said why. */
static int written(la_ssize_t result) {
        return result < ARCHIVE_WARN ? -EPIPE : 0;
}

/* --- what is at a path ------------------------------------------------------------------------ */

static const Ext4Mount *mount_at(const Ext4System *s, const char *path) {
        for (size_t i = 0; i < s->n_mounts; i++)
                if (streq(s->mounts[i].point, path))
                        return s->mounts + i;
        return NULL;
}

static int describe(Pouring *p, const Ext4Mount *m, ext2_ino_t ino,
                const struct ext2_inode_large *inode, const char *path, struct archive_entry *e) {
        _cleanup_free_ char *name = strf("./%s", path);
        const char *why = NULL;
        int r;

        if (!name)
                return -ENOMEM;
        archive_entry_copy_pathname(e, name);
        r = ext4_describe(m, ino, inode, e, &why);
        return r == -EBADMSG ? damaged(p, path, why) : r;
}

/* --- content ---------------------------------------------------------------------------------- */

static int write_zeros(Pouring *p, uint64_t n) {
        while (n > 0) {
                size_t now = (size_t) MIN(n, ZEROS);
                int r = written(archive_write_data(p->to, p->zeros, now));

                if (r < 0)
                        return r;
                n -= now;
        }
        return 0;
}

static int write_run(Pouring *p, const Ext4Mount *m, const Ext4Run *run, uint64_t size,
                const char *path) {
        const uint64_t step = 4 * BLOCK_SIZE / m->fs->blocksize;

        for (uint64_t done = 0; done < size;) {
                uint64_t left = size - done, n = MIN(4 * (uint64_t) BLOCK_SIZE, left);
                int blocks = (int) MIN(step, (left + m->fs->blocksize - 1) / m->fs->blocksize), r;
                errcode_t code = io_channel_read_blk64(
                                m->fs->io, run->block + done / m->fs->blocksize, blocks, p->buffer);

                if (code)
                        return damaged(p, path, error_message(code));
                r = written(archive_write_data(p->to, p->buffer, (size_t) n));
                if (r < 0)
                        return r;
                done += n;
        }
        return 0;
}

static int write_header(Pouring *p, struct archive_entry *e) {
        return written(archive_write_header(p->to, e));
}

/* What lies behind the end of the file (that of verity, say) is not its content. */
static int write_runs(Pouring *p, const Ext4Mount *m, const Ext4Run *runs, size_t n, uint64_t size,
                const char *path, struct archive_entry *e) {
        uint64_t at = 0, data = 0;
        int r;

        for (size_t i = 0; i < n && runs[i].offset < size; i++)
                data += MIN(runs[i].size, size - runs[i].offset);
        if (data < size) { /* libarchive wants a word of one that has no data at all, too */
                for (size_t i = 0; i < n && runs[i].offset < size; i++)
                        archive_entry_sparse_add_entry(e, (la_int64_t) runs[i].offset,
                                        (la_int64_t) MIN(runs[i].size, size - runs[i].offset));
                if (data == 0)
                        archive_entry_sparse_add_entry(e, 0, 0);
        }
        r = write_header(p, e);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n && runs[i].offset < size; i++) {
                r = write_zeros(p, runs[i].offset - at);
                if (r < 0)
                        return r;
                at = MIN(runs[i].offset + runs[i].size, size);
                r = write_run(p, m, runs + i, at - runs[i].offset, path);
                if (r < 0)
                        return r;
        }
        return write_zeros(p, size - at);
}

static int write_inline(Pouring *p, const Ext4Mount *m, ext2_ino_t ino, uint64_t size,
                const char *path, struct archive_entry *e) {
        _cleanup_free_ char *data = NULL;
        const char *why = "its data is larger than an inode";
        size_t got = 0;
        int r = ext4_read_small(m, ino, m->fs->blocksize, &data, &got, &why);

        if (r == -ENOMEM)
                return r;
        if (r < 0 || got != size)
                return damaged(p, path, why);
        r = write_header(p, e);
        return r < 0 ? r : written(archive_write_data(p->to, data, got));
}

static int write_file(Pouring *p, const Ext4Mount *m, ext2_ino_t ino, struct ext2_inode *inode,
                const char *path, struct archive_entry *e) {
        _cleanup_free_ Ext4Run *runs = NULL;
        uint64_t size = EXT2_I_SIZE(inode);
        const char *why = NULL;
        size_t n = 0;
        int r;

        if (size > (uint64_t) m->fs->blocksize << BLOCK_BITS)
                return damaged(p, path, "it is larger than a file can be");
        archive_entry_set_size(e, (la_int64_t) size);
        if (inode->i_flags & EXT4_INLINE_DATA_FL)
                return write_inline(p, m, ino, size, path, e);
        r = ext4_runs(m, ino, inode, &runs, &n, &why);
        if (r == -EBADMSG)
                return damaged(p, path, why);
        return r < 0 ? r : write_runs(p, m, runs, n, size, path, e);
}

static int write_symlink(Pouring *p, const Ext4Mount *m, ext2_ino_t ino, struct ext2_inode *inode,
                const char *path, struct archive_entry *e) {
        _cleanup_free_ char *target = NULL;
        const char *why = "its target is longer than any";
        uint64_t size = EXT2_I_SIZE(inode);
        size_t got = size;
        int r = 0;

        if (ext2fs_is_fast_symlink(inode)) {
                target = size < sizeof(inode->i_block)
                                         ? strndup((const char *) inode->i_block, size)
                                         : NULL;
                if (!target)
                        return size < sizeof(inode->i_block) ? -ENOMEM : damaged(p, path, why);
        } else
                r = ext4_read_small(m, ino, TARGET_MAX, &target, &got, &why);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return damaged(p, path, why);
        if (got != size || size == 0 || strlen(target) != size)
                return damaged(p, path, "its target is not whole");
        archive_entry_copy_symlink(e, target);
        return write_header(p, e);
}

/* --- the walk --------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b) {
        const Link *x = a, *y = b;

        if (x->mount != y->mount)
                return x->mount < y->mount ? -1 : 1;
        return x->ino < y->ino ? -1 : x->ino > y->ino;
}

/* 1: it was there before, and `e` is a link to that now. */
static int find_link(Pouring *p, const Ext4Mount *m, ext2_ino_t ino, const char *path,
                struct archive_entry *e) {
        _cleanup_free_ Link *link = malloc(sizeof(*link));
        _cleanup_free_ char *copy = strdup(path), *target = NULL;
        Link **found;

        if (!link || !copy)
                return -ENOMEM;
        *link = (Link) { m, ino, copy };
        found = tsearch(link, &p->links, by_place);
        if (!found)
                return -ENOMEM;
        if (*found == link) {
                TAKE_PTR(link);
                TAKE_PTR(copy);
                return 0;
        }
        target = strf("./%s", (*found)->path);
        if (!target)
                return -ENOMEM;
        archive_entry_copy_hardlink(e, target);
        return 1;
}

static int by_inode(const void *a, const void *b) {
        const Child *x = a, *y = b;

        if (x->ino != y->ino)
                return x->ino < y->ino ? -1 : 1;
        return strcmp(x->name, y->name);
}

static int on_child(ext2_ino_t dir _unused_, int entry _unused_, struct ext2_dir_entry *d,
                int offset _unused_, int size _unused_, char *buffer _unused_, void *userdata) {
        Children *c = userdata;
        size_t n = (size_t) ext2fs_dirent_name_len(d);

        if (d->inode == 0 || (n == 1 && d->name[0] == '.') ||
                        (n == 2 && d->name[0] == '.' && d->name[1] == '.'))
                return 0;
        if (n == 0 || memchr(d->name, '/', n) || memchr(d->name, '\0', n)) {
                c->why = "a file in it has a name that none can have";
                return DIRENT_ABORT;
        }
        if (c->n == c->room) {
                size_t room = MAX(2 * c->room, (size_t) 64);
                Child *grown = reallocarray(c->items, room, sizeof(*grown));

                if (!grown) {
                        c->why = strerror(ENOMEM);
                        return DIRENT_ABORT;
                }
                c->items = grown;
                c->room = room;
        }
        c->items[c->n] = (Child) { d->inode, strndup(d->name, n) };
        if (!c->items[c->n].name) {
                c->why = strerror(ENOMEM);
                return DIRENT_ABORT;
        }
        c->n++;
        return 0;
}

static int pour(Pouring *p, const Ext4Mount *m, ext2_ino_t ino, const char *path);

/* One folder is in one other, once. */
static int pour_folder(Pouring *p, const Ext4Mount *m, ext2_ino_t ino, const char *path) {
        _cleanup_(children_done) Children c = {};
        errcode_t code;

        if (m->seen[ino / 8] & (1u << ino % 8))
                return damaged(p, path, "this folder is in several others");
        m->seen[ino / 8] |= (uint8_t) (1u << ino % 8);
        code = ext2fs_dir_iterate2(m->fs, ino, 0, NULL, on_child, &c);
        if (code || c.why)
                return damaged(p, path, code ? error_message(code) : c.why);
        if (c.n > 0)
                qsort(c.items, c.n, sizeof(*c.items), by_inode);
        for (size_t i = 0; i < c.n; i++) {
                const char *name = c.items[i].name;
                _cleanup_free_ char *inside = strf("%s%s%s", path, *path ? "/" : "", name);
                int r;

                if (!inside)
                        return -ENOMEM;
                if (left_out(inside))
                        continue;
                if (strlen(inside) >= PATH_MAX)
                        return damaged(p, path, "its path is longer than any");
                r = pour(p, m, c.items[i].ino, inside);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int read_inode(Pouring *p, const Ext4Mount *m, ext2_ino_t ino, const char *path,
                struct ext2_inode_large *ret) {
        errcode_t code =
                        ext2fs_read_inode_full(m->fs, ino, (struct ext2_inode *) ret, sizeof(*ret));

        if (code)
                return damaged(p, path, error_message(code));
        if (ret->i_links_count == 0 || ret->i_mode == 0)
                return damaged(p, path, "it leads to a file that was deleted");
        return 0;
}

static int pour_as(Pouring *p, const Ext4Mount *m, ext2_ino_t ino, struct ext2_inode_large *inode,
                const char *path, struct archive_entry *e) {
        struct ext2_inode *i = (struct ext2_inode *) inode;
        int r;

        switch (inode->i_mode & S_IFMT) {
        case S_IFREG:
                return write_file(p, m, ino, i, path, e);
        case S_IFLNK:
                return write_symlink(p, m, ino, i, path, e);
        case S_IFDIR:
                r = write_header(p, e);
                return r < 0 ? r : pour_folder(p, m, ino, path);
        case S_IFCHR:
        case S_IFBLK:
        case S_IFIFO:
                return write_header(p, e);
        case S_IFSOCK:
                return 0;
        default:
                return damaged(p, path, "it is of no kind that a file system has");
        }
}

static int pour(Pouring *p, const Ext4Mount *m, ext2_ino_t ino, const char *path) {
        _cleanup_(entry_free) struct archive_entry *e = archive_entry_new();
        const Ext4Mount *other = mount_at(p->system, path);
        struct ext2_inode_large inode = {};
        int r;

        if (!e)
                return -ENOMEM;
        r = read_inode(p, m, ino, path, &inode);
        if (r < 0)
                return r;
        if (other && other != m && (inode.i_mode & S_IFMT) == S_IFDIR)
                return pour(p, other, EXT2_ROOT_INO, path);
        r = describe(p, m, ino, &inode, path, e);
        if (r < 0)
                return r;
        if (inode.i_links_count > 1 && (inode.i_mode & S_IFMT) != S_IFDIR) {
                r = find_link(p, m, ino, path, e);
                if (r != 0)
                        return r < 0 ? r : write_header(p, e);
        }
        return pour_as(p, m, ino, &inode, path, e);
}

int ext4_pour(Ext4System *s, int to, char **ret_why) {
        _cleanup_(pouring_done) Pouring p = { .system = s,
                .to = tree_archive_writer(),
                .buffer = malloc(4 * BLOCK_SIZE),
                .ret_why = ret_why };
        int r;

        *ret_why = NULL;
        p.zeros = mmap(NULL, ZEROS, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p.zeros == MAP_FAILED)
                p.zeros = NULL;
        if (!p.to || !p.buffer || !p.zeros)
                return -ENOMEM;
        if (archive_write_set_bytes_per_block(p.to, BLOCK_SIZE) != ARCHIVE_OK ||
                        archive_write_open_fd(p.to, to) != ARCHIVE_OK)
                return -ENOMEM;
        r = pour(&p, s->mounts, EXT2_ROOT_INO, "");
        return r < 0 ? r : written(archive_write_close(p.to));
}
