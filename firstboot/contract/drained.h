/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What Slurm's own call (slurm/hook-main.c) has drained the node for. firstbootd takes it up, or
 * nobody would lift that drain. It lies in /run or, while there is no room, on the disk. */

#include "shared/macro.h"

/* 0, or negative errno where firstbootd cannot be told. */
int drained_tell(const char *code, const char *message);

/* 1 with what was told, for the caller to free, and it is told no more; 0 where nothing is; or
 * -ENOMEM. */
int drained_take(char **ret_code, char **ret_message);

void drained_forget(void);
