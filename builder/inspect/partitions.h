/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The partition table of a disk in an appliance. Its sectors are read through the appliance and
 * understood here, by libblkid: a program that libguestfs would start for each question takes
 * seconds without KVM. */

#include "appliance/appliance.h"

typedef struct Partition {
        unsigned number;
        uint64_t start, size; /* bytes */
        char type[37];        /* GPT: a GUID in capitals; MBR: "0x83" */
        char name[144];       /* GPT's 36 UTF-16 units; "" where there is none */
} Partition;

typedef struct PartitionTable {
        char kind[16], id[37]; /* "gpt", "msdos" …; "": none */
        Partition *partitions;
        size_t n;
} PartitionTable;
void partition_table_done(PartitionTable *t);
#define _cleanup_partition_table_ _cleanup_(partition_table_done)

/* Errors are not logged; -EIO: the appliance says why (guestfs_last_error()). */
int partition_table_read(guestfs_h *g, const char *device, PartitionTable *ret);

/* GPT's other copy, at the end of the disk, by itself. */
int partition_table_read_backup(guestfs_h *g, const char *device, PartitionTable *ret);

/* Of a file that has the disk's sectors where tables lie: all but what `elsewhere` then names, the
 * logical partitions of an MBR. */
int partition_table_parse(int fd, PartitionTable *ret, bool *ret_elsewhere);
