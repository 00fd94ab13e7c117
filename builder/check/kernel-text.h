/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Words that a kernel holds: the image itself, which packs the rest of itself, and its modules. */

#include "check/tree.h"

/* A word, which ends with a NUL wherever it stands as a text, and whether it was found. */
typedef struct KernelWord {
        char *word;
        bool found;
} KernelWord;

/* Looks for the words in /boot/vmlinuz-KERNEL and, for those that it lacks, in the kernel's
 * modules. Sets found, and clears none. -EBADMSG: no kernel as x86 has it, or packed in a way that
 * libarchive does not know; -ENOENT; -ENOMEM. */
int kernel_find_words(const Tree *t, const char *kernel, KernelWord *words, size_t n);
