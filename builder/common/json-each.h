/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Large JSON without all of it in memory as objects: its outermost parts one by one. */

#include "shared/json-parse.h"

/* Calls `visit` for each member of the outermost object (its key, which is not unescaped, and the
 * text of its value), or each item of the outermost array (key NULL); of several values one behind
 * the other for each (key NULL). Its result ends it where it is not 0, and is returned. What is
 * between braces is not looked at: who wants it parses it. -EBADMSG where brackets or strings do
 * not end. */
typedef struct JsonSlice {
        const char *text;
        size_t size;
} JsonSlice;
int json_each(const char *text, size_t size,
                int (*visit)(const JsonSlice *key, const JsonSlice *value, void *userdata),
                void *userdata);
