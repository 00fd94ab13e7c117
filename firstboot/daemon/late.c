/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What appears in the folder of results belongs to the step that its name begins with. The step's
 * job knows whether it waits for a verdict. */

#include "daemon/late.h"
#include "contract/paths.h"
#include "shared/strv.h"

#include <sys/inotify.h>

/* The step that a file "NAME.….json" is for, or NULL. */
static Job *job_of(const Node *n, const char *file) {
        _cleanup_free_ char *name = strndup(file, strcspn(file, "."));

        return name && endswith(file, ".json") ? node_find_job(n, name) : NULL;
}

static int on_file(sd_event_source *s, const struct inotify_event *e, void *userdata) {
        Node *n = userdata;
        Job *j = e->len > 0 ? job_of(n, e->name) : NULL;

        (void) s;
        if (e->mask & IN_Q_OVERFLOW)
                late_look(n);
        else if (j)
                job_look_for_late_verdict(j);
        return 0;
}

int late_watch(sd_event *event, Node *node, sd_event_source **ret) {
        _cleanup_free_ char *path = fb_path(PATH_RUN_RESULTS);

        if (!path)
                return -ENOMEM;
        /* A plain file is whole once it is closed, or moved here. */
        return sd_event_add_inotify(
                        event, ret, path, IN_CLOSE_WRITE | IN_MOVED_TO | IN_ONLYDIR, on_file, node);
}

void late_look(Node *node) {
        for (size_t i = 0; i < node->n_jobs; i++)
                job_look_for_late_verdict(&node->jobs[i]);
}
