/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "contract/config-schema.h"
#include "shared/strv.h"

#include <ctype.h>

static const char *check_absolute(const char *s) {
        if (s[0] != '/')
                return "must be an absolute path";
        if (strstr(s, "/../") || endswith(s, "/..") || strstr(s, "//"))
                return "must be a plain path without \"..\" and \"//\"";
        return strpbrk(s, "\n\r") ? "must not hold a line break" : NULL;
}

static const char *check_mount_point(const char *s) {
        const char *wrong = check_absolute(s);

        if (wrong)
                return wrong;
        return streq(s, "/") ? "must not be the root folder" : NULL;
}

static const char *check_line(const char *s) {
        for (; *s; s++)
                if ((unsigned char) *s < 0x20)
                        return "must not hold control characters or line breaks";
        return NULL;
}

static const char *check_hostname(const char *s) {
        size_t n = strlen(s);

        if (n == 0 || n > 253)
                return "must be a host name of 1 to 253 characters";
        for (const char *p = s; *p; p++)
                if (!isalnum((unsigned char) *p) && *p != '-' && *p != '.')
                        return "may hold letters, digits, '-' and '.' only";
        return s[0] == '-' || s[0] == '.' ? "must start with a letter or digit" : NULL;
}

static const char *check_timezone(const char *s) {
        if (s[0] == '/' || strstr(s, "..") || check_line(s) || isempty(s))
                return "must be a zone name such as \"Etc/UTC\"";
        return NULL;
}

static const char *check_lvm_name(const char *s) {
        if (isempty(s) || strlen(s) > 64 || s[0] == '-' || streq(s, ".") || streq(s, ".."))
                return "must be an LVM name of 1 to 64 characters that does not start with '-'";
        for (; *s; s++)
                if (!isalnum((unsigned char) *s) && !strchr("+_.-", *s))
                        return "may hold letters, digits and \"+_.-\" only";
        return NULL;
}

static const char *check_label(const char *s) {
        if (isempty(s) || strlen(s) > 12)
                return "must be 1 to 12 characters (XFS keeps no more)";
        for (; *s; s++)
                if (!isalnum((unsigned char) *s) && !strchr("_.-", *s))
                        return "may hold letters, digits and \"_.-\" only";
        return NULL;
}

static const char *check_options(const char *s) {
        for (; *s; s++)
                if (isspace((unsigned char) *s) || (unsigned char) *s < 0x20)
                        return "must be a comma-separated list without white space";
        return NULL;
}

static const char *check_what(const char *s) {
        return !strchr(s, ':') || strpbrk(s, " \t\n")
                               ? "must be \"SERVER:/EXPORT\" without white space"
                               : NULL;
}

static const char *check_ldap_uri(const char *s) {
        if (!startswith(s, "ldap://") && !startswith(s, "ldaps://"))
                return "must start with ldaps:// or ldap://";
        return strpbrk(s, " \t\n,") ? "must be one URI without white space or commas" : NULL;
}

static const char *check_url(const char *s) {
        if (!startswith(s, "http://") && !startswith(s, "https://"))
                return "must start with https:// or http://";
        return check_options(s) ? "must not hold white space" : NULL;
}

static const char *check_user(const char *s) {
        if (isempty(s) || strlen(s) > 255 || s[0] == '-')
                return "must be a user or group name";
        return check_options(s) || strchr(s, ':') ? "must be a user or group name" : NULL;
}

static const char *check_controller(const char *s) {
        const char *colon = strchr(s, ':');
        _cleanup_free_ char *host = strndup(s, colon ? (size_t) (colon - s) : strlen(s));

        if (!host || check_hostname(host))
                return "must be HOST or HOST:PORT";
        if (colon) {
                char *end;
                long port = strtol(colon + 1, &end, 10);
                if (end == colon + 1 || *end || port < 1 || port > 65535)
                        return "must be HOST or HOST:PORT with a port from 1 to 65535";
        }
        return NULL;
}

