/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The base image of a recipe, once it is locked. */

#include "common/context.h"
#include "lock/model.h"

#include <sys/stat.h>

/* Where the locked image lies: the store's blob, or the recipe's file, which is as it was locked
 * (-ESTALE, logged, otherwise). *ret_st is what it was before it was looked at. The caller frees
 * *ret. */
int locked_image_path(Context *ctx, const Recipe *recipe, const LockedImage *image,
                struct stat *ret_st, char **ret);
