/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Finds out why TLS to an LDAP server does not work: sssd only knows that it does not. */

#include "shared/macro.h"

/* Connects, says StartTLS where asked to, and checks the certificate against ca_file ("": the
 * system's). Prints one line "KIND: text" with KIND one of ok, unreachable, timeout, certificate,
 * ca-file, protocol. Returns 0 for ok, 1 otherwise. */
int tls_probe(const char *host, const char *port, const char *ca_file, bool starttls);