static const char *check_word(const char *s) {
        if (isempty(s))
                return "must not be empty";
        return strpbrk(s, " \t\n\"'\\") || check_line(s)
                               ? "must be one word without quotes or white space"
                               : NULL;
}

static const char *check_xid(const char *s) {
        size_t n = strspn(s, "0123456789");

        return n == 0 || n > 4 || s[n] ? "must be the number of an Xid, as a string" : NULL;
}

/* Facts that a GPU of some kind truly lacks; the names are gpu_fact_names' (steps/gpu-facts.c). */
static const char *check_gpu_fact(const char *s) {
        static const char *const facts[] = { "architecture", "persistence", "ecc", "ecc_volatile",
                "ecc_aggregate", "remap_pending", "remap_failed", "retired_single_bit",
                "retired_double_bit", "retired_pending", "pcie_generation", "pcie_generation_max",
                "pcie_width", "pcie_width_max", "clock_reasons", "temperature", "fabric_state",
                "fabric_status" };

        for (size_t i = 0; i < ELEMENTSOF(facts); i++)
                if (streq(s, facts[i]))
                        return NULL;
        return "must be the name of a fact, such as \"ecc\" or \"clock_reasons\"; see "
               "docs/gpu.md";
}

#define MS 1000
#define MIN_ (60 * MS)
#define KEY(p, t, ...) { .path = p, .type = t, ##__VA_ARGS__ }

