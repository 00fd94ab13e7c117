/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Rules for strings of the configuration. They end up in files of other programs, in unit names and
 * on command lines: what would mean something else there is refused here. */

#include "contract/config-rules.h"
#include "shared/parse-number.h"
#include "shared/strv.h"

#include <ctype.h>

const char *check_absolute(const char *s) {
        if (s[0] != '/')
                return "must be an absolute path";
        if (strstr(s, "/../") || endswith(s, "/..") || strstr(s, "//"))
                return "must be a plain path without \"..\" and \"//\"";
        return strpbrk(s, "\n\r") ? "must not hold a line break" : NULL;
}

const char *check_mount_point(const char *s) {
        const char *wrong = check_absolute(s);

        if (wrong)
                return wrong;
        return streq(s, "/") ? "must not be the root folder" : NULL;
}

/* What is mounted over one of these hides what the node runs on. */
const char *check_mount_over(const char *s) {
        static const char *const needed[] = { "bin", "boot", "dev", "etc", "lib", "lib32", "lib64",
                "proc", "run", "sbin", "sys", "usr", "var" };
        const char *wrong = check_mount_point(s);
        size_t n = strcspn(s + 1, "/");

        if (wrong || (s[1 + n] == '/' && s[2 + n]))
                return wrong;
        for (size_t i = 0; i < ELEMENTSOF(needed); i++)
                if (strlen(needed[i]) == n && strncmp(s + 1, needed[i], n) == 0)
                        return "must not be a folder that the system itself needs";
        return NULL;
}

const char *check_line(const char *s) {
        for (; *s; s++)
                if ((unsigned char) *s < 0x20)
                        return "must not hold control characters or line breaks";
        return NULL;
}

const char *check_hostname(const char *s) {
        size_t n = strlen(s);

        if (n == 0 || n > 253)
                return "must be a host name of 1 to 253 characters";
        for (const char *p = s; *p; p++)
                if (!isalnum((unsigned char) *p) && *p != '-' && *p != '.')
                        return "may hold letters, digits, '-' and '.' only";
        return s[0] == '-' || s[0] == '.' ? "must start with a letter or digit" : NULL;
}

/* slurmctld takes ALL, in whatever case, for every node there is. */
const char *check_slurm_node(const char *s) {
        return strcasecmp(s, "all") == 0 ? "must be one node's name; to Slurm, ALL is every node"
                                         : check_hostname(s);
}

const char *check_timezone(const char *s) {
        if (s[0] == '/' || strstr(s, "..") || check_line(s) || isempty(s))
                return "must be a zone name such as \"Etc/UTC\"";
        return NULL;
}

const char *check_lvm_name(const char *s) {
        if (isempty(s) || strlen(s) > 64 || s[0] == '-' || streq(s, ".") || streq(s, ".."))
                return "must be an LVM name of 1 to 64 characters that does not start with '-'";
        for (; *s; s++)
                if (!isalnum((unsigned char) *s) && !strchr("+_.-", *s))
                        return "may hold letters, digits and \"+_.-\" only";
        return NULL;
}

/* As LVM writes them: 32 letters and digits in groups of 6, 4, 4, 4, 4, 4 and 6. */
const char *check_vg_uuid(const char *s) {
        static const char shape[] = "xxxxxx-xxxx-xxxx-xxxx-xxxx-xxxx-xxxxxx";

        for (size_t i = 0; i < sizeof(shape); i++)
                if (shape[i] == 'x' ? !isalnum((unsigned char) s[i]) : s[i] != shape[i])
                        return "must be the UUID of a volume group, as vgs -o vg_uuid shows it";
        return NULL;
}

const char *check_label(const char *s) {
        if (isempty(s) || strlen(s) > 12)
                return "must be 1 to 12 characters (XFS keeps no more)";
        for (; *s; s++)
                if (!isalnum((unsigned char) *s) && !strchr("_.-", *s))
                        return "may hold letters, digits and \"_.-\" only";
        return NULL;
}

const char *check_options(const char *s) {
        for (; *s; s++)
                if (isspace((unsigned char) *s) || (unsigned char) *s < 0x20)
                        return "must be a comma-separated list without white space";
        return NULL;
}

const char *check_what(const char *s) {
        return !strchr(s, ':') || strpbrk(s, " \t\n")
                               ? "must be \"SERVER:/EXPORT\" without white space"
                               : NULL;
}

const char *check_ldap_uri(const char *s) {
        if (!startswith(s, "ldap://") && !startswith(s, "ldaps://"))
                return "must start with ldaps:// or ldap://";
        return strpbrk(s, " \t\n,") ? "must be one URI without white space or commas" : NULL;
}

const char *check_url(const char *s) {
        if (!startswith(s, "http://") && !startswith(s, "https://"))
                return "must start with https:// or http://";
        return check_options(s) ? "must not hold white space" : NULL;
}

const char *check_user(const char *s) {
        if (isempty(s) || strlen(s) > 255 || s[0] == '-')
                return "must be a user or group name";
        return check_options(s) || strchr(s, ':') ? "must be a user or group name" : NULL;
}

