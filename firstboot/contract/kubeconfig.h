/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A kubeconfig, as kubeadm and kubelet write it: one cluster, one user, a key and its value a line.
 * It is no reader of YAML; what is written in another way, or of several clusters, is refused. */

#include "shared/macro.h"

/* Each is NULL where the file does not have it. What is called data is base64 of PEM. */
typedef struct Kubeconfig {
        char *server;
        char *ca_data, *ca_file;
        char *cert_data, *cert_file;
        char *key_data, *key_file;
} Kubeconfig;

void kubeconfig_done(Kubeconfig *k);
#define _cleanup_kubeconfig_ _cleanup_(kubeconfig_done)

/* 0; -EBADMSG: no server in it; -ENOTUNIQ: a key has two values; -ENOMEM. */
int kubeconfig_parse(const char *text, Kubeconfig *ret);