const ConfigKey config_keys[] = {
        KEY("host", CONFIG_OBJECT, .fallback = "{}", .meaning = "The machine itself."),
        KEY("host.hostname", CONFIG_STRING, .check = check_hostname,
                        .meaning = "Static host name. Absent: left as it is."),
        KEY("host.timezone", CONFIG_STRING, .check = check_timezone,
                        .meaning = "Time zone, such as \"Etc/UTC\". Absent: left as it "
                                   "is."),
        KEY("host.firewall", CONFIG_STRING, .fallback = "\"keep\"", .choices = "on|off|keep",
                        .meaning = "Enables or disables the distribution's firewall "
                                   "service (firewalld, ufw, nftables)."),
        KEY("host.grow_root", CONFIG_BOOL, .fallback = "true",
                        .meaning = "Grows root partition, physical volume, logical volume "
                                   "and file system to the disk's end."),
        KEY("host.sysctl", CONFIG_MAP,
                        .meaning = "Kernel settings, written to "
                                   "/etc/sysctl.d/90-firstboot.conf and applied."),
        KEY("host.limits", CONFIG_LIST,
                        .meaning = "Lines of /etc/security/limits.d/90-firstboot.conf."),
        KEY("host.limits[].domain", CONFIG_STRING, .fallback = "\"*\"", .check = check_word,
                        .meaning = "User, @group or \"*\"."),
        KEY("host.limits[].type", CONFIG_STRING, .fallback = "\"-\"", .choices = "soft|hard|-",
                        .meaning = "Which limit; \"-\" sets both."),
        KEY("host.limits[].item", CONFIG_STRING, .required = true, .check = check_word,
                        .meaning = "What is limited, such as \"memlock\" or \"nofile\"."),
        KEY("host.limits[].value", CONFIG_STRING, .required = true, .check = check_word,
                        .meaning = "The limit, a number or \"unlimited\", as a string."),

        KEY("scratch", CONFIG_OBJECT, .fallback = "{}",
                        .meaning = "The striped file system on local NVMe disks."),
        KEY("scratch.mount_point", CONFIG_STRING, .fallback = "\"/mnt/localdisk\"",
                        .check = check_mount_point, .meaning = "Where it is mounted."),
        KEY("scratch.vg", CONFIG_STRING, .fallback = "\"localscratch\"", .check = check_lvm_name,
                        .meaning = "Name of the volume group."),
        KEY("scratch.lv", CONFIG_STRING, .fallback = "\"scratch\"", .check = check_lvm_name,
                        .meaning = "Name of the logical volume."),
        KEY("scratch.label", CONFIG_STRING, .fallback = "\"localscratch\"", .check = check_label,
                        .meaning = "File system label; a file system on local disks with "
                                   "this label is adopted."),
        KEY("scratch.filesystem", CONFIG_STRING, .fallback = "\"xfs\"", .choices = "xfs|ext4",
                        .meaning = "Made on the logical volume."),
        KEY("scratch.stripe_size", CONFIG_SIZE, .fallback = "\"64K\"", .min = 4096,
                        .max = 4 * 1024 * 1024,
                        .meaning = "Bytes on one disk before the next one's turn; a power "
                                   "of two."),
        KEY("scratch.options", CONFIG_STRING, .fallback = "\"noatime\"", .check = check_options,
                        .meaning = "Mount options."),
        KEY("scratch.mode", CONFIG_STRING, .fallback = "\"1777\"", .check = check_word,
                        .meaning = "Access mode of the mounted root folder, octal."),
        KEY("scratch.disks", CONFIG_INT, .min = 0, .max = 1024,
                        .meaning = "How many disks there must be. Absent: as many as this "
                                   "instance had last time."),
        KEY("scratch.allow_fewer", CONFIG_BOOL, .fallback = "false",
                        .meaning = "Goes on with the usable disks where one is missing or "
                                   "foreign."),
        KEY("scratch.required", CONFIG_BOOL, .fallback = "false",
                        .meaning = "A node without any local disk fails."),
        KEY("scratch.models", CONFIG_STRINGS, .check = check_line,
                        .meaning = "Shell patterns; only disks whose model matches one are "
                                   "used. Absent: all local NVMe disks."),

        KEY("mounts", CONFIG_LIST, .meaning = "Network file systems, mounted in parallel."),
        KEY("mounts[].what", CONFIG_STRING, .required = true, .check = check_what,
                        .meaning = "Server and export."),
        KEY("mounts[].where", CONFIG_STRING, .required = true, .check = check_mount_point,
                        .meaning = "Mount point."),
        KEY("mounts[].type", CONFIG_STRING, .fallback = "\"nfs\"", .choices = "nfs|nfs4|lustre",
                        .meaning = "File system type."),
        KEY("mounts[].options", CONFIG_STRING, .check = check_options,
                        .meaning = "Mount options, such as \"vers=3\"."),
        KEY("mounts[].verify", CONFIG_STRING, .fallback = "\"read\"", .choices = "read|write|none",
                        .meaning = "How the mount is proved: a listing, or also a file "
                                   "written, read back and removed."),
        KEY("mounts[].required", CONFIG_BOOL, .fallback = "true",
                        .meaning = "Where false, a mount that fails makes the node "
                                   "degraded, not failed."),
        KEY("mounts[].timeout", CONFIG_DURATION, .fallback = "\"30s\"", .min = MS, .max = 60 * MIN_,
                        .meaning = "Limit of one try, mount and check each."),
        KEY("mounts[].give_up", CONFIG_DURATION, .fallback = "\"5min\"", .min = 0,
                        .max = 24 * 60 * (int64_t) MIN_,
                        .meaning = "How long tries are repeated, with growing pauses."),

        KEY("identity", CONFIG_OBJECT,
                        .meaning = "Users and groups from LDAP through sssd. Absent: step "
                                   "skipped."),
        KEY("identity.uri", CONFIG_STRINGS, .required = true, .check = check_ldap_uri,
                        .meaning = "LDAP servers, tried in order."),
        KEY("identity.base", CONFIG_STRING, .required = true, .check = check_line,
                        .meaning = "Search base."),
        KEY("identity.user_base", CONFIG_STRING, .check = check_line,
                        .meaning = "Search base of users."),
        KEY("identity.group_base", CONFIG_STRING, .check = check_line,
                        .meaning = "Search base of groups."),
        KEY("identity.schema", CONFIG_STRING, .fallback = "\"rfc2307\"",
                        .choices = "rfc2307|rfc2307bis|ad|ipa", .meaning = "Directory schema."),
        KEY("identity.bind_dn", CONFIG_STRING, .check = check_line,
                        .meaning = "Whom to bind as. Absent: anonymous."),
        KEY("identity.bind_password", CONFIG_STRING, .secret = true, .check = check_line,
                        .meaning = "Password of bind_dn; best given as credential "
                                   "firstboot.identity.bind_password."),
        KEY("identity.ca_file", CONFIG_STRING, .check = check_absolute,
                        .meaning = "CA certificates that sign the server. Absent: the "
                                   "system's."),
        KEY("identity.starttls", CONFIG_BOOL, .fallback = "true",
                        .meaning = "StartTLS on ldap:// servers."),
        KEY("identity.allow_plain", CONFIG_BOOL, .fallback = "false",
                        .meaning = "Lets ldap:// without StartTLS pass. Passwords then "
                                   "travel in the clear."),
        KEY("identity.probe_user", CONFIG_STRING, .required = true, .check = check_user,
                        .meaning = "A user that must be found through sssd."),
        KEY("identity.probe_group", CONFIG_STRING, .check = check_user,
                        .meaning = "A group that must be found."),
        KEY("identity.ssh_keys", CONFIG_BOOL, .fallback = "true",
                        .meaning = "sshd asks sssd for authorized keys."),
        KEY("identity.mkhomedir", CONFIG_BOOL, .fallback = "true",
                        .meaning = "Home folders made at first login."),
        KEY("identity.give_up", CONFIG_DURATION, .fallback = "\"3min\"", .min = MS,
                        .max = 24 * 60 * (int64_t) MIN_,
                        .meaning = "How long the lookup is repeated."),

        KEY("gpu", CONFIG_OBJECT,
                        .meaning = "The GPUs; see docs/gpu.md. Absent: a node with GPUs and their "
                                   "driver is checked all the same, one with GPUs and no driver "
                                   "is degraded."),
        KEY("gpu.required", CONFIG_BOOL, .fallback = "true",
                        .meaning = "A node without a GPU fails."),
        KEY("gpu.count", CONFIG_INT, .min = 1, .max = 64,
                        .meaning = "How many GPUs there must be. Absent: the shape's number."),
        KEY("gpu.ecc", CONFIG_STRING, .fallback = "\"on\"", .choices = "on|on-if-supported|any",
                        .meaning = "Whether ECC must be on."),
        KEY("gpu.ecc_volatile_max", CONFIG_INT, .fallback = "0", .min = 0, .max = INT32_MAX,
                        .meaning = "Uncorrectable ECC errors since the driver was loaded that are "
                                   "let pass."),
        KEY("gpu.ecc_aggregate_max", CONFIG_INT, .min = 0, .max = INT32_MAX,
                        .meaning = "Uncorrectable ECC errors in the GPU's life that are let pass. "
                                   "Absent: any number."),
        KEY("gpu.retired_pages_max", CONFIG_INT, .fallback = "62", .min = 0, .max = 64,
                        .meaning = "Retired memory pages that are let pass (GPUs before Ampere)."),
        KEY("gpu.pcie_generation", CONFIG_INT, .min = 1, .max = 7,
                        .meaning = "PCIe generation under load. Absent: the most that GPU and "
                                   "system can."),
        KEY("gpu.pcie_width", CONFIG_INT, .min = 1, .max = 32,
                        .meaning = "PCIe lanes. Absent: the most that GPU and system can."),
        KEY("gpu.bandwidth", CONFIG_BOOL, .fallback = "true",
                        .meaning = "Measures host-to-device and device-to-host bandwidth, and the "
                                   "PCIe generation under load."),
        KEY("gpu.bandwidth_percent", CONFIG_INT, .fallback = "60", .min = 1, .max = 100,
                        .meaning = "Least bandwidth, of what the PCIe link carries."),
        KEY("gpu.h2d_min", CONFIG_INT, .min = 1, .max = INT32_MAX,
                        .meaning = "Least bandwidth host to device in MB/s (10⁶), instead of the "
                                   "share."),
        KEY("gpu.d2h_min", CONFIG_INT, .min = 1, .max = INT32_MAX,
                        .meaning = "Least bandwidth device to host in MB/s (10⁶), instead of the "
                                   "share."),
        KEY("gpu.nvlinks", CONFIG_INT, .min = 0, .max = 36,
                        .meaning = "Active NVLinks of each GPU. Absent: the shape's number, else "
                                   "as many as the best GPU has."),
        KEY("gpu.nvlink_errors_max", CONFIG_INT, .fallback = "0", .min = 0, .max = INT32_MAX,
                        .meaning = "Replays and recoveries of a link that are let pass, each."),
        KEY("gpu.nvlink_crc_max", CONFIG_INT, .fallback = "100", .min = 0, .max = INT32_MAX,
                        .meaning = "CRC errors of a link that are let pass."),
        KEY("gpu.fabric", CONFIG_STRING, .fallback = "\"auto\"", .choices = "auto|on|off",
                        .meaning = "Whether the GPUs belong to an NVSwitch fabric; \"auto\": "
                                   "where PCI or an NVLink shows a switch."),
        KEY("gpu.persistence", CONFIG_BOOL, .fallback = "true",
                        .meaning = "Persistence mode must be on; nvidia-persistenced is started."),
        KEY("gpu.temperature_max", CONFIG_INT, .min = 1, .max = 150,
                        .meaning = "Temperature in °C from which a GPU is too hot. Absent: its own "
                                   "threshold."),
        KEY("gpu.xid_ignore", CONFIG_STRINGS,
                        .fallback = "[\"13\",\"31\",\"43\",\"45\",\"68\",\"109\"]",
                        .check = check_xid,
                        .meaning = "Xids in the kernel log that are let pass: those of "
                                   "applications."),
        KEY("gpu.allow_unsupported", CONFIG_STRINGS, .check = check_gpu_fact,
                        .meaning = "What the GPUs need not support."),
        KEY("gpu.timeout", CONFIG_DURATION, .fallback = "\"2min\"", .min = MS, .max = 60 * MIN_,
                        .meaning = "Limit for all answers of NVML, and for the bandwidth."),
        KEY("rdma", CONFIG_OBJECT,
                        .meaning = "RDMA between nodes. Absent: what the machine's shape says; "
                                   "where that says nothing, the step is skipped."),
        KEY("rdma.ports", CONFIG_INT, .min = 0, .max = 1024,
                        .meaning = "How many active ports there must be; 0: none are looked for. "
                                   "Absent: the number of devices, else the shape's, else one."),
        KEY("rdma.rate_gbps", CONFIG_INT, .min = 1, .max = 100000,
                        .meaning = "10⁹ bits a second that each port must have. Absent: the "
                                   "shape's."),
        KEY("rdma.link_layer", CONFIG_STRING, .choices = "Ethernet|InfiniBand",
                        .meaning = "Absent: the shape's."),
        KEY("rdma.devices", CONFIG_STRINGS, .check = check_word,
                        .meaning = "Which devices, such as \"mlx5_0\". Absent: the shape's, or all "
                                   "that fit."),
        KEY("rdma.firmware", CONFIG_STRING, .check = check_word,
                        .meaning = "Firmware that all devices must have. Absent: the same on all "
                                   "of a kind."),
        KEY("rdma.counter_limits", CONFIG_MAP,
                        .meaning = "Limits of error counters since the driver was loaded, by file "
                                   "name; -1: not looked at. Adds to the defaults in "
                                   "docs/steps.md."),
        KEY("rdma.watch", CONFIG_DURATION, .fallback = "\"1s\"", .max = 10 * MIN_,
                        .meaning = "How long error counters are watched for growth."),
        KEY("rdma.pcie", CONFIG_STRING, .fallback = "\"fail\"", .choices = "fail|warn",
                        .meaning = "What a PCIe link is that is narrower or slower than card and "
                                   "slot allow."),
        KEY("rdma.nccl_conf", CONFIG_BOOL, .fallback = "true",
                        .meaning = "Writes what was found into /etc/nccl.conf."),
        KEY("rdma.qps", CONFIG_INT, .min = 1, .max = 128,
                        .meaning = "NCCL_IB_QPS_PER_CONNECTION. Absent: the shape's."),
        KEY("rdma.socket_interface", CONFIG_STRING, .check = check_word,
                        .meaning = "NCCL_SOCKET_IFNAME. Absent: the interface of the default "
                                   "route."),
        KEY("rdma.give_up", CONFIG_DURATION, .fallback = "\"2min\"", .max = 60 * (int64_t) MIN_,
                        .meaning = "How long links and addresses are waited for."),

        KEY("nccl", CONFIG_OBJECT,
                        .meaning = "NCCL measured over all GPUs of the node. Absent: step "
                                   "skipped."),
        KEY("nccl.min_busbw", CONFIG_INT, .min = 1, .max = 100000,
                        .meaning = "Bus bandwidth of all_reduce that must be reached, 10⁹ bytes a "
                                   "second. Absent: the shape's."),
        KEY("nccl.size", CONFIG_SIZE, .min = 1024, .max = INT64_C(1) << 40,
                        .meaning = "Size that is measured. Absent: that of the shape's number, "
                                   "else 1G. Two buffers of it must fit into each GPU."),
        KEY("nccl.measured_percent", CONFIG_INT, .fallback = "95", .min = 1, .max = 100,
                        .meaning = "Part of a shape's measured (not gated) number that must be "
                                   "reached."),
        KEY("nccl.no_limit", CONFIG_STRING, .fallback = "\"warn\"", .choices = "fail|warn",
                        .meaning = "What it is when the shape has no number to compare with."),
        KEY("nccl.nvls", CONFIG_STRING, .fallback = "\"auto\"", .choices = "auto|on|off",
                        .meaning = "NVLink multicast (NCCL_NVLS_ENABLE) in the measurement; "
                                   "\"auto\" leaves it to NCCL."),
        KEY("nccl.iterations", CONFIG_INT, .fallback = "5", .min = 1, .max = 100000,
                        .meaning = "Timed operations."),
        KEY("nccl.limit", CONFIG_DURATION, .fallback = "\"30s\"", .min = MS,
                        .max = 60 * (int64_t) MIN_,
                        .meaning = "Limit of the measurement; 20 s later it is killed."),
        KEY("nccl.cuda_library", CONFIG_STRING, .check = check_absolute,
                        .meaning = "Instead of libcuda.so.1."),
        KEY("nccl.nccl_library", CONFIG_STRING, .check = check_absolute,
                        .meaning = "Instead of libnccl.so.2."),

        KEY("shape", CONFIG_OBJECT, .fallback = "{}",
                        .meaning = "What kind of machine this is; see docs/shapes.md."),
        KEY("shape.name", CONFIG_STRING, .check = check_word,
                        .meaning = "Its name in the table of shapes. Absent: found by metadata, "
                                   "firmware or GPUs."),
        KEY("shape.unknown", CONFIG_STRING, .fallback = "\"fail\"", .choices = "fail|warn",
                        .meaning = "A machine with GPUs whose shape is not in the table fails, or "
                                   "is degraded."),

        KEY("slurm", CONFIG_OBJECT,
                        .meaning = "Membership in a Slurm cluster. Absent: step skipped."),
        KEY("slurm.controllers", CONFIG_STRINGS, .required = true, .check = check_controller,
                        .meaning = "slurmctld, HOST or HOST:PORT, primary first."),
        KEY("slurm.node_name", CONFIG_STRING, .check = check_hostname,
                        .meaning = "Absent: the short host name."),
        KEY("slurm.cluster_name", CONFIG_STRING, .fallback = "\"cluster\"", .check = check_word,
                        .meaning = "Used by the probe before slurmd has fetched the real "
                                   "configuration."),
        KEY("slurm.dynamic", CONFIG_BOOL, .fallback = "false",
                        .meaning = "Registers as a dynamic node (slurmd -Z)."),
        KEY("slurm.features", CONFIG_STRINGS, .check = check_word,
                        .meaning = "Features of a dynamic node."),
        KEY("slurm.gres", CONFIG_STRING, .fallback = "\"auto\"", .check = check_word,
                        .meaning = "Gres of a dynamic node; \"auto\" counts the GPUs there "
                                   "are, \"none\" gives none."),
        KEY("slurm.options", CONFIG_STRINGS, .check = check_word,
                        .meaning = "Further slurmd options."),
        KEY("slurm.munge_key", CONFIG_STRING, .secret = true, .check = check_word,
                        .meaning = "The munge key, base64; best given as credential "
                                   "firstboot.slurm.munge_key."),
        KEY("slurm.munge_key_file", CONFIG_STRING, .check = check_absolute,
                        .meaning = "A file, on a mount for instance, that holds the munge "
                                   "key. Where it cannot be read, the key of an earlier run "
                                   "serves."),
        KEY("slurm.clock_skew_max", CONFIG_DURATION, .fallback = "\"60s\"", .min = MS,
                        .max = 5 * MIN_,
                        .meaning = "Largest difference from the controller's clock (munge "
                                   "itself gives up at 5 minutes)."),
        KEY("slurm.drain_on_failure", CONFIG_BOOL, .fallback = "false",
                        .meaning = "Where a required step failed, registers as DRAIN with "
                                   "the reason, so that sinfo -R shows it."),
        KEY("slurm.give_up", CONFIG_DURATION, .fallback = "\"5min\"", .min = MS,
                        .max = 24 * 60 * (int64_t) MIN_,
                        .meaning = "How long the controller is waited for."),

        KEY("ready", CONFIG_OBJECT, .fallback = "{}", .meaning = "Who is told, and when."),
        KEY("ready.command", CONFIG_STRINGS, .check = check_line,
                        .meaning = "Program and arguments; the status JSON comes on its "
                                   "standard input."),
        KEY("ready.url", CONFIG_STRING, .check = check_url,
                        .meaning = "Receives the status JSON as an HTTP POST."),
        KEY("ready.token", CONFIG_STRING, .secret = true, .check = check_word,
                        .meaning = "Sent as bearer token with the POST."),
        KEY("ready.on", CONFIG_STRING, .fallback = "\"ready\"", .choices = "ready|always",
                        .meaning = "\"always\" tells of failure too."),
        KEY("ready.timeout", CONFIG_DURATION, .fallback = "\"30s\"", .min = MS, .max = 60 * MIN_,
                        .meaning = "Limit of command and POST each."),

        KEY("metrics", CONFIG_OBJECT, .fallback = "{}",
                        .meaning = "For Prometheus' node_exporter."),
        KEY("metrics.directory", CONFIG_STRING, .fallback = "\"/var/lib/prometheus/node-exporter\"",
                        .check = check_absolute,
                        .meaning = "Where firstboot.prom is written, if the folder is "
                                   "there."),

        KEY("metadata", CONFIG_OBJECT, .fallback = "{}",
                        .meaning = "The cloud's instance metadata service."),
        KEY("metadata.provider", CONFIG_STRING, .fallback = "\"auto\"",
                        .choices = "auto|none|oci|aws|gcp",
                        .meaning = "\"auto\" decides by the firmware's (DMI) names."),
        KEY("metadata.timeout", CONFIG_DURATION, .fallback = "\"20s\"", .min = MS, .max = 10 * MIN_,
                        .meaning = "Limit for all requests of one try together."),
        KEY("metadata.required", CONFIG_BOOL, .fallback = "true",
                        .meaning = "Where false, a service that does not answer is passed "
                                   "over with a warning."),

        KEY("steps", CONFIG_OBJECT, .meaning = "Per step, by name."),
        KEY("steps.*", CONFIG_OBJECT, .meaning = "One step."),
        KEY("steps.*.enabled", CONFIG_BOOL, .meaning = "Where false, the step is left out."),
        KEY("steps.*.required", CONFIG_BOOL,
                        .meaning = "Where false, its failure makes the node degraded, not "
                                   "failed."),
        KEY("steps.*.timeout", CONFIG_DURATION, .min = MS, .max = 24 * 60 * (int64_t) MIN_,
                        .meaning = "Limit of one attempt."),
        KEY("steps.*.retries", CONFIG_INT, .min = 0, .max = 1000,
                        .meaning = "Further attempts after a transient failure."),
};
const size_t config_keys_count = ELEMENTSOF(config_keys);

