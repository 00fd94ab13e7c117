/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Private networks between machines of this host. A link is a folder, and each machine on it a Unix
 * datagram socket in it, named by the machine's MAC address: a frame goes straight to the socket of
 * its address. There is no hub that could end before the others, no port that is open to anybody
 * else, and no multicast. */

#include "boot/vm.h"

#include <sys/types.h>

#define LINK_MTU 9000

/* Where links of machines that are started one by one meet: every imgbuild of this host. */
#define LINK_FOLDER "/run/imgbuild/link"

/* The MAC address, where none was given: from the link's name and the machine's address on it, or
 * from its instance where it has none. -ENOMEM. */
int link_settle_mac(VmLink *l, const char *instance);

/* cloud-init's network-config, version 2: the user network by DHCP, each link as it was ordered. */
int link_network_config(const VmConfig *c, char **ret);

/* The machine's end of a link: a process that carries frames between QEMU's socket and the link's
 * folder, until *ret is killed or we end. -EADDRINUSE: the MAC address is on the link already. */
int link_start(const VmLink *l, const char *vm_folder, size_t index, pid_t *ret);
void link_stop(const VmLink *l, pid_t pid);

/* The sockets in the machine's folder: QEMU's own, and the one that it sends to. */
#define LINK_QEMU_SOCKET "link%zu-qemu.sock"
#define LINK_PORT_SOCKET "link%zu.sock"
