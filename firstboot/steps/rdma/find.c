/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What was read of devices, ports and counters, found by name. */

#include "shared/strv.h"
#include "steps/rdma/facts.h"

const RdmaDevice *rdma_facts_device(const RdmaFacts *f, const char *name) {
        for (size_t i = 0; i < f->n_devices; i++)
                if (streq(f->devices[i].name, name))
                        return &f->devices[i];
        return NULL;
}

const RdmaPort *rdma_facts_port(const RdmaFacts *f, const char *device, unsigned port) {
        for (size_t i = 0; i < f->n_ports; i++)
                if (streq(f->ports[i].device, device) && f->ports[i].port == port)
                        return &f->ports[i];
        return NULL;
}

const RdmaCounter *rdma_port_counter(const RdmaPort *p, const char *name) {
        for (size_t i = 0; i < p->n_counters; i++)
                if (streq(p->counters[i].name, name))
                        return &p->counters[i];
        return NULL;
}