const ConfigKey *config_key_find(const char *path) {
        for (size_t i = 0; i < config_keys_count; i++)
                if (streq(config_keys[i].path, path))
                        return &config_keys[i];
        return NULL;
}

typedef struct Suffix {
        const char *name;
        uint64_t factor;
} Suffix;

static int parse_suffixed(json_object *value, const Suffix *suffixes, size_t n, uint64_t plain,
                uint64_t *ret) {
        uint64_t number, factor = plain;

        if (json_object_is_type(value, json_type_int)) {
                int64_t i = json_object_get_int64(value);
                if (i < 0)
                        return -ERANGE;
                number = (uint64_t) i;
        } else if (json_object_is_type(value, json_type_string)) {
                const char *s = json_object_get_string(value);
                char *end;

                if (!isdigit((unsigned char) s[0]))
                        return -EINVAL;
                errno = 0;
                number = strtoull(s, &end, 10);
                if (errno)
                        return -ERANGE;
                if (*end) {
                        factor = 0;
                        for (size_t i = 0; i < n; i++)
                                if (streq(end, suffixes[i].name))
                                        factor = suffixes[i].factor;
                        if (factor == 0)
                                return -EINVAL;
                }
        } else
                return -EINVAL;

        return __builtin_mul_overflow(number, factor, ret) || *ret > INT64_MAX ? -ERANGE : 0;
}

