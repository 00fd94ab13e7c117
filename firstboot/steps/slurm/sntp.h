/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A host's clock, asked by one SNTP question (RFC 4330): the only way to compare clocks with a
 * Slurm controller that refuses our credentials, for it does not say why. */

#include "shared/macro.h"

#define SNTP_SIZE 48

/* The server's time (seconds since 1970) from its answer to a question with these 8 bytes as
 * transmit timestamp; -EBADMSG where it is none, or the server's own clock is not synchronised. */
int sntp_parse(const unsigned char answer[SNTP_SIZE], const unsigned char question[8],
                int64_t *ret_seconds);

/* How many seconds the host's clock is ahead of ours, asked three times, 1 s each. -ETIMEDOUT or
 * another negative errno where it does not tell. */
int sntp_offset(const char *host, int64_t *ret_seconds);
