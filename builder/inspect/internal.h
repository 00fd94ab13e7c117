/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The parts of an inspection, which inspect.c calls in order, and what they read a guest with.
 * Lists of strings that libguestfs returns are malloc()ed arrays of malloc()ed strings that end
 * with NULL, as ours are: _cleanup_strv_free_ takes them. */

#include "inspect/inspect.h"
#include "shared/strv.h"

/* Each adds its part to `o`, the inspection; the system of `root` is mounted for all but the
 * disk. */
int inspect_disk(guestfs_h *g, json_object *o);
int inspect_kernels(guestfs_h *g, json_object *o);
int inspect_packages(guestfs_h *g, const char *root, json_object *o);
int inspect_software(guestfs_h *g, json_object *o); /* wants the packages */
int inspect_support(json_object *o);                /* wants kernels and software */

/* guest.c. A part that cannot be read: one more text of "problems". */
int inspect_problem(json_object *o, const char *what, const char *why);

/* One more key of "software". */
int inspect_add_software(
                json_object *list, const char *key, const char *label, const char *version);

/* A file of the guest as a readable descriptor of ours, kept in memory. -EIO where
 * libguestfs cannot read it. */
int guest_open_file(guestfs_h *g, const char *path, int *ret_fd);

/* An empty file in memory; `path` is what libguestfs writes it by. Returns its descriptor. */
int guest_memory_file(char path[static 64]);

/* NULL for an empty text, which is then left out of an object. */
static inline const char *unless_empty(const char *s) {
        return isempty(s) ? NULL : s;
}

/* packages.c. The packages of a dpkg status file: installed ones only, as [{name, version, arch,
 * size}], sorted by name. */
int inspect_parse_dpkg(FILE *f, json_object *packages);
int inspect_by_name(const void *a, const void *b); /* of packages, for json_object_array_sort() */

/* software.c. The digits of a library's file name: "libnccl.so.2.21.5" gives "2.21.5",
 * "libcudart.so" NULL. Points into it. */
const char *inspect_library_version(const char *path);

/* note.c. The version in the ELF note of an open program; -ENOENT where it has none. */
int inspect_note_version(int fd, char **ret);

/* pulse.c. Calls `beat` every `usec` µs, from a thread of its own, which logs and looks and does no
 * more. */
typedef struct Pulse Pulse;
int pulse_start(uint64_t usec, void (*beat)(void *userdata), void *userdata, Pulse **ret);
Pulse *pulse_stop(Pulse *p); /* after which it is called no more */
DEFINE_CLEANUP(Pulse *, pulse_stop);

/* python.c. Adds what pip and conda installed. */
int inspect_python(guestfs_h *g, json_object *list);

/* "…/torch-2.5.1+cu124.dist-info" of "torch" gives "2.5.1+cu124"; NULL for others'. The caller
 * frees it. */
char *inspect_python_version(const char *path, const char *name);

/* files.c. A guest's files; paths are relative to its root. */
typedef struct FileEntry {
        char *path, *content; /* content: a checksum or a link's target; may be NULL */
        uint64_t size;
        unsigned mode, uid, gid;
} FileEntry;

struct FileList {
        FileEntry *entries;
        size_t n, allocated;
};

int file_list_add(FileList *l, const char *path, unsigned mode, unsigned uid, unsigned gid,
                uint64_t size, const char *content);
void file_list_sort(FileList *l);
FileEntry *file_list_find(FileList *l, const char *path); /* of a sorted list */
uint64_t file_list_checksum_text(const FileList *l);      /* bytes that md5sum says of its files */
