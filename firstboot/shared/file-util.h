/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Whole files in and out, durably where it matters, and folders. */

#include "shared/macro.h"
#include <sys/types.h>

/* Reads a whole file of at most `max` bytes; -EFBIG beyond. The text is NUL-terminated behind its
 * *ret_size bytes (ret_size may be NULL). The caller frees it. */
int read_file(const char *path, size_t max, char **ret, size_t *ret_size);

/* The same for what is open already, from where it stands. */
int read_fd(int fd, size_t max, char **ret, size_t *ret_size);

/* Like read_file() with the trailing newline removed: for sysfs attributes and the like. */
int read_line_file(const char *path, char **ret);

/* Replaces `path` in one atomic step: temporary file beside it, fsync, rename, fsync of the
 * folder. At any moment a reader, or the next boot, sees the old content or the new, whole. */
int write_file_durable(const char *path, const void *data, size_t size, mode_t mode);

/* The same without the fsyncs, for what a power cut may take back. */
int write_file_atomic(const char *path, const void *data, size_t size, mode_t mode);

int write_all(int fd, const void *data, size_t size);

/* From `offset` on, wherever the file stands; what a signal interrupts goes on. read_at() returns
 * how many bytes it read, fewer than `size` at the file's end alone; the others 0. Negative errno,
 * and -EBADMSG from read_all_at() where the file ends before. */
ssize_t read_at(int fd, void *data, size_t size, uint64_t offset);
int read_all_at(int fd, void *data, size_t size, uint64_t offset);
int write_all_at(int fd, const void *data, size_t size, uint64_t offset);

/* Takes a file's lock, which others may have until `deadline_usec`, and makes the file, its folders
 * too, where there is none. Returns the fd that holds the lock; -EBUSY; other -errno. */
int lock_file(const char *path, uint64_t deadline_usec);

/* Zeros in place of size bytes from the offset on, on disk when this returns. 0 or negative
 * errno. */
int write_zeros(int fd, off_t from, size_t size);

/* Creates the folder and its missing parents; an existing folder is no error. */
int mkdir_p(const char *path, mode_t mode);
int mkdir_parents(const char *path, mode_t mode);

/* Removes a tree without following symbolic links or crossing into other file systems. A missing
 * one is no error. The first error is returned, what can be removed is. */
int rm_rf(const char *path);

/* "a/b" from "a" and "b", one slash between; NULL on out of memory. */
char *path_join(const char *a, const char *b);

/* The last part of a path; points into it. */
const char *path_basename(const char *path);

/* The folder part of a path: "images" of "images/x.json", "." where there is none, "/" of "/x".
 * NULL on out of memory. */
char *path_folder(const char *path);
