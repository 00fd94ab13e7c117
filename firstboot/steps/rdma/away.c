/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Devices that the node has and does not see, for a pod has them. They are there; what state they
 * are in is the pod's own matter. */

#include "shared/folder.h"
#include "steps/rdma/facts.h"
#include "steps/rdma/namespaces.h"

#include <fcntl.h>

/* Ports of a device, by their folders. */
static size_t count_ports(int class, const char *device) {
        _cleanup_free_ char *path = strf("%s/ports", device);
        _cleanup_closedir_ DIR *d = NULL;
        size_t n = 0;

        int fd = path ? openat(class, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        if (fd < 0 || folder_from_fd(fd, &d) < 0)
                return 0;
        FOLDER_FOREACH (name, d)
                n += name[0] != '.';
        return n;
}

static int add_class(void *data, const NetNamespace *n _unused_, int class) {
        _cleanup_closedir_ DIR *d = NULL;
        RdmaFacts *f = data;
        int r;

        int fd = openat(class, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return 0; /* gone with its namespace */
        r = folder_from_fd(fd, &d);
        if (r < 0)
                return r;
        FOLDER_FOREACH (name, d) {
                if (rdma_facts_device(f, name) || strv_contains(f->away, name))
                        continue; /* it moved between two looks */
                r = strv_extend(&f->away, name);
                if (r < 0)
                        return r;
                f->n_away_ports += count_ports(class, name);
        }
        return 0;
}

int rdma_facts_add_away(RdmaFacts *f) {
        size_t skipped = 0;
        int r;

        if (!rdma_is_exclusive())
                return 0;
        r = net_namespaces_visit(add_class, f, &skipped);
        strv_sort(f->away); /* the namespaces come in no order */
        /* Who may not look there sees what there is here. */
        return r == -ENOMEM ? r : 0;
}
