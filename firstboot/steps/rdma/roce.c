/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What RDMA over Ethernet needs besides a port that is up: one MTU, and GIDs that NCCL can name. */

#include "steps/rdma/roce.h"
#include "steps/rdma/finding.h"

bool rdma_port_is_ethernet(const RdmaPort *p) {
        return streq(p->link_layer, "Ethernet");
}

static bool has_roce_v2(const RdmaPort *p) {
        for (size_t i = 0; i < p->n_gids; i++)
                if (p->gids[i].roce_v2)
                        return true;
        return false;
}

/* Whether the GID at this index of the port is RoCE v2 (and, where asked for, IPv4-mapped). */
static bool gid_serves(const RdmaPort *p, unsigned index, bool ipv4) {
        for (size_t i = 0; i < p->n_gids; i++)
                if (p->gids[i].index == index)
                        return p->gids[i].roce_v2 && (p->gids[i].ipv4 || !ipv4);
        return false;
}

static bool gid_serves_all(const RdmaVerdict *v, unsigned index, bool ipv4) {
        for (size_t i = 0; i < v->n_ports; i++)
                if (rdma_port_is_ethernet(v->ports[i]) && !gid_serves(v->ports[i], index, ipv4))
                        return false;
        return true;
}

/* The lowest index that is RoCE v2 everywhere, IPv4-mapped before others (those are routed); -1
 * where there is none. */
static int common_gid(const RdmaVerdict *v) {
        for (int ipv4 = 1; ipv4 >= 0; ipv4--)
                for (unsigned index = 0; index < 256; index++)
                        if (gid_serves_all(v, index, ipv4))
                                return (int) index;
        return -1;
}

/* Interfaces of one fabric have one MTU: packets of the larger would be lost at the smaller. */
int rdma_check_mtu(RdmaVerdict *v, const RdmaWish *w) {
        unsigned most = 0;
        int r;

        for (size_t i = 0; i < v->n_ports; i++)
                if (rdma_port_is_ethernet(v->ports[i]))
                        most = MAX(most, v->ports[i]->mtu);
        most = w->mtu > 0 ? w->mtu : most;
        for (size_t i = 0; i < v->n_ports; i++) {
                const RdmaPort *p = v->ports[i];

                if (!rdma_port_is_ethernet(p) || p->mtu == 0 || p->mtu >= most)
                        continue;
                r = rdma_find_port(v, p, "rdma.mtu", RDMA_LASTS,
                                strf("MTU %u of %s", p->mtu, p->netdev), strf("%u", most));
                if (r < 0)
                        return r;
        }
        return 0;
}

/* NCCL_IB_GID_INDEX is one number for all ports. */
int rdma_check_gids(RdmaVerdict *v, const RdmaWish *w) {
        bool any_ethernet = false, all_have = true;
        int r;

        v->gid_index = -1;
        for (size_t i = 0; i < v->n_ports; i++) {
                const RdmaPort *p = v->ports[i];

                if (!rdma_port_is_ethernet(p))
                        continue;
                any_ethernet = true;
                if (has_roce_v2(p))
                        continue;
                all_have = false;
                r = rdma_find_port(v, p, "rdma.no-gid", RDMA_MAY_PASS,
                                strf("%zu GIDs, none of them RoCE v2", p->n_gids),
                                strdup("one RoCE v2 GID"));
                if (r < 0)
                        return r;
        }
        if (!any_ethernet || !all_have)
                return 0;

        v->gid_index = common_gid(v);
        if (v->gid_index >= 0 || w->gid_per_device)
                return 0;
        return rdma_find(v, NULL, "rdma.gid-differs", RDMA_MAY_PASS,
                        strdup("no GID index is RoCE v2 on all ports"),
                        strdup("one index for all"));
}
