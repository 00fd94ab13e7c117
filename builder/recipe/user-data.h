/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* User data as cloud-init takes it, and the node configuration in it. */

#include "contract/config.h"
#include "recipe/problems.h"

/* Whether the text is user data by its first line, or the file by its name. */
bool user_data_is_it(const char *path, const char *text);

/* Lays the node configuration of user data over c: the key firstboot, then what write_files puts
 * into /etc/firstboot/conf.d, in the order of the node. What is wrong with the user data itself is
 * a problem of the file. 0 or -ENOMEM. */
int user_data_merge(Config *c, const char *path, const char *text, Problems *problems);

/* The same of user data that was read: its firstboot and write_files. */
int user_data_merge_object(Config *c, const char *path, json_object *o, Problems *problems);
