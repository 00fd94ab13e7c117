/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Keys that the service which runs this was given: systemd.exec(5), LoadCredential=. */

#define CREDENTIAL_KEY "imgbuild.minisign-key"
#define CREDENTIAL_PASSPHRASE "imgbuild.minisign-passphrase"

/* The file of a credential: NULL where the service manager handed over no such one, or on out of
 * memory. The caller frees it. */
char *credential_find(const char *name);