int parse_size(json_object *value, uint64_t *ret_bytes) {
        static const Suffix suffixes[] = {
                { "K", 1u << 10 },
                { "M", 1u << 20 },
                { "G", 1u << 30 },
                { "T", UINT64_C(1) << 40 },
        };
        uint64_t bytes;
        int r = parse_suffixed(value, suffixes, ELEMENTSOF(suffixes), 1, &bytes);

        if (r >= 0)
                *ret_bytes = bytes;
        return r;
}

int parse_duration(json_object *value, uint64_t *ret_usec) {
        static const Suffix suffixes[] = {
                { "ms", USEC_PER_MSEC },
                { "s", USEC_PER_SEC },
                { "min", 60 * USEC_PER_SEC },
                { "h", 3600 * USEC_PER_SEC },
        };
        uint64_t usec;
        int r = parse_suffixed(value, suffixes, ELEMENTSOF(suffixes), USEC_PER_SEC, &usec);

        if (r >= 0)
                *ret_usec = usec;
        return r;
}

uint64_t config_size(json_object *section, const char *key, uint64_t fallback) {
        json_object *value = json_get(section, key);
        uint64_t bytes;

        return value && parse_size(value, &bytes) >= 0 ? bytes : fallback;
}

uint64_t config_duration(json_object *section, const char *key, uint64_t fallback_usec) {
        json_object *value = json_get(section, key);
        uint64_t usec;

        return value && parse_duration(value, &usec) >= 0 ? usec : fallback_usec;
}
