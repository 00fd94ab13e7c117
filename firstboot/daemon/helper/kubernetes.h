/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Questions to a Kubernetes API server. Each prints one JSON object, with "kind" (ok, or what went
 * wrong) and "text" (why), and returns an exit code. config is the section "kubernetes". */

#include "shared/json-util.h"

/* Whether the node has joined, by /etc/kubernetes/kubelet.conf and its certificate: kind is ok,
 * absent, broken, other-cluster, other-node or expired; then "server". */
int kubernetes_identity(json_object *config, const char *node);

/* What kubeadm's discovery would find: an API server at the endpoint, of the cluster whose CA is
 * pinned, that knows the token with this id (the part before the dot, which is no secret). kind is
 * ok, unreachable, timeout, protocol, wrong-ca, certificate, or no-token; then "date", the server's
 * clock. */
int kubernetes_discover(json_object *config, const char *token_id);

/* One request to the API server that kubelet talks to, with kubelet's certificate or (as_verdict)
 * the token of kubernetes.verdict_token. The body (NULL: none) has the given type. kind is ok where
 * the server answered with JSON, whatever its "status"; then "status", "body" and "date". */
int kubernetes_request(json_object *config, bool as_verdict, const char *method, const char *path,
                const char *type, const char *body);
