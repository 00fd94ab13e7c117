/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "contract/codes.h"

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
        { "gpu.no-driver", "b6410f9209c549268f47c8123fe74b9e", "The NVIDIA driver is not loaded",
                        "PCI shows NVIDIA GPUs, but the kernel module nvidia is not loaded or"
                        " does not answer.",
                        "Use an image with the driver for its kernel (overlays nvidia-driver "
                        "or nvidia-driver-open); modprobe nvidia and dmesg say why one that "
                        "is there does not load. On a node that is not to use its GPUs, leave"
                        " the step out: steps.gpu.enabled = false." },
        { "gpu.none", "1d906c9e98284985acbeabe44e5f429e", "There is no GPU",
                        "The configuration is that of a GPU node, and PCI shows no NVIDIA "
                        "GPU.",
                        "Choose a shape with GPUs, have the hardware looked at, or set "
                        "gpu.required to false." },
        { "gpu.library", "b918d0ec4e2a415d876013d73cb55045", "The NVML library cannot be loaded",
                        "libnvidia-ml.so.1 is not there or cannot be opened, so nothing is "
                        "known of the GPUs.",
                        "Install the library of the driver's version (libnvidia-ml1)." },
        { "gpu.symbol", "0057b9a459cf4954b010002a4972fd60", "A library lacks a function",
                        "libnvidia-ml.so.1 or libcuda.so.1 is too old for a question that has"
                        " to be asked.",
                        "Install the driver's libraries in the version of the kernel module; "
                        "the oldest driver that answers everything is 535." },
        { "gpu.timeout", "a9b2454ce2b04890acb55c450a085b44", "A GPU does not answer in time",
                        "A call of NVML or CUDA, named with its GPU, did not return within "
                        "gpu.timeout; the process that waited was killed.",
                        "Reboot the node. If it comes again, the GPU named or the fabric it "
                        "hangs on is faulty: dmesg shows Xids." },
        { "gpu.crashed", "9d2d6e67ed1c4b58b29e9f554b3d9fcd", "Asking a GPU ended in a crash",
                        "The process that asked NVML or CUDA was killed by a signal in the "
                        "call named.",
                        "Check that libraries and kernel module are of one version; "
                        "coredumpctl shows where it crashed." },
        { "gpu.version", "66a29880ea7e41f3a9c254ee15e70ed7", "Driver and library differ in version",
                        "Kernel module, driver and NVML library must be of the same version, "
                        "and they are not.",
                        "Reboot after an update of the driver, so that the module of the new "
                        "version is loaded; an image that has both in different versions has "
                        "to be built anew." },
        { "gpu.nvml", "8ea98304517040ceb7db5a9d454b15e6", "NVML reports an error",
                        "A call of NVML, named with its GPU, failed in a way that is no \"not"
                        " supported\".",
                        "nvidia-smi -q and dmesg show more; reset the GPU or reboot the node." },
        { "gpu.lost", "7b0fcd4fa2a4448eb46d0dd7acce278a", "A GPU is lost",
                        "The GPU has fallen off the bus or needs a reset before it can be "
                        "used again.",
                        "Reboot the node; if it comes again, have the GPU replaced." },
        { "gpu.unbound", "5fe925c5b05f48dfabcdf069eb47f846", "A GPU does not have the driver",
                        "PCI shows the GPU, but the driver nvidia is not bound to it.",
                        "dmesg shows why the driver refused it (\"RmInitAdapter failed\" "
                        "means hardware). A GPU that vfio-pci or nouveau has is not for this "
                        "node." },
        { "gpu.count", "e83f03e8e76a418fafe6bf8a5d787941", "A GPU is missing",
                        "PCI, NVML and the shape (or gpu.count) do not agree on the number of"
                        " GPUs.",
                        "The figures name the PCI address that NVML does not show. One that "
                        "PCI does not show either is dead or not seated: reboot, then have it"
                        " replaced; stop and start moves an instance to other hardware." },
        { "gpu.xid", "45692f3d76604e30961514f94d4aa052", "The driver has reported a GPU error",
                        "The kernel log has an Xid (or a fatal SXid of an NVSwitch) since the"
                        " boot that is not one of an application's errors (gpu.xid_ignore).",
                        "Look the number up in NVIDIA's Xid catalog; the figures name what to"
                        " do first." },
        { "gpu.remap-failed", "753911727403443ea57773148e608e18",
                        "A memory row could not be remapped",
                        "The GPU has run out of spare rows for its memory.",
                        "Have the GPU replaced: NVIDIA takes this as ground for an RMA." },
        { "gpu.sram", "ab8805ba89f4448e9d79ea2573946eee", "The GPU's SRAM has too many errors",
                        "Uncorrectable errors of the SRAM are beyond the threshold of "
                        "NVIDIA's field diagnostics.",
                        "Have the GPU replaced." },
        { "gpu.ecc-errors", "664a6483a80245ffbd69961b9c2dada0", "Uncorrectable ECC errors",
                        "The GPU counts uncorrectable memory errors beyond "
                        "gpu.ecc_volatile_max since the driver was loaded, or "
                        "gpu.ecc_aggregate_max in its life.",
                        "Reset the GPU; if they come again, have it replaced." },
        { "gpu.ecc-off", "6bc5011ab0d740d191a4874c443e8f10", "ECC is off",
                        "The GPU's memory is not protected: errors would go unseen.",
                        "nvidia-smi -e 1 and reboot. For GPUs without ECC set gpu.ecc to "
                        "on-if-supported." },
        { "gpu.remap-pending", "ea64c744dbe1408fbe045bd361c60ee0",
                        "A memory row waits to be remapped",
                        "An error was found and its row is remapped at the next reset.",
                        "Reset the GPU or reboot the node." },
        { "gpu.pages-retired", "0583a2e851894c059d766f7fbaac9acd",
                        "Too many memory pages are retired",
                        "More pages are retired than gpu.retired_pages_max.",
                        "Have the GPU replaced." },
        { "gpu.pages-pending", "2b47f343fa934d7faad4eaab1e3c1601",
                        "A memory page waits to be retired",
                        "An error was found and its page is retired when the driver is loaded"
                        " next.",
                        "Reset the GPU or reboot the node." },
        { "gpu.recovery", "538022b522dd4e11aa16bfec32e11b3e", "The driver asks for a recovery",
                        "NVML's recovery action is not \"none\": the GPU needs a reset or the"
                        " node a reboot.",
                        "Do what the message says." },
        { "gpu.pcie-width", "317b1d95ca56417cb0b556f2b6ae7a0d", "PCIe has too few lanes",
                        "The GPU's link was trained with fewer lanes than the GPU and the "
                        "slot have, or than gpu.pcie_width.",
                        "Reboot the node; if it comes again, have the GPU reseated or "
                        "replaced." },
        { "gpu.pcie-generation", "000afbe5262d4937a9bf37cc261e1b43", "PCIe is too slow",
                        "Under load the GPU's link runs at a lower generation than GPU and "
                        "system can, or than gpu.pcie_generation.",
                        "Reboot the node; if it comes again, have the GPU reseated or "
                        "replaced. A limit may be set in the firmware." },
        { "gpu.fabric-version", "56319978f04d47118d5aa4a931954b20",
                        "Fabric manager and driver differ in version",
                        "nvidia-fabricmanager works with the driver of its own version only.",
                        "Install nvidia-fabricmanager in the driver's version." },
        { "gpu.fabric-manager", "74e7a88cb74541dda70edd4f8d3a3bdc",
                        "The fabric manager does not run",
                        "The machine has NVSwitches, and nvidia-fabricmanager is not "
                        "installed or does not run.",
                        "Add the fabric manager to the image; systemctl status "
                        "nvidia-fabricmanager and /var/log/fabricmanager.log show why it does"
                        " not start." },
        { "gpu.nvlink-down", "8ea8ce2ca73f4e6c887468574068fff9", "An NVLink is down",
                        "A GPU has fewer active NVLinks than its shape, gpu.nvlinks, or the "
                        "other GPUs.",
                        "Reset all GPUs of the node or reboot; if it comes again, have the "
                        "GPU or its baseboard replaced." },
        { "gpu.nvlink-errors", "a8c227cb4f6a457b844877f60fd66537", "An NVLink counts errors",
                        "A link's replays or recoveries are beyond gpu.nvlink_errors_max, or "
                        "its CRC errors beyond gpu.nvlink_crc_max, since the driver was "
                        "loaded.",
                        "Reset all GPUs of the node or reboot; if it comes again, have the "
                        "GPU or its baseboard replaced." },
        { "gpu.fabric", "d6687bf522234e6385873ac08afb67a4", "A GPU is not in the NVLink fabric",
                        "On an NVSwitch machine each GPU registers with the fabric; this one "
                        "has not, or with an error.",
                        "systemctl status nvidia-fabricmanager and its log; reboot the node "
                        "if it does not come about." },
        { "gpu.clocks", "1d87c3ccacba4488a16f8f2f2376727f", "A GPU's clocks are held down",
                        "Heat, the power brake or a hardware slowdown keeps the clocks below "
                        "what they should be.",
                        "Look at cooling and power supplies; nvidia-smi -q -d PERFORMANCE "
                        "names the reason." },
        { "gpu.temperature", "878fb532102744ff8f60ad80f4239697", "A GPU is too hot",
                        "Its temperature has reached gpu.temperature_max, or the threshold "
                        "where it slows itself down.",
                        "Look at the cooling." },
        { "gpu.persistence", "4647a56d172640769381214cf4b45aa3", "Persistence mode is off",
                        "Without it the driver lets a GPU go between jobs, which costs "
                        "seconds at each start and loses its counters.",
                        "systemctl status nvidia-persistenced shows why it does not run; or "
                        "set gpu.persistence to false." },
        { "gpu.cuda", "962cd3e8b72446a5a7d72edeee2eb061", "CUDA cannot use a GPU",
                        "libcuda.so.1 cannot be loaded, its initialisation fails, or it "
                        "cannot use a GPU that NVML shows, so its bandwidth was not measured.",
                        "Error 802 means that the fabric manager is not ready; 803 and 804 "
                        "that libraries and driver differ. lsmod must show nvidia_uvm." },
        { "gpu.bandwidth", "300287b1254b4061aad7061b55bee505", "A GPU's PCIe bandwidth is too low",
                        "Copies between host and GPU are slower than gpu.h2d_min, "
                        "gpu.d2h_min, or gpu.bandwidth_percent of what the link carries.",
                        "Look at the PCIe link's width and generation, at replays (figures), "
                        "and at the host's memory; reboot, then have the GPU reseated." },
        { "gpu.not-supported", "5726370c413c4c54977165c7e666f516",
                        "A GPU does not answer a question",
                        "NVML answers \"not supported\" to a question that a healthy GPU of "
                        "its kind answers.",
                        "Where the GPU truly lacks the feature, name it in "
                        "gpu.allow_unsupported (for ECC: gpu.ecc); else reset the GPU." },
        { "gpu.kernel-log", "19d9ca9be9334c19bcffc2e6b176edb9", "The kernel log could not be read",
                        "Neither the ring buffer nor the journal shows the kernel's messages "
                        "since the boot, so an Xid may have been missed.",
                        "Give the journal room (SystemMaxUse= in journald.conf) or reboot; "
                        "/dev/kmsg must be readable." },
        { "rdma.no-device", "522bd512078b4ab1877a330b9b31917c", "No RDMA device",
                        "The configuration or the machine's shape asks for RDMA ports, and "
                        "/sys/class/infiniband is empty.",
                        "See lspci -d 15b3: and lsmod; load the driver (mlx5_ib, efa). Where the "
                        "node is on no fabric, set rdma.ports to 0." },
        { "rdma.device-missing", "27124f62b9e94eddaa83dc4795cadc73", "An RDMA device is missing",
                        "A device that must be there is not, or went away while it was looked at.",
                        "Compare rdma link with the names in rdma.devices or the shape; see dmesg "
                        "-t for the card and lspci. A card that PCI does not show needs a repair: "
                        "stop and start the instance." },
        { "rdma.port-down", "cb369377f2b643ef8ab42ac6d6bc8d96", "An RDMA port is not active",
                        "The link is down or still training, or the subnet manager has not set the "
                        "port up.",
                        "See rdma link and mlxlink -d DEVICE; check cable, switch port and, on "
                        "InfiniBand, the subnet manager." },
        { "rdma.too-few-ports", "ef6a7a3c65394996a6dca5c654749eaf",
                        "There are too few usable RDMA ports",
                        "Fewer ports are active, of the right link layer and fast enough than "
                        "there must be.",
                        "See rdma link for what the other ports are, and the findings in "
                        "firstbootctl explain." },
        { "rdma.rate", "ebd57d9fc4a7424b8bf7b465e0759698", "An RDMA port is too slow",
                        "The link came up at a lower rate than it must have.",
                        "See mlxlink -d DEVICE; reseat or replace the cable, check the switch "
                        "port's speed." },
        { "rdma.link-layer", "9f0a086bba8b4145802379b862b262dc",
                        "An RDMA port has the wrong link layer",
                        "It is Ethernet and should be InfiniBand, or the other way round.",
                        "Set the card with mlxconfig -d PCI set LINK_TYPE_P1=1 (InfiniBand) or 2 "
                        "(Ethernet), and reboot." },
        { "rdma.firmware", "b68fead035b542e7a23c494594c9fa6a", "Firmware differs",
                        "A card has other firmware than the others of its kind, or than "
                        "rdma.firmware.",
                        "Update it with mlxfwmanager or flint, and reboot." },
        { "rdma.pcie", "fe0b3b95816041bf8f8900c275a0d54c", "A PCIe link is narrow or slow",
                        "The card has fewer lanes, or slower ones, than card and slot both can.",
                        "See lspci -vv -s PCI, LnkSta; reseat the card, or stop and start the "
                        "instance. rdma.pcie: warn lets it pass." },
        { "rdma.errors", "9f2c016cc812487998a7050cd88e7d31", "An RDMA port has too many errors",
                        "An error counter of the port is above its limit.",
                        "See mlxlink -d DEVICE -c; clean or replace cable or module. "
                        "rdma.counter_limits sets the limits." },
        { "rdma.errors-grow", "c75734cc69a0441bb8a55514dbc7c0b0", "An RDMA port makes errors",
                        "An error counter grew while it was watched, on an idle node.",
                        "See mlxlink -d DEVICE -c; clean or replace cable or module." },
        { "rdma.no-gid", "7d2afc5c70394fbeb41c66f82c7f530b", "A RoCE port has no GID for RoCE v2",
                        "The port's network interface has no address, or the driver offers RoCE v1 "
                        "alone.",
                        "Check that the interface named by rdma link is up and has an address." },
        { "rdma.gid-differs", "f1144b550c3142138f258f96e666ad70",
                        "No GID index fits all RoCE ports",
                        "NCCL_IB_GID_INDEX is one number for all ports, and none is a RoCE v2 GID "
                        "on each of them.",
                        "Give all interfaces the same number of addresses; see show_gids or "
                        "/sys/class/infiniband/*/ports/*/gid_attrs." },
        { "rdma.unreadable", "f83b7e0c450e4db5ad8832b96f863a9c", "RDMA cannot be read",
                        "An attribute of a port or a counter that must be known cannot be read.",
                        "See dmesg -t for the driver; reload it or reboot." },
        { "rdma.nccl-conf", "c04ab5a7b3da4e7b9d65773429f1fadc",
                        "/etc/nccl.conf could not be read or written",
                        "NCCL would use ports and addresses of its own choice.",
                        "Check that the root file system is writable and the file is a text file "
                        "below 1 MiB." },
        { "nccl.no-program", "fbc4521ef9fe4613908603dce2729064", "ncclbench is missing",
                        "/usr/bin/ncclbench is not in the image, so NCCL cannot be measured.",
                        "Build the image with the firstboot overlay, which compiles it." },
        { "nccl.no-verdict", "78e58e4f08f949c282f8051f5d80b30f", "ncclbench gave no verdict",
                        "It left no report, or one that does not show what it says.",
                        "firstbootctl log nccl shows its words; run ncclbench by hand." },
        { "nccl.no-end", "4274fd86ad3d444e81b9840e7340b108", "ncclbench did not end",
                        "It did not even end by its own limit, and was killed.",
                        "See journalctl -k for Xid and NVRM; reboot the node." },
        { "nccl.no-limit", "4ec03b7b403e438ba08f02a2e0305664",
                        "There is no bandwidth to compare with",
                        "The machine's shape has no published bus bandwidth for this measurement. "
                        "Results are right, and the figures have what was measured.",
                        "Set nccl.min_busbw and nccl.size, or describe the shape in "
                        "/etc/firstboot/shapes.d; nccl.no_limit says whether this fails." },
        { "cuda.no-driver", "2f0b82b806b4466baee63d1ab59cfb8e",
                        "The CUDA driver library cannot be loaded",
                        "libcuda.so.1 is not there, or lacks a function, so no GPU can be used.",
                        "Install the NVIDIA driver's user-space library (libcuda.so.1), or set "
                        "--cuda-library." },
        { "cuda.no-device", "8c634623e0c645fea66d4a438f8b809b", "CUDA sees no GPU, or too few",
                        "CUDA sees no GPU, or fewer than the shape of the machine has.",
                        "Compare `lspci -d 10de:` with `nvidia-smi -L`; see `journalctl -k -g "
                        "NVRM`; check CUDA_VISIBLE_DEVICES and the job's --gpus." },
        { "cuda.fabric-not-ready", "78cf66ae66354f2887b556b923d94bef",
                        "The NVSwitch fabric is not set up",
                        "CUDA error 802: the GPUs of this machine are connected by NVSwitch, and "
                        "the fabric manager has not made them ready.",
                        "See `systemctl status nvidia-fabricmanager` and that its version is the "
                        "driver's." },
        { "cuda.out-of-memory", "bb593f60f88f4d87beb0b3c1cc3a27ab",
                        "A GPU has too little free memory",
                        "Somebody else holds memory of a GPU, or two buffers of the size measured "
                        "do not fit into it.",
                        "See `nvidia-smi` for who uses it, or lower -e." },
        { "cuda.timeout", "e57da92095d9424193cf6f5df6dd65a0",
                        "The CUDA driver did not answer in time",
                        "A call of the CUDA driver did not return within the limit.",
                        "See `journalctl -k -g 'Xid|NVRM'` and that nvidia-persistenced runs; "
                        "reboot the node." },
        { "cuda.error", "209c8f8b70ee40a5898a4baf496ec264", "A CUDA call failed",
                        "The CUDA driver reported an error; its number and name are in the "
                        "message.",
                        "See `journalctl -k -g Xid`; reset the GPU or reboot the node." },
        { "driver.library-mismatch", "f8b9a2f748b34aef9b891b113f5055b2",
                        "Driver and libraries do not go together",
                        "The kernel module and the CUDA or NCCL library are of versions that do "
                        "not work together.",
                        "Compare /proc/driver/nvidia/version with the installed libcuda and the "
                        "CUDA version NCCL was built for; reboot after a driver update." },
        { "nccl.no-library", "a25224addace42a79b8a7155564cce03",
                        "The NCCL library cannot be loaded",
                        "libnccl.so.2 is not there or cannot be loaded.",
                        "Install libnccl2, or set --nccl-library or LD_LIBRARY_PATH." },
        { "nccl.too-old", "fa08a1aae80d497eb170fb5fa4dd28ec", "The NCCL library is too old",
                        "It lacks a function that is needed.",
                        "Install NCCL 2.14 or newer (2.24 for 8-bit floats)." },
        { "nccl.init-failed", "8a1f0774b80a4d8d972c2785978de5af",
                        "NCCL could not set up its communicator",
                        "The GPUs are there, but NCCL found no way to connect them.",
                        "Run again with NCCL_DEBUG=INFO; check NCCL_SOCKET_IFNAME, NCCL_IB_HCA and "
                        "/etc/nccl.conf." },
        { "nccl.init-timeout", "97db1e818df94cd3971484e41ec67aa6",
                        "NCCL's communicator was not ready in time",
                        "Setting up the communicator did not end within the limit.",
                        "Run again with NCCL_DEBUG=INFO; check that all ranks reach each other "
                        "over NCCL_SOCKET_IFNAME and that no firewall is between them." },
        { "nccl.timeout", "7727c7f0deff4727a1d57a9b190e5865",
                        "An NCCL operation did not end in time",
                        "An all_reduce began and did not end within the limit: a link or a GPU "
                        "does not answer.",
                        "Run again with NCCL_DEBUG=INFO; see `journalctl -k -g Xid`, `nvidia-smi "
                        "nvlink -s` and the RDMA port counters; find the node with `ncclbench "
                        "pairs`." },
        { "nccl.error", "79476db272d9485692f710546cbaeaaa", "NCCL reported an error",
                        "An operation ended with an asynchronous error.",
                        "Run again with NCCL_DEBUG=INFO; see `journalctl -k -g Xid` on the rank "
                        "named." },
        { "nccl.wrong-result", "39147fc075c54618ab31be80928f81e3", "An NCCL result is wrong",
                        "Elements of a result are not what the operation must give: data was "
                        "damaged, lost or mixed up on the way.",
                        "Take the node out of service; run `dcgmi diag -r 3`; see ECC and NVLink "
                        "error counters." },
        { "nccl.slow", "a114aca45837475391f12edff534ad06", "The bandwidth between GPUs is too low",
                        "The bus bandwidth of all_reduce is below what the machine's shape (or "
                        "nccl.min_busbw) asks for.",
                        "See `nvidia-smi -q -d PERFORMANCE`, `nvidia-smi topo -m`, active NVLinks "
                        "and RDMA port rates; find the node with `ncclbench pairs`." },
        { "rendezvous.timeout", "b6500cb3cfc8441d956ace7e80b360e0",
                        "Not all processes came together in time",
                        "A run of several processes was not complete within the limit.",
                        "See which ranks are missing; check the address and port of rank 0 and the "
                        "firewall." },
        { "rendezvous.refused", "02be484df57c49d78b4fb883994d5e7d",
                        "Processes of a run do not go together",
                        "The shared secret, the number of processes or the program's version "
                        "differ between them.",
                        "Give all ranks the same NCCLBENCH_SECRET (or --secret-file) and the same "
                        "binary." },
        { "rendezvous.error", "d48d63d29c7549acab93ed6fd46d49e6",
                        "The connection between processes broke",
                        "The connection between the processes of a run could not be made, or "
                        "broke.",
                        "Check the address and port of rank 0; another program may hold the port "
                        "(--master)." },
        { "peer.failed", "a97b5585550f45d5a1979aa44427a613", "Another process of the run failed",
                        "Its own message names the reason.", "See the output of the rank named." },
        { "pairs.no-reference", "c29b10de80d44b119eed39b08745a306", "No node passed",
                        "In a run over pairs no node passed, so none can clear or accuse another.",
                        "Run it on more nodes, or on each node alone with `ncclbench`." },
        { "worker.died", "72f9166c77684b239abbdbd9ec1fadcd", "The measuring process died",
                        "It was killed or crashed.",
                        "See `journalctl -k` (out of memory, Xid) and `coredumpctl`." },
        { "worker.stuck", "7a5e4a63cb58425aa31760381ec5e76f",
                        "The measuring process cannot be killed",
                        "It hangs in the kernel, most likely in the NVIDIA driver.",
                        "See `journalctl -k -g 'Xid|NVRM'`; reboot the node." },
        { "nccl.interrupted", "baefe5087c1f402d8aaa82ac7c0364ea", "The measurement was interrupted",
                        "A signal ended it before its verdict.", "Run it again." },
        { "internal.error", "fdfff1ff34ba4bf28506273170689dff", "A system call failed",
                        "A system call or an allocation of the measurement failed.",
                        "See the message; check the limits on memory, processes and files." },
        { "shape.invalid", "6904c3bb738849c2bc24f3cc1c081a30", "The table of shapes has errors",
                        "/usr/lib/firstboot/shapes.json or a site's file in "
                        "/etc/firstboot/shapes.d cannot be read or has a fault, so nobody can say "
                        "what this machine must have.",
                        "Correct the file and key named; docs/shapes.md explains the keys." },
        { "shape.unknown", "add313c7174345f6a40336332d381d47", "The machine's shape is not known",
                        "Neither the cloud's metadata, nor the firmware, nor model and number of "
                        "GPUs fit a shape of the table. A machine that lacks a GPU looks like this "
                        "too.",
                        "Compare the GPUs with what the machine should have; then name its shape "
                        "in shape.name, describe it in /etc/firstboot/shapes.d, or set "
                        "shape.unknown to warn." },
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
                        "slurmd runs, restarted where it ran before, but the controller does not "
                        "show the node as registered.",
                        "Check that the controller knows the node's name (or set "
                        "slurm.dynamic here and MaxNodeCount there) and reaches slurmd's port "
                        "6818 at its address; journalctl -u slurmd has slurmd's words." },
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
