/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Which versions of drivers and container programs are still supported, and which are known to have
 * open flaws: the data is support.json, each entry with its source and date. It warns of what is
 * known; that it is silent proves nothing. */

#include "shared/json-util.h"

/* $IMGBUILD_SUPPORT, else that of the source tree this program was built in, else the installed
 * one. -ENOENT where there is none; -EINVAL, which is logged, for one that cannot be read. */
int support_load(json_object **ret);

/* What is to be said of `product` ("driver", "container-toolkit", "runc") in this version, a text
 * each: below the floor of its branch, a branch that is no more supported, or one that the data
 * does not know. `today`: "2026-11-23". NULL where there is nothing to say. 0 or -ENOMEM. */
int support_judge(json_object *support, const char *product, const char *version, const char *today,
                char ***ret);

#define TODAY_MAX 16
/* Of UTC. */
const char *support_today(char ret[static TODAY_MAX]);
