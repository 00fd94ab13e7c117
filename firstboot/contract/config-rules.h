/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Rules that strings of the configuration keep to. Each returns NULL where the string is good, else
 * what is wrong, as the end of a sentence that begins with the key. */

const char *check_absolute(const char *s);    /* a plain absolute path */
const char *check_mount_point(const char *s); /* the same, but not the root folder */
const char *check_mount_over(const char *s);
const char *check_line(const char *s); /* one line without control characters */
const char *check_hostname(const char *s);
const char *check_slurm_node(const char *s);
const char *check_timezone(const char *s); /* "Etc/UTC" */
const char *check_lvm_name(const char *s); /* of a volume group or a logical volume */
const char *check_vg_uuid(const char *s);
const char *check_label(const char *s);   /* of a file system */
const char *check_options(const char *s); /* "noatime,vers=3" */
const char *check_what(const char *s);    /* "SERVER:/EXPORT" */
const char *check_ldap_uri(const char *s);
const char *check_url(const char *s);        /* of HTTP or HTTPS */
const char *check_user(const char *s);       /* of a user or a group */
const char *check_controller(const char *s); /* HOST or HOST:PORT */
const char *check_word(const char *s);       /* without quotes and white space */
const char *check_xid(const char *s);        /* the number of an Xid */
const char *check_gpu_fact(const char *s);   /* what a GPU of some kind may truly lack */
const char *check_ca_hash(const char *s);    /* "sha256:" and 64 hexadecimal digits */
const char *check_join_token(const char *s); /* kubeadm's: "abcdef.0123456789abcdef" */
const char *check_node_name(const char *s);  /* of a Kubernetes node */

/* A label that a node gives itself; NULL where it is good. */
const char *check_node_label(const char *key, const char *value);

/* An option of kubelet's, without dashes, that is not this program's own to set. */
const char *check_kubelet_arg(const char *key, const char *value);
