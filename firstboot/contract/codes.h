/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Every message that goes into the journal with a MESSAGE_ID, and with them every reason code: what
 * it means and what to do. The journal catalog and docs/reason-codes.md are made from this table,
 * and `firstbootctl explain` prints it. An id, once shipped, stays. */

#include "shared/macro.h"

typedef struct Code {
        const char *code;    /* "scratch.foreign-signature"; events of the daemon are "event.…" */
        const char *id;      /* MESSAGE_ID, 32 hex digits */
        const char *title;   /* one line */
        const char *meaning; /* why the node is refused, or what has happened */
        const char *remedy;  /* what the admin does next */
} Code;

extern const Code codes[];
extern const size_t codes_count;

const Code *code_find(const char *code); /* NULL for a site's own codes */

/* Reason codes explain a failure, events tell what goes on. */
bool code_is_reason(const Code *c);
