/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* An entry for journald that is sent at once or not at all. sd_journal_send() waits until a
 * journald that hangs takes it, as one does whose disk does not answer; and then the node has
 * something to tell. */

#include "shared/macro.h"

typedef struct JournalField {
        const char *key, *value;
} JournalField;

/* 0, or negative errno: -EAGAIN where journald does not take it now, -ENOENT where there is
 * none. */
int journal_socket_send(const JournalField *fields, size_t n);
