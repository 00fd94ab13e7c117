/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Errors that come while a port carries data, whatever limits old errors have. */

#include "steps/rdma/growth.h"

char *rdma_growth(const RdmaPort *before, const RdmaPort *after) {
        static const char *const errors[] = { "counters/symbol_error", "counters/port_rcv_errors",
                "counters/link_downed", "counters/link_error_recovery",
                "counters/local_link_integrity_errors", "counters/excessive_buffer_overrun_errors",
                "hw_counters/rx_icrc_encapsulated", "hw_counters/local_ack_timeout_err" };

        for (size_t i = 0; i < ELEMENTSOF(errors); i++) {
                const RdmaCounter *x = rdma_port_counter(before, errors[i]),
                                  *y = rdma_port_counter(after, errors[i]);

                if (x && y && x->readable && y->readable && y->value > x->value)
                        return strf("%s grew from %llu to %llu", errors[i],
                                        (unsigned long long) x->value,
                                        (unsigned long long) y->value);
        }
        return NULL;
}
