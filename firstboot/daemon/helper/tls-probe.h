/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Finds out why TLS to an LDAP server does not work: libldap only knows that it does not. */

#include "shared/macro.h"

#define TLS_PROBE_SILENT "the server accepts the connection, then says nothing"

/* Connects, says StartTLS where asked to, and checks the certificate against ca_file (NULL: the
 * system's). Returns one of ok, unreachable, timeout, certificate, ca-file, protocol, and in
 * *ret_text why; both are borrowed, the text until the next call of the C library or OpenSSL. */
const char *tls_probe(const char *host, const char *port, const char *ca_file, bool starttls,
                const char **ret_text);
