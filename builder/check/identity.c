/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One image becomes many nodes: what identifies a single machine (its machine id, ssh host keys,
 * random seed) must not be in it. */

#include "check/internal.h"

int check_identity_machine_id(const Tree *t, const char *rule, Findings *f) {
        _cleanup_free_ char *id = NULL;
        struct stat st;
        int r = tree_read(t, "etc/machine-id", 4096, &id);

        if (r == -ENOENT)
                return finding_add(f, rule,
                                strdup("/etc/machine-id is missing: a read-only boot could not set one"),
                                strdup("leave it there, empty"));
        if (r < 0 && r != -EFBIG && r != -EINVAL)
                return r;
        if (r < 0 || id[strspn(id, "\n")] != '\0') {
                r = finding_add(f, rule,
                                strf("/etc/machine-id is not empty (\"%.32s\"): every node would be the same machine",
                                                strempty(id)),
                                strdup("truncate it; systemd makes a new one at the first boot"));
                if (r < 0)
                        return r;
        }
        /* D-Bus may keep one of its own; a link to /etc/machine-id is right. */
        if (tree_lstat(t, "var/lib/dbus/machine-id", &st) >= 0 && S_ISREG(st.st_mode) &&
                        st.st_size > 0)
                return finding_add(f, rule, strdup("/var/lib/dbus/machine-id is a file of its own"),
                                strdup("remove it, or make it a link to /etc/machine-id"));
        return 0;
}

int check_identity_ssh_host_keys(const Tree *t, const char *rule, Findings *f) {
        _cleanup_strv_free_ char **names = NULL;
        int r = tree_list(t, "etc/ssh", &names);

        if (r < 0)
                return r;
        STRV_FOREACH (name, names)
                if (startswith(*name, "ssh_host_")) {
                        r = finding_add(f, rule,
                                        strf("/etc/ssh/%s is in the image: every node would have this key",
                                                        *name),
                                        strdup("remove it; cloud-init or sshd-keygen.service makes keys at the first boot"));
                        if (r < 0)
                                return r;
                }
        return 0;
}

typedef struct Unwanted {
        const char *path, *why, *remedy;
} Unwanted;

static int check_absent(
                const Tree *t, const char *rule, const Unwanted *list, size_t n, Findings *f) {
        for (size_t i = 0; i < n; i++) {
                struct stat st;
                int r = tree_lstat(t, list[i].path, &st);

                if (r == -ENOENT || r == -ENOTDIR ||
                                (r >= 0 && S_ISREG(st.st_mode) && st.st_size == 0))
                        continue;
                if (r < 0)
                        return r;
                r = finding_add(f, rule, strf("/%s is in the image: %s", list[i].path, list[i].why),
                                strdup(list[i].remedy));
                if (r < 0)
                        return r;
        }
        return 0;
}

int check_identity_seed(const Tree *t, const char *rule, Findings *f) {
        static const Unwanted seeds[] = {
                { "var/lib/systemd/random-seed",
                                "every node would start from the same random numbers",
                                "remove it" },
                { "var/lib/systemd/credential.secret",
                                "every node could read the others' encrypted credentials",
                                "remove it" },
                { "boot/efi/loader/random-seed",
                                "every node would start from the same random numbers",
                                "remove it" },
                { "boot/loader/random-seed", "every node would start from the same random numbers",
                                "remove it" },
        };
        return check_absent(t, rule, seeds, ELEMENTSOF(seeds), f);
}

int check_identity_host_ids(const Tree *t, const char *rule, Findings *f) {
        static const Unwanted ids[] = {
                { "etc/nvme/hostnqn", "NVMe targets would take all nodes for one host",
                                "remove it in a run script" },
                { "etc/nvme/hostid", "NVMe targets would take all nodes for one host",
                                "remove it in a run script" },
                { "etc/iscsi/initiatorname.iscsi",
                                "iSCSI targets would take all nodes for one host",
                                "remove it in a run script" },
                { "var/lib/cloud/instance",
                                "cloud-init would think it has seen this node's first boot",
                                "run \"cloud-init clean\"" },
                { "var/lib/cloud/instances",
                                "cloud-init would think it has seen this node's first boot",
                                "run \"cloud-init clean\"" },
                { "var/lib/firstboot/state.json", "the agent would take up another node's state",
                                "remove it" },
                { "var/lib/dhcp/dhclient.leases", "nodes would ask for another node's address",
                                "remove it" },
        };
        return check_absent(t, rule, ids, ELEMENTSOF(ids), f);
}
