/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Certificates of a Kubernetes cluster: whether an authority is the one that was named, and whose a
 * node's own certificate is. */

#include "shared/json-util.h"

/* base64 to text, which the caller frees. -EBADMSG, -ENOMEM. */
int base64_text(const char *base64, char **ret);

/* Whether one of the certificates in the PEM text has a public key with one of the digests
 * ("sha256:…"), as kubeadm's discovery has it. *ret_found is the first one's digest, which the
 * caller frees. Negative errno: -EBADMSG where there is no certificate. */
int cluster_ca_is_pinned(const char *pem, json_object *hashes, char **ret_found);

/* The certificate's common name ("system:node:gpu0"), which the caller frees, and when it is valid
 * (seconds). -EBADMSG where the PEM text has no certificate. */
int certificate_read(const char *pem, char **ret_name, int64_t *ret_from, int64_t *ret_until);
