/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The disk: [BIOS boot] [ESP] root, in this order. Root comes last so that it can grow with the
 * volume; every start is on a whole MiB. */

#include "disk/layout.h"
#include "shared/quote.h"

#include <ctype.h>

#define BIOS_TYPE "21686148-6449-6E6F-744E-656564454649"
#define ESP_TYPE "C12A7328-F81F-11D2-BA4B-00A0C93EC93B"
/* x86-64 root, Discoverable Partitions Specification. */
#define ROOT_TYPE "4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709"

/* What a file system takes for itself: ext4's journal (at most 128 MiB below 128 GiB) and group
 * tables, XFS's log of 64 MiB and its smallest size of 300 MiB. */
#define EXT4_OVERHEAD (160 * MIB)
#define XFS_OVERHEAD (160 * MIB)
#define XFS_SIZE_MIN (384 * MIB)

static uint64_t round_up(uint64_t value, uint64_t to) {
        return (value + to - 1) / to * to;
}

static int derive(const char *tree_digest, const char *label, Digest ret) {
        _cleanup_hash_free_ Hash *h = NULL;
        int r;

        r = hash_new(&h);
        if (r < 0)
                return r;
        hash_field(h, "imgbuild disk", label);
        hash_field(h, "tree", tree_digest);
        hash_end(h, ret);
        return digest_valid(ret) ? 0 : -EIO;
}

int derive_uuid(const char *tree_digest, const char *label, char ret[static 37]) {
        static const char variants[] = "89ab";
        Digest d;
        int r;

        r = derive(tree_digest, label, d);
        if (r < 0)
                return r;
        d[12] = '8';
        d[16] = variants[(unsigned char) d[16] % 4];
        snprintf(ret, 37, "%.8s-%.4s-%.4s-%.4s-%.12s", d, d + 8, d + 12, d + 16, d + 20);
        return 0;
}

static int derive_identifiers(const char *tree_digest, Layout *l) {
        const struct {
                const char *label;
                char *uuid;
        } uuids[] = {
                { "disk", l->disk_guid },
                { "bios partition", l->bios_guid },
                { "esp partition", l->esp_guid },
                { "root partition", l->root_guid },
                { "root", l->root_uuid },
                { "hash seed", l->hash_seed },
        };
        Digest d;
        int r;

        for (size_t i = 0; i < ELEMENTSOF(uuids); i++) {
                r = derive_uuid(tree_digest, uuids[i].label, uuids[i].uuid);
                if (r < 0)
                        return r;
        }
        r = derive(tree_digest, "esp", d);
        if (r < 0)
                return r;
        for (size_t i = 0; i < 8; i++)
                d[i] = (char) toupper(d[i]);
        snprintf(l->esp_id, sizeof(l->esp_id), "%.4s-%.4s", d, d + 4);
        return 0;
}

/* Bytes that the root file system must have for the tree; with `room`, for it to be of use too. */
static uint64_t root_needs(const Layout *l, const TreeSize *tree, bool room) {
        uint64_t content = tree->bytes + tree->inodes * (l->xfs ? 512 : 256);
        /* 1/32: bitmaps, unused inodes, block maps and XFS's allocation groups; on ext4 1
         * % is kept for root. */
        uint64_t needed = content + content / 32 + content / 100 +
                          (l->xfs ? XFS_OVERHEAD : EXT4_OVERHEAD);

        if (room)
                needed += tree->bytes / 4;
        if (l->xfs && needed < XFS_SIZE_MIN)
                needed = XFS_SIZE_MIN;
        return round_up(needed, DISK_ALIGN);
}

int layout_make(const Recipe *recipe, const char *tree_digest, const TreeSize *tree, Layout *ret,
                uint64_t *ret_needed) {
        Layout l = {
                .uefi = strv_contains(recipe->disk.firmware, "uefi"),
                .bios = strv_contains(recipe->disk.firmware, "bios"),
                .xfs = streq_ptr(recipe->disk.filesystem, "xfs"),
                .inode_ratio = 16384,
        };
        uint64_t next = DISK_ALIGN, needed;
        int r;

        if (l.bios) {
                l.bios_start = next;
                next += BIOS_SIZE;
        }
        if (l.uefi) {
                l.esp_start = next;
                next += ESP_SIZE;
        }
        l.root_start = next;

        needed = l.root_start + root_needs(&l, tree, false) + GPT_TAIL;
        if (recipe->disk.size == 0)
                l.size = l.root_start + root_needs(&l, tree, true) + GPT_TAIL;
        else {
                l.size = recipe->disk.size / DISK_ALIGN * DISK_ALIGN;
                if (l.size < needed) {
                        *ret_needed = round_up(needed, 256 * MIB);
                        return -ENOSPC;
                }
        }
        l.root_size = l.size - l.root_start - GPT_TAIL;
        /* Trees of very many small files want more inodes than ext4's default gives. */
        while (l.root_size / l.inode_ratio < tree->inodes + tree->inodes / 4 &&
                        l.inode_ratio > 2048)
                l.inode_ratio /= 2;

        r = derive_identifiers(tree_digest, &l);
        if (r < 0)
                return r;
        *ret = l;
        return 0;
}

static int append_partition(char ***lines, uint64_t start, uint64_t size, const char *type,
                const char *guid, const char *name) {
        return strv_extendf(lines, "start=%lluMiB, size=%lluMiB, type=%s, uuid=%s, name=\"%s\"",
                        (unsigned long long) (start / MIB), (unsigned long long) (size / MIB), type,
                        guid, name);
}

