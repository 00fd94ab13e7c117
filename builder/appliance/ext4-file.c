/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Where the data of a file lies. libext2fs' own reading goes a block at a time and makes zeros of
 * holes; what it says of extents and blocks is enough to read a MiB at a time, and holes stay. */

#include "appliance/ext4.h"

#include "shared/strv.h"

#define RUNS_MAX (4u * 1024 * 1024) /* of a file: one in each block of 16 GiB */

typedef struct Runs {
        const Ext4Mount *m;
        Ext4Run *items;
        size_t n, room;
        uint64_t end; /* where the last one ends, in blocks of the file */
        const char *why;
} Runs;

static int refuse(Runs *r, const char *why) {
        r->why = why;
        return -EBADMSG;
}

static int add(Runs *r, uint64_t at, blk64_t block, uint64_t n) {
        const uint64_t size = r->m->fs->blocksize;
        Ext4Run *last = r->n > 0 ? r->items + r->n - 1 : NULL;

        if (at < r->end || n == 0 || n > UINT32_MAX || at > UINT32_MAX)
                return refuse(r, "its blocks overlap");
        if (block < r->m->fs->super->s_first_data_block ||
                        block >= ext2fs_blocks_count(r->m->fs->super) ||
                        n > ext2fs_blocks_count(r->m->fs->super) - block)
                return refuse(r, "its blocks are not on the disk");
        if (last && last->offset + last->size == at * size &&
                        last->block + last->size / size == block) {
                last->size += n * size;
                r->end = at + n;
                return 0;
        }
        if (r->n == RUNS_MAX)
                return refuse(r, "it is in more pieces than any file");
        if (r->n == r->room) {
                size_t room = MAX(2 * r->room, (size_t) 16);
                Ext4Run *grown = reallocarray(r->items, room, sizeof(*grown));

                if (!grown)
                        return -ENOMEM;
                r->items = grown;
                r->room = room;
        }
        r->items[r->n++] = (Ext4Run) { at * size, n * size, block };
        r->end = at + n;
        return 0;
}

static int of_extents(Runs *r, ext2_ino_t ino, struct ext2_inode *inode) {
        ext2_extent_handle_t handle;
        struct ext2fs_extent extent;
        errcode_t code;
        int result = 0;

        code = ext2fs_extent_open2(r->m->fs, ino, inode, &handle);
        if (code)
                return refuse(r, error_message(code));
        /* The root first: an index, or the leaves themselves. */
        for (code = ext2fs_extent_get(handle, EXT2_EXTENT_ROOT, &extent); code == 0 && result == 0;
                        code = ext2fs_extent_get(handle, EXT2_EXTENT_NEXT, &extent)) {
                if (!(extent.e_flags & EXT2_EXTENT_FLAGS_LEAF) ||
                                (extent.e_flags & EXT2_EXTENT_FLAGS_UNINIT))
                        continue; /* what was reserved and never written is a hole */
                result = add(r, extent.e_lblk, extent.e_pblk, extent.e_len);
        }
        ext2fs_extent_free(handle);
        if (result < 0)
                return result;
        return code == EXT2_ET_EXTENT_NO_NEXT ? 0 : refuse(r, error_message(code));
}

typedef struct Mapped {
        Runs *runs;
        int result;
} Mapped;

static int on_block(ext2_filsys fs _unused_, blk64_t *block, e2_blkcnt_t at, blk64_t above _unused_,
                int offset _unused_, void *userdata) {
        Mapped *m = userdata;

        if (*block == 0)
                return 0;
        m->result = add(m->runs, (uint64_t) at, *block, 1);
        return m->result < 0 ? BLOCK_ABORT : 0;
}

/* As ext2 and ext3 have them. */
static int of_map(Runs *r, ext2_ino_t ino) {
        Mapped m = { .runs = r };
        errcode_t code = ext2fs_block_iterate3(r->m->fs, ino,
                        BLOCK_FLAG_DATA_ONLY | BLOCK_FLAG_READ_ONLY, NULL, on_block, &m);

        if (m.result < 0)
                return m.result;
        return code ? refuse(r, error_message(code)) : 0;
}

int ext4_runs(const Ext4Mount *m, ext2_ino_t ino, struct ext2_inode *inode, Ext4Run **ret,
                size_t *ret_n, const char **ret_why) {
        Runs runs = { .m = m };
        int r = inode->i_flags & EXT4_EXTENTS_FL ? of_extents(&runs, ino, inode)
                                                 : of_map(&runs, ino);

        if (r < 0) {
                *ret_why = strempty(runs.why);
                free(runs.items);
                return r;
        }
        *ret = runs.items;
        *ret_n = runs.n;
        return 0;
}

int ext4_read_small(const Ext4Mount *m, ext2_ino_t ino, size_t max, char **ret, size_t *ret_size,
                const char **ret_why) {
        _cleanup_free_ char *data = NULL;
        ext2_file_t file;
        errcode_t code;
        uint64_t size;
        unsigned got = 0;

        code = ext2fs_file_open2(m->fs, ino, NULL, 0, &file);
        if (code) {
                *ret_why = error_message(code);
                return -EBADMSG;
        }
        code = ext2fs_file_get_lsize(file, (__u64 *) &size);
        data = code == 0 && size <= max ? malloc((size_t) size + 1) : NULL;
        if (data)
                code = ext2fs_file_read(file, data, (unsigned) size, &got);
        (void) ext2fs_file_close(file);
        if (code) {
                *ret_why = error_message(code);
                return -EBADMSG;
        }
        if (!data)
                return size > max ? -EFBIG : -ENOMEM;
        data[got] = '\0';
        *ret = TAKE_PTR(data);
        *ret_size = got;
        return 0;
}
