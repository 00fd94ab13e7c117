/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What differs between two images, or two manifests. A side is one object, {"name",
 * "packages": [{name, version, arch}], "facts": {what: value}}, wherever it comes from; files
 * are compared apart. */

#include "shared/json-util.h"
#include <guestfs.h>

int diff_side_from_inspection(json_object *inspection, json_object **ret);
int diff_side_from_manifest(json_object *manifest, const char *path, json_object **ret);

/* {"packages": {"added", "removed", "changed"}, "facts": [{"what", "from", "to"}]}; absent
 * values are left out. */
int diff_sides(json_object *a, json_object *b, json_object **ret);
bool diff_is_empty(json_object *difference);

/* A guest's files as its root is mounted in g: everything that can differ. `contents`: checksums
 * too, and every ten seconds `tell` (may be NULL), from another thread, how many are made. Errors
 * are logged. */
typedef struct FileList FileList;
typedef void (*FileListTell)(unsigned percent, void *userdata);
int file_list_read(guestfs_h *g, bool contents, FileListTell tell, void *userdata, FileList **ret);
FileList *file_list_new(void); /* NULL on out of memory */
FileList *file_list_free(FileList *l);
void file_list_sum(const FileList *l, size_t *ret_files, uint64_t *ret_bytes);
DEFINE_CLEANUP(FileList *, file_list_free);
#define _cleanup_file_list_free_ _cleanup_(file_list_freep)

/* {"added": [path…], "removed": […], "changed": [{"path", "what": ["content", "mode", "owner",
 * "size", "type"]}]}; sorts both. */
int file_list_compare(FileList *a, FileList *b, json_object **ret);
