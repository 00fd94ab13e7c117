/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What we write where others read and write as well (a drain's reason, an annotation), so that we
 * know it again: our mark at its begin, a sum at its end. Somebody who changes the text makes it
 * his own. */

#include "shared/macro.h"

#define OWN_MARK "[firstboot]"
#define OWN_SUM_LENGTH 6 /* " #" and four digits */

/* "[firstboot] CODE: text #sum" on one line of at most 200 characters, without quotes, backslashes
 * and control characters. NULL on out of memory; the caller frees it. */
char *own_reason(const char *code, const char *text);

/* The text with its sum behind it; NULL on out of memory. The caller frees it. */
char *own_reason_with_sum(const char *text);

/* Whether the first n characters are a text of ours, to the letter. */
bool own_reason_is_ours(const char *reason, size_t n);

/* The code in one of ours, which the caller frees; NULL where it is none. */
char *own_reason_code(const char *reason);