static int append_partitions(char ***lines, const Layout *l) {
        int r;

        if (l->bios) {
                r = append_partition(
                                lines, l->bios_start, BIOS_SIZE, BIOS_TYPE, l->bios_guid, "bios");
                if (r < 0)
                        return r;
        }
        if (l->uefi) {
                r = append_partition(lines, l->esp_start, ESP_SIZE, ESP_TYPE, l->esp_guid, "esp");
                if (r < 0)
                        return r;
        }
        return append_partition(
                        lines, l->root_start, l->root_size, ROOT_TYPE, l->root_guid, "root");
}

char *layout_sfdisk_script(const Layout *l) {
        _cleanup_strv_free_ char **lines = NULL;

        if (strv_extendf(&lines,
                            "label: gpt\nlabel-id: %s\nunit: sectors\nfirst-lba: 2048\nsector-size: 512\n",
                            l->disk_guid) < 0)
                return NULL;
        if (append_partitions(&lines, l) < 0 || strv_extend(&lines, "") < 0)
                return NULL;
        return strv_join(lines, "\n");
}

char *layout_fstab(const Layout *l) {
        _cleanup_free_ char *esp = NULL;

        /* The ESP is automounted on first access: a node does not need it, and a broken one
         * must not stop a boot. */
        if (l->uefi) {
                esp = strf("UUID=%s /boot/efi vfat umask=0077,nofail,noauto,x-systemd.automount 0 0\n",
                                l->esp_id);
                if (!esp)
                        return NULL;
        }
        return strf("# Made with the image. The UUIDs are derived from its contents.\n"
                    "UUID=%s / %s %s 0 %d\n"
                    "%s",
                        l->root_uuid, l->xfs ? "xfs" : "ext4",
                        l->xfs ? "defaults" : "errors=remount-ro", l->xfs ? 0 : 1, strempty(esp));
}

char *layout_grub_early(const Layout *l) {
        return strf("search.fs_uuid %s root\nset prefix=($root)/boot/grub\n", l->root_uuid);
}

char **cmdline_split(const char *cmdline) {
        _cleanup_strv_free_ char **words = calloc(1, sizeof(char *));
        _cleanup_free_ char *word = malloc(strlen(cmdline) + 1);
        size_t used = 0;
        bool quoted = false, any = false;

        if (!words || !word)
                return NULL;
        for (const char *p = cmdline;; p++) {
                if (*p && (quoted || !isspace((unsigned char) *p))) {
                        any = true;
                        if (*p == '"')
                                quoted = !quoted;
                        else
                                word[used++] = *p;
                        continue;
                }
                word[used] = '\0';
                if (any && strv_extend(&words, word) < 0)
                        return NULL;
                used = 0;
                any = false;
                if (!*p)
                        return TAKE_PTR(words);
        }
}

/* What the kernel gets: root, a console where the recipe names none, the recipe's, where wanted
 * each quoted. */
static char *kernel_arguments(const Layout *l, const char *cmdline, char *(*quote)(const char *) ) {
        _cleanup_strv_free_ char **words = cmdline_split(strempty(cmdline)), **all = NULL;
        bool console = false;

        if (!words)
                return NULL;
        STRV_FOREACH (w, words)
                console = console || startswith(*w, "console=");

        if (strv_extendf(&all, "root=UUID=%s ro", l->root_uuid) < 0)
                return NULL;
        /* The last console is /dev/console: clouds and `imgbuild boot` read the serial one. */
        if (!console && strv_extend(&all, "console=tty0 console=ttyS0,115200") < 0)
                return NULL;
        STRV_FOREACH (w, words)
                if (strv_push(&all, quote(*w)) < 0)
                        return NULL;
        return strv_join(all, " ");
}

/* As the kernel itself reads it: quotes are for words with white space in them. */
static char *kernel_quote(const char *word) {
        return strpbrk(word, " \t") ? strf("\"%s\"", word) : strdup(word);
}

char *layout_bls_entry(const Layout *l, const char *system, const BootKernel *k) {
        _cleanup_free_ char *options = kernel_arguments(l, k->cmdline, kernel_quote);

        if (!options)
                return NULL;
        return strf("title %s (%s)\n"
                    "version %s\n"
                    "linux /boot/vmlinuz-%s\n"
                    "initrd %s\n"
                    "options %s\n"
                    "grub_users $grub_users\n"
                    "grub_arg --unrestricted\n"
                    "grub_class kernel\n",
                        system, k->release, k->release, k->release, k->initramfs, options);
}

char *layout_grub_config(const Layout *l, const BootKernel *k) {
        /* GRUB's script language takes quoted words as a shell does. */
        _cleanup_free_ char *arguments = kernel_arguments(l, k->cmdline, shell_quote);

        if (!arguments)
                return NULL;
        /* UEFI firmware mirrors its console to the serial line by itself. */
        return strf("# Made with the image.\n"
                    "set default=0\n"
                    "set timeout=1\n"
                    "if [ \"$grub_platform\" = pc ]; then\n"
                    "  if serial --unit=0 --speed=115200; then\n"
                    "    terminal_input console serial\n"
                    "    terminal_output console serial\n"
                    "  fi\n"
                    "fi\n"
                    "menuentry 'Linux %s' {\n"
                    "  linux /boot/vmlinuz-%s %s\n"
                    "  initrd %s\n"
                    "}\n"
                    "menuentry 'Linux %s, rescue shell' {\n"
                    "  linux /boot/vmlinuz-%s %s systemd.unit=rescue.target\n"
                    "  initrd %s\n"
                    "}\n",
                        k->release, k->release, arguments, k->initramfs, k->release, k->release,
                        arguments, k->initramfs);
}
