/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "codes.h"

const Code codes[] = {
        { "event.started", "60b6f34ff85d42d2af6382c29cc3d1ea", "The agent has begun",
                        "firstbootd has read its configuration and starts the steps of "
                        "this boot.",
                        "Nothing to do. firstbootctl status --wait follows it." },
        { "event.step-started", "65bb70cbc6c24868a284fef6b47731b9", "A step has begun",
                        "systemd was asked to start the step's unit.", "Nothing to do." },
        { "event.step-done", "77aa0f22d84942d386d354cf67506119", "A step is done",
                        "The step found its part of the node as configured, or made it so.",
                        "Nothing to do." },
        { "event.step-skipped", "faba5e46d0344c4cb554169001cdde12", "A step had nothing to do",
                        "The configuration has nothing for this step, or it belongs to the "
                        "first boot "
                        "only.",
                        "Nothing to do." },
        { "event.step-retry", "e3b6056871ee47d3bdc93787df265c20", "A step is tried again",
                        "The attempt failed in a way that may pass; it is repeated after a "
                        "pause that "
                        "grows from try to try.",
                        "Wait; or see the reason with firstbootctl explain, remove it, and "
                        "firstbootctl rerun STEP." },
        { "event.step-degraded", "c007e9f0a2864b6fa035bbe1941f65e2", "A step is done with a defect",
                        "The step did its work but for a part that the configuration "
                        "allows to be "
                        "missing.",
                        "See the reason code and its figures with firstbootctl explain." },
        { "event.ready", "63ed8fdb3d164dc49049451a2c0ece83", "The node is ready",
                        "Every required step is done. node-ready.target is reached and "
                        "/run/firstboot/ready is there.",
                        "Nothing to do." },
        { "event.degraded", "8ee6ef3f99224dd59811f3689a4f72ee", "The node is ready, with defects",
                        "Every required step is done, but something optional failed.",
                        "firstbootctl status names the steps; firstbootctl explain says "
                        "what to do." },
        { "event.failed", "024713687dc641a4896ea7c35e688394", "The node is not ready",
                        "A required step failed. node-ready.target is not reached.",
                        "firstbootctl explain says what failed and what to do; then "
                        "firstbootctl "
                        "rerun STEP, or reboot." },
        { "event.fresh-start", "957db5252c094064b1613b67851a411d",
                        "A new instance: former results are dropped",
                        "The instance id differs from the one in "
                        "/var/lib/firstboot/state.json, as it "
                        "does after an image was captured from a running node.",
                        "Nothing to do." },
        { "config.invalid", "152a9c9f2b924391840a7057e22d19d3", "The node configuration has errors",
                        "No step runs on a configuration that is not understood in full: "
                        "half of it "
                        "might join a cluster that the other half was to keep it from. All "
                        "faults are "
                        "listed, each with the file and the key.",
                        "firstbootctl config shows the values and where each comes from. "
                        "Correct the "
                        "file named, then firstbootctl rerun config." },
        { "config.metadata", "031488036b974616a5b45833297733b4",
                        "The cloud's metadata service does not answer",
                        "The firmware names a cloud (or metadata.provider does), but its "
                        "metadata "
                        "service gave no answer within metadata.timeout, so parts of the "
                        "configuration may be missing.",
                        "Check the route to 169.254.169.254 and the instance's metadata "
                        "options. "
                        "Where this cloud's metadata is not needed, set metadata.provider "
                        "to none or "
                        "metadata.required to false." },
        { "config.helper", "999fb221ebb44205b02573b4988354bb",
                        "The configuration could not be gathered",
                        "firstboot-helper did not run to its end.",
                        "See journalctl -u firstbootd. Reinstall the firstboot programs if "
                        "one is "
                        "missing." },
        { "graph.invalid", "87096b26557b4c07941c113bff21fb15", "The step files have errors",
                        "A step file is faulty, requires a step that is not installed, or "
                        "steps wait "
                        "for each other in a cycle.",
                        "Correct the file named in /etc/firstboot/steps.d, then "
                        "firstbootctl rerun "
                        "config." },
        { "step.failed", "0cb40e9180904ff08892775e011b5a44",
                        "A step failed without a reason of its own",
                        "The step's program reported failure but gave no reason code.",
                        "firstbootctl log STEP shows what it said." },
        { "step.exit-code", "aa401e385a944bcd83d4b4cc8da96de7",
                        "A step's program ended with an error",
                        "The program left no result file and its exit code was not 0.",
                        "firstbootctl log STEP shows what it said." },
        { "step.signal", "88fca7ab6e194186a69fed955ce03704", "A step's program was killed",
                        "It was ended by a signal, or dumped core.",
                        "firstbootctl log STEP and coredumpctl show more." },
        { "step.oom-kill", "d1c7bce128774b0e8c65275b79eb68d7", "A step's program ran out of memory",
                        "The kernel or systemd-oomd killed it.",
                        "Look for what uses the memory, or raise MemoryMax= of "
                        "firstboot@STEP.service." },
        { "step.timeout", "936c54b01c8b44a9b1b3f3e6abc2b71f", "A step did not end in time",
                        "The step's time limit passed and it was stopped.",
                        "firstbootctl log STEP shows how far it came. steps.STEP.timeout "
                        "sets the "
                        "limit." },
        { "step.no-unit", "e271c31308464847854f0eabc58188ef", "systemd did not start a step",
                        "systemd refused the start job of the step's unit, or dropped it.",
                        "systemctl status firstboot@STEP.service and systemd-analyze "
                        "verify show why." },
        { "step.requirement", "d4ccdad577ef4af387862d945bb2d7b1", "A step was held back",
                        "A step that it requires failed, so it was not run.",
                        "Repair the step that failed first; firstbootctl explain names "
                        "it." },
        { "host.hostname", "9a519117b6554f878bdf25e1a46383fc", "The host name could not be set",
                        "systemd-hostnamed refused the name or did not answer.",
                        "Check host.hostname and systemctl status systemd-hostnamed." },
        { "host.timezone", "053b0b215022422ca6109c5a293fe323", "The time zone could not be set",
                        "systemd-timedated refused the zone or did not answer.",
                        "Check host.timezone against timedatectl list-timezones (package "
                        "tzdata)." },
        { "host.firewall", "3dbb6d8f025443e3afb7d690350c3cc9", "The firewall is not as configured",
                        "The firewall service could not be switched, or host.firewall is "
                        "on and no "
                        "firewall is installed.",
                        "Install firewalld, ufw or nftables, or set host.firewall to "
                        "keep." },
        { "host.grow", "f9fa42d493ba4d61b49445446083b321",
                        "The root file system could not be grown",
                        "growpart, LVM or the file system's tool failed; the root file "
                        "system has its "
                        "former size.",
                        "firstbootctl log host shows the tool's words. The tools are "
                        "cloud-guest-utils (growpart), lvm2, e2fsprogs, xfsprogs." },
        { "host.sysctl", "17cda5a3a8634cee81b67fac04858068", "Kernel settings could not be applied",
                        "A key of host.sysctl is unknown to this kernel or its value was "
                        "refused.",
                        "Check the key and value; a key of a module is there only once the "
                        "module is "
                        "loaded." },
        { "host.limits", "be13467e2df94cd7912d1fa1480f6648", "Resource limits could not be written",
                        "/etc/security/limits.d could not be written.",
                        "Check that the root file system is writable and has space." },
        { "scratch.no-disks", "c603435bebed447ca96dc246078b47b7", "No local disks were found",
                        "The configuration requires local NVMe disks and sysfs shows none "
                        "that is "
                        "local, unused and of a model allowed.",
                        "Choose a shape with local disks, check scratch.models, or set "
                        "scratch.required to false." },
        { "scratch.foreign-signature", "9eb93346da8a42d79d72a7c86ab03f14",
                        "A local disk holds something that is not ours",
                        "libblkid finds a signature on the disk. It was left exactly as it "
                        "is.",
                        "Save what is needed; then clear the disk by hand with wipefs -a "
                        "DEVICE and "
                        "run firstbootctl rerun scratch. To go on without the disk set "
                        "scratch.allow_fewer." },
        { "scratch.disk-missing", "098e42fc2ccc4f93b49d3da962c53ba7", "A local disk is missing",
                        "There are fewer disks than configured, than the volume group is "
                        "made of, or "
                        "than this instance had last time.",
                        "Check the serials named against the provider's console; stop and "
                        "start moves "
                        "the instance to other hardware. To go on with the rest set "
                        "scratch.allow_fewer." },
        { "scratch.in-use", "bfd845fcf302426ebce42dc8a0f6aea7", "A local disk is in use",
                        "The disk is mounted, or another device is built on it, and it is "
                        "not the "
                        "scratch volume.",
                        "lsblk shows by whom. Release it, or leave it out through "
                        "scratch.models." },
        { "scratch.probe-failed", "8815022889d640138efe9dcfad973ca8",
                        "A local disk could not be read",
                        "Reading it for signatures failed, so nothing is known about what "
                        "is on it "
                        "and nothing was done.",
                        "See the kernel log; a disk that fails reads needs to be replaced: "
                        "stop and "
                        "start the instance." },
        { "scratch.lvm", "e2a50b03fddf4297b3de4cd1095599ab", "LVM failed",
                        "A step of making or activating the volume group did not succeed.",
                        "firstbootctl log scratch shows LVM's words." },
        { "scratch.mkfs", "cdb8e48a6a2c41ee8cb3eb9dcc6ab129", "The file system could not be made",
                        "mkfs failed or is not installed.",
                        "firstbootctl log scratch shows its words. The package is xfsprogs "
                        "or "
                        "e2fsprogs." },
        { "scratch.mount", "1bd03b358d744ac9bcc6c3f06e2b6d32",
                        "The scratch volume could not be mounted",
                        "The mount unit failed, or something else is mounted there.",
                        "systemctl status of the mount unit shows why." },
        { "scratch.not-writable", "7055f8bcc3e640da8f7b880bd1d608df",
                        "The scratch volume cannot be written",
                        "It is mounted, but a test file could not be written, read back "
                        "and removed.",
                        "See the kernel log for errors of the disks; dmesg names the one." },
        { "scratch.fewer", "aeb814d343f840938219155af49f8a63",
                        "The scratch volume has fewer disks than expected",
                        "scratch.allow_fewer let the step go on without a disk that is "
                        "missing or "
                        "foreign.",
                        "The figures name the disks. Space and bandwidth are smaller by as "
                        "much." },
        { "mounts.unreachable", "5c5ffed07b2a4b27bc542f34c63b0269",
                        "A file server cannot be reached",
                        "The server's port did not accept a connection until the limit.",
                        "Check address, route and firewall to the server; the mount is "
                        "repeated until "
                        "mounts[].give_up." },
        { "mounts.timeout", "0e630a13cb6944488e7d31e96d6463b4",
                        "A mount did not come about in time",
                        "The server accepts connections but the mount did not finish.",
                        "Check the server's state and the export; the network may drop "
                        "large packets "
                        "(MTU)." },
        { "mounts.refused", "f87f021f165d41378198dd19adacd78e", "A mount was refused",
                        "The mount program ended with an error: no such export, no "
                        "permission, a "
                        "wrong option or file system type.",
                        "journalctl -u of the mount unit has its words. Check the export "
                        "list and "
                        "this node's address in it." },
        { "mounts.not-readable", "6847ee576b1b43ba87b38b5822885818",
                        "A mounted file system cannot be read",
                        "It is mounted, but listing it failed or did not end in time.",
                        "Check permissions for root (root_squash) and the server's state." },
        { "mounts.not-writable", "48c4d041a7af4018a3dc60b8bfe4ee82",
                        "A mounted file system cannot be written",
                        "It is mounted and readable, but a test file could not be written, "
                        "read back "
                        "and removed.",
                        "Check whether it is exported read-only or with root_squash; "
                        "verify: read "
                        "asks for less." },
        { "mounts.blocked", "6f94b12b70c14b2eb9bdbae891477675", "A mount point is taken",
                        "Something else is mounted at the mount point, or it cannot be "
                        "made.",
                        "findmnt shows by whom. Choose another mount point or remove the "
                        "other mount." },
        { "identity.not-installed", "1dd31854d59641a49bf84a3124528d7b", "sssd is not installed",
                        "The configuration has an identity section, but the image has no "
                        "sssd.",
                        "Add the package sssd-ldap (Debian) or sssd-ldap and authselect "
                        "(EL) to the "
                        "image." },
        { "identity.config", "8cc13f9f3c924e83868c5372d35e68ec",
                        "Identity configuration could not be written",
                        "sssd.conf, nsswitch.conf, the PAM or the sshd configuration could "
                        "not be "
                        "written.",
                        "firstbootctl log identity shows which file and why." },
        { "identity.ca-file", "f7877d9120fe45f3936cc1e67fd560ea",
                        "The CA file is missing or faulty",
                        "identity.ca_file cannot be read as a list of certificates.",
                        "Put the CA certificate there in PEM form, through the image or "
                        "cloud-init's "
                        "write_files." },
        { "identity.unreachable", "cc48fce0f306482087b33f864a43388d",
                        "No LDAP server can be reached",
                        "No server of identity.uri accepted a connection until "
                        "identity.give_up.",
                        "Check name resolution, route and firewall to the LDAP servers." },
        { "identity.certificate", "68b1f66feecf453b991942a67d25d8d7",
                        "The LDAP server's certificate is not trusted",
                        "TLS works but the certificate is not signed by the CA configured, "
                        "is out of "
                        "date, or names another host.",
                        "Compare identity.ca_file with the server's chain, its names with "
                        "identity.uri, and the clock." },
        { "identity.protocol", "0f4c36054d894cb7bf23cd1be13627ae",
                        "The LDAP server does not speak TLS as configured",
                        "The connection was made, but StartTLS was refused or the TLS "
                        "handshake "
                        "failed.",
                        "Check identity.starttls and whether ldaps:// or ldap:// is right "
                        "for the "
                        "port." },
        { "identity.sssd", "2a6bea0134de4c7f8adfc5e38e348d52", "sssd does not run",
                        "systemd could not start sssd.",
                        "systemctl status sssd and /var/log/sssd show why." },
        { "identity.no-user", "ff22681654714b1590d99a5c6d75268b", "The probe user is not found",
                        "The LDAP server is reachable, but a lookup of identity.probe_user "
                        "through "
                        "sssd did not find it.",
                        "Check identity.base, user_base, schema and the bind account; "
                        "sssctl "
                        "user-checks USER shows more." },
        { "identity.no-group", "539d764de705474084e783d4276f278d", "The probe group is not found",
                        "Users are found, but not identity.probe_group.",
                        "Check identity.base, group_base and schema." },
        { "slurm.not-installed", "62a05068d4b344ac9276d079b3c5760c",
                        "Slurm or munge is not installed",
                        "The configuration has a slurm section, but a program of it is not "
                        "in the "
                        "image.",
                        "Add slurmd, slurm-client and munge to the image." },
        { "slurm.munge-key", "78ca73a3435f44b9885e16f898cb1bf3", "There is no munge key",
                        "No credential firstboot.slurm.munge_key, no slurm.munge_key from "
                        "metadata, "
                        "no readable slurm.munge_key_file, or what is there is no key of "
                        "32 to 1024 "
                        "bytes.",
                        "Hand the key to the node, never in the image: as systemd "
                        "credential, file on "
                        "a mount, or metadata." },
        { "slurm.munge", "b064db7ec53a46209471164c42351102", "munged does not run",
                        "systemd could not start munge, or it does not answer.",
                        "systemctl status munge shows why; /etc/munge must belong to "
                        "munge." },
        { "slurm.munge-mismatch", "7f50742dd4b942edbf6f45c9a4e3da8c",
                        "The munge key differs from the controller's",
                        "The controller answers, but refuses the node's credential. It does so "
                        "where the keys differ, or the clocks by more than five minutes; the "
                        "figures tell where the controller's clock could be asked (NTP).",
                        "Compare the sums of munge.key on both, and the clocks; then firstbootctl "
                        "rerun slurm." },
        { "slurm.clock-skew", "2911bb8d86934449aa4e9ea39a0e7bb6",
                        "The clock differs from the controller's",
                        "munge refuses credentials older than five minutes, and job times "
                        "would be "
                        "wrong.",
                        "Set up time synchronisation (chrony, systemd-timesyncd) on both "
                        "machines; "
                        "chronyc tracking shows the offset." },
        { "slurm.controller-unreachable", "734988be0ea3455187a7a09737a37bc1",
                        "The Slurm controller does not answer",
                        "No controller of slurm.controllers answered until slurm.give_up.",
                        "Check that slurmctld runs, and the way to its port (6817 unless "
                        "configured)." },
        { "slurm.slurmd", "972aa45445b043c58cce274e3eb4ebbb", "slurmd does not run",
                        "systemd could not start slurmd, or it ended again.",
                        "systemctl status slurmd and journalctl -u slurmd show why; the "
                        "controller "
                        "must have SlurmctldParameters=enable_configless." },
        { "slurm.not-registered", "1f26d3e5afab4b1896eabb1ab01fb6e3", "The node did not register",
                        "slurmd runs, but the controller does not show the node as "
                        "registered.",
                        "Check that the controller knows the node's name, or set "
                        "slurm.dynamic and "
                        "MaxNodeCount at the controller." },
        { "slurm.drained", "70d9765d28a24b1dbbc8c212e227cd68",
                        "The node is drained by someone else",
                        "Slurm shows the node as drained with a reason that is not "
                        "firstboot's; it "
                        "was left so.",
                        "scontrol show node has the reason; scontrol update nodename=NODE "
                        "state=resume puts it back." },
        { "slurm.drained-by-firstboot", "84ed289771c14ba0b2b88855eac6e548",
                        "The node is registered as DRAIN",
                        "A required step failed, and slurm.drain_on_failure lets slurmd "
                        "register, "
                        "drained, so that sinfo -R shows the reason.",
                        "Repair the step that failed; firstbootctl rerun STEP resumes the "
                        "node." },
        { "slurm.drain-failed", "6ca3ee38ef91428aac387fa62ef4840c", "The node could not be drained",
                        "A required step failed and the controller did not accept the "
                        "drain, so "
                        "slurmd was stopped again: an undrained node would get jobs.",
                        "Check scontrol's words in firstbootctl log slurm." },
};
const size_t codes_count = ELEMENTSOF(codes);

const Code *code_find(const char *code) {
        for (size_t i = 0; code && i < codes_count; i++)
                if (streq(codes[i].code, code))
                        return &codes[i];
        return NULL;
}

bool code_is_reason(const Code *c) {
        return !startswith(c->code, "event.");
}
