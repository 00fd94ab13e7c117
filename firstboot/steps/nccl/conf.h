/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* /etc/nccl.conf as NCCL reads it: lines of KEY=VALUE, '#' in the first column begins a comment,
 * no blanks around the '=', the first of two lines for a key counts. Source: NCCL's user guide,
 * "Environment Variables", and setEnvFile() in its src/misc/param.cc. */

#include "shared/macro.h"

typedef struct NcclSetting {
        const char *key;
        const char *value; /* NULL: is not to be there */
        bool owned;        /* replaces whatever the file says; else the file's own line counts */
} NcclSetting;

/* The file's new text: our lines in a block of ours at the end, every other line as it was, in its
 * place, but for those that set an owned key. Merging the result again with the same settings
 * gives the same text. NULL on out of memory; the caller frees it. */
char *nccl_conf_merge(const char *text, const NcclSetting *settings, size_t n);

/* What the text sets key to, as NCCL would see it: NULL where it does not, or on out of memory.
 * The caller frees it. */
char *nccl_conf_get(const char *text, const char *key);
