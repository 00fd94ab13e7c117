/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Findings are added one by one, and become a line of text each. */

#include "steps/rdma/finding.h"

void rdma_verdict_done(RdmaVerdict *v) {
        for (size_t i = 0; i < v->n; i++) {
                free(v->findings[i].device);
                free(v->findings[i].value);
                free(v->findings[i].limit);
        }
        free(v->findings);
        free(v->ports);
        *v = (RdmaVerdict) {};
}

/* Adds a finding; device NULL: of the machine, port 0: of the device. Takes value and limit over;
 * NULL of them is out of memory. */
static int add(RdmaVerdict *v, const char *device, unsigned port, const char *code,
                RdmaWeight weight, char *value, char *limit) {
        RdmaFinding *grown = reallocarray(v->findings, v->n + 1, sizeof(RdmaFinding));
        RdmaFinding f = {
                .code = code,
                .device = device ? strdup(device) : NULL,
                .port = port,
                .value = value,
                .limit = limit,
                .warns = weight == RDMA_WARNS,
                .may_pass = weight == RDMA_MAY_PASS,
        };

        if (grown)
                v->findings = grown;
        if (!grown || !f.value || !f.limit || (device && !f.device)) {
                free(f.device);
                free(f.value);
                free(f.limit);
                return -ENOMEM;
        }
        v->findings[v->n++] = f;
        return 0;
}

int rdma_find(RdmaVerdict *v, const char *device, const char *code, RdmaWeight weight, char *value,
                char *limit) {
        return add(v, device, 0, code, weight, value, limit);
}

int rdma_find_port(RdmaVerdict *v, const RdmaPort *p, const char *code, RdmaWeight weight,
                char *value, char *limit) {
        return add(v, p->device, p->port, code, weight, value, limit);
}

char *rdma_finding_text(const RdmaFinding *f) {
        _cleanup_free_ char *where = !f->device    ? strdup("")
                                     : f->port > 0 ? strf("%s port %u: ", f->device, f->port)
                                                   : strf("%s: ", f->device);

        return where ? strf("%s%s, should be %s", where, f->value, f->limit) : NULL;
}
