/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Files that a step writes whole, each time the same. */

#include "shared/macro.h"
#include <sys/types.h>

/* Whether the file below the test root holds exactly this text. */
bool own_file_holds(const char *name, const char *text);

/* Has the file below the test root hold the text: what differs is replaced in one step, durably
 * where `durable` says so, its folders made as needed. Returns 1 where it was written, 0 where it
 * held the text already (its mode is then not looked at), negative errno. */
int own_file_put(const char *name, const char *text, mode_t mode, bool durable);

/* The same for a file in /run that lets a daemon run. That it is there counts; where /run is full,
 * one that is there keeps its word, which is for people. 0, 1 or negative errno. */
int own_permit_put(const char *name, const char *word);

/* Whether a folder can be written to: a file is written through to the disks, read back and
 * removed. Its name is nobody's to guess, for everybody may write to a scratch volume, and a folder
 * of that name would make the node a broken one. The folder's path is the real one. 0 or negative
 * errno. */
int folder_prove_writable(const char *folder);
