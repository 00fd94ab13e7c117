/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* rdma-exporter [FILE]: writes the counters of all RDMA devices for node_exporter's textfile
 * collector, replacing the file in one step, so that a scrape sees the old one or the new. Without
 * FILE it is firstboot-rdma.prom in metrics.directory, if that folder is there. Run by
 * firstboot-rdma-exporter.timer. A file of a node that has no RDMA device any more is removed: old
 * numbers are worse than none. */

#include "shared/file-util.h"
#include "shared/json-util.h"
#include "shared/log.h"
#include "contract/paths.h"
#include "steps/rdma/metrics.h"
#include "shared/strv.h"

#define CONFIG_MAX (16 * 1024 * 1024)
#define DIRECTORY "/var/lib/prometheus/node-exporter"

/* NULL on out of memory. */
static char *default_file(void) {
        _cleanup_free_ char *path = fb_path(PATH_RUN_CONFIG);
        _cleanup_json_ json_object *document = NULL;
        const char *directory = NULL;
        JsonError e = {};

        if (path && json_load(path, CONFIG_MAX, &e, &document) >= 0)
                directory = json_get_string(
                                json_get(json_get(document, "config"), "metrics"), "directory");
        return fb_pathf("%s/firstboot-rdma.prom", isempty(directory) ? DIRECTORY : directory);
}

int main(int argc, char *argv[]) {
        _cleanup_free_ char *file = NULL, *text = NULL, *folder = NULL;
        int r;

        log_set_program("rdma-exporter");
        if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
                fprintf(stderr, "Usage: rdma-exporter [FILE]\n");
                return 2;
        }

        file = argc == 2 ? strdup(argv[1]) : default_file();
        folder = file ? strdup(file) : NULL;
        if (!folder)
                return log_oom(), EXIT_FAILURE;
        char *slash = strrchr(folder, '/');
        if (slash)
                *slash = '\0';
        if (argc < 2 && access(folder, F_OK) < 0)
                return EXIT_SUCCESS; /* no node_exporter here */

        r = rdma_metrics(&text);
        if (r < 0) {
                log_error_errno(r,
                                "/sys/class/infiniband cannot be read, so there are no RDMA counters");
                return EXIT_FAILURE;
        }
        if (r == 0) {
                if (unlink(file) < 0 && errno != ENOENT) {
                        log_error_errno(errno,
                                        "There are no RDMA devices any more, and %s with their old counters cannot be removed",
                                        file);
                        return EXIT_FAILURE;
                }
                return EXIT_SUCCESS;
        }

        r = write_file_atomic(file, text, strlen(text), 0644);
        if (r < 0) {
                log_error_errno(r, "%s could not be written; check the folder and its space", file);
                return EXIT_FAILURE;
        }
        return EXIT_SUCCESS;
}