const char *check_controller(const char *s) {
        const char *colon = strchr(s, ':');
        _cleanup_free_ char *host = strndup(s, colon ? (size_t) (colon - s) : strlen(s));
        uint64_t port;

        if (!host || check_hostname(host))
                return "must be HOST or HOST:PORT";
        if (colon && (parse_number(colon + 1, 10, &port) < 0 || port < 1 || port > 65535))
                return "must be HOST or HOST:PORT with a port from 1 to 65535";
        return NULL;
}

const char *check_word(const char *s) {
        if (isempty(s))
                return "must not be empty";
        return strpbrk(s, " \t\n\"'\\") || check_line(s)
                               ? "must be one word without quotes or white space"
                               : NULL;
}

const char *check_xid(const char *s) {
        size_t n = strspn(s, "0123456789");

        return n == 0 || n > 4 || s[n] ? "must be the number of an Xid, as a string" : NULL;
}

/* The names are gpu_fact_names' (steps/gpu/facts.c). */
const char *check_gpu_fact(const char *s) {
        static const char *const facts[] = { "architecture", "persistence", "ecc", "ecc_volatile",
                "ecc_aggregate", "remap_pending", "remap_failed", "retired_single_bit",
                "retired_double_bit", "retired_pending", "pcie_generation", "pcie_generation_max",
                "pcie_width", "pcie_width_max", "clock_reasons", "temperature", "fabric_state",
                "fabric_status" };

        for (size_t i = 0; i < ELEMENTSOF(facts); i++)
                if (streq(s, facts[i]))
                        return NULL;
        return "must be the name of a fact, such as \"ecc\" or \"clock_reasons\"; see docs/gpu.md";
}

const char *check_ca_hash(const char *s) {
        const char *digits = startswith(s, "sha256:");

        if (!digits || strlen(digits) != 64 || strspn(digits, "0123456789abcdefABCDEF") != 64)
                return "must be \"sha256:\" and 64 hexadecimal digits, as kubeadm token create --print-join-command shows it";
        return NULL;
}

const char *check_join_token(const char *s) {
        static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";

        if (strlen(s) != 23 || strspn(s, letters) != 6 || s[6] != '.' ||
                        strspn(s + 7, letters) != 16)
                return "must be a bootstrap token: 6 letters or digits, a '.', and 16 more";
        return NULL;
}

/* RFC 1123, as the API server has it. */
const char *check_node_name(const char *s) {
        for (const char *p = s; *p; p++)
                if (isupper((unsigned char) *p))
                        return "must be in lower case";
        if (*s && !isalnum((unsigned char) s[strlen(s) - 1]))
                return "must end with a letter or digit";
        return check_hostname(s);
}

static bool is_label_word(const char *s, size_t n, bool dots_only) {
        if (n == 0 || !isalnum((unsigned char) s[0]) || !isalnum((unsigned char) s[n - 1]))
                return false;
        for (size_t i = 0; i < n; i++)
                if (!isalnum((unsigned char) s[i]) && !strchr(dots_only ? "-." : "-_.", s[i]))
                        return false;
        return true;
}

/* Domains that a node may not label itself in, but for a few names: kubelet does not start with
 * others, and the admission plugin NodeRestriction refuses them. */
static bool is_reserved(const char *key, size_t domain) {
        static const char *const allowed[] = { "kubernetes.io/hostname", "kubernetes.io/arch",
                "kubernetes.io/os", "node.kubernetes.io/instance-type",
                "topology.kubernetes.io/region", "topology.kubernetes.io/zone" };
        _cleanup_free_ char *d = strndup(key, domain);

        if (!d)
                return true;
        for (size_t i = 0; i < ELEMENTSOF(allowed); i++)
                if (streq(key, allowed[i]))
                        return false;
        if (streq(d, "kubelet.kubernetes.io") || endswith(d, ".kubelet.kubernetes.io") ||
                        streq(d, "node.kubernetes.io") || endswith(d, ".node.kubernetes.io"))
                return false;
        return streq(d, "kubernetes.io") || endswith(d, ".kubernetes.io") || streq(d, "k8s.io") ||
               endswith(d, ".k8s.io");
}

const char *check_node_label(const char *key, const char *value) {
        const char *slash = strchr(key, '/'), *name = slash ? slash + 1 : key;
        size_t domain = slash ? (size_t) (slash - key) : 0;

        if (strlen(name) > 63 || !is_label_word(name, strlen(name), false) ||
                        (slash && (domain > 253 || !is_label_word(key, domain, true))))
                return "must be a label's name, such as \"example.org/rack\"";
        if (slash && is_reserved(key, domain))
                return "is in a domain of Kubernetes that a node may not label itself in";
        if (!isempty(value) && (strlen(value) > 63 || !is_label_word(value, strlen(value), false)))
                return "must have a value of at most 63 letters, digits, '-', '_' and '.'";
        return NULL;
}

const char *check_kubelet_arg(const char *key, const char *value) {
        static const char *const ours[] = { "node-labels", "hostname-override", "kubeconfig",
                "bootstrap-kubeconfig", "container-runtime-endpoint", "config" };

        if (isempty(key) || strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(key) ||
                        key[0] == '-')
                return "must be an option of kubelet without the dashes before it";
        for (size_t i = 0; i < ELEMENTSOF(ours); i++)
                if (streq(key, ours[i]))
                        return "is set by firstboot itself";
        return check_word(strempty(value));
}
