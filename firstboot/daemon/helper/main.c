/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstboot-helper: what needs libcurl, in processes of its own.
 *
 *   check     prints the faults of configuration and step files, without asking any network
 *   config    merges the node configuration and prints it as one JSON document
 *   notify    tells the site's command and URL how the node stands
 *   tls HOST PORT CA-FILE yes|no
 *             looks at an LDAP server's certificate, after StartTLS or not: "ok", or what is
 *             wrong with it */

#include "daemon/helper/config-load.h"
#include "daemon/helper/notify.h"
#include "daemon/helper/tls-probe.h"
#include "contract/graph.h"
#include "contract/paths.h"
#include "shared/log.h"

#include <fcntl.h>

/* cloud-init writes the node's configuration once and does not wait for the disk, but notes that
 * it did so: after a power cut the files would be there, empty, for good. Nothing is begun before
 * they are safe. */
static void keep_config(void) {
        _cleanup_free_ char *path = fb_path(PATH_CONFIG_DROPINS);
        _cleanup_close_ int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -EBADF;

        if (fd >= 0 && syncfs(fd) < 0)
                log_warning("%s: cannot make sure that it survives a power cut: %s", path,
                                strerror(errno));
}

static int print_config(void) {
        _cleanup_config_ Config *c = config_new();
        _cleanup_strv_free_ char **steps = NULL;
        _cleanup_json_ json_object *o = NULL;
        const char *text;
        int r;

        if (!c)
                return log_oom();
        keep_config();
        r = step_list(&steps);
        if (r < 0)
                return log_error_errno(r, "Cannot list the steps that are installed");
        r = config_load(c, steps);
        if (r < 0)
                return log_error_errno(r, "Cannot load the configuration");
        o = config_to_json(c);
        if (!o)
                return log_oom();

        text = json_object_to_json_string_ext(
                        o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
        if (!text)
                return log_oom();
        return puts(text) < 0 || fflush(stdout) < 0
                               ? log_error_errno(errno, "Cannot write the configuration")
                               : 0;
}

static int print_faults(void) {
        _cleanup_config_ Config *c = config_new();
        _cleanup_strv_free_ char **steps = NULL;
        _cleanup_graph_ Graph *graph = NULL;
        int r;

        if (!c)
                return log_oom();
        r = step_list(&steps);
        if (r < 0)
                return log_error_errno(r, "Cannot list the steps that are installed");
        r = config_load_files(c, steps);
        if (r < 0)
                return log_error_errno(r, "Cannot check the configuration");
        r = graph_load(c->values, &graph);
        if (r < 0)
                return log_error_errno(r, "Cannot check the steps");

        STRV_FOREACH (e, c->errors)
                puts(*e);
        STRV_FOREACH (e, graph->errors)
                puts(*e);
        return c->errors || graph->errors ? -EINVAL : 0;
}

int main(int argc, char *argv[]) {
        log_set_program("firstboot-helper");
        if (argc == 2 && streq(argv[1], "config"))
                return print_config() < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        if (argc == 2 && streq(argv[1], "check"))
                return print_faults() < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        if (argc == 2 && streq(argv[1], "notify"))
                return notify_run() < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        if (argc == 6 && streq(argv[1], "tls"))
                return tls_probe(argv[2], argv[3], argv[4], streq(argv[5], "yes"));
        fprintf(stderr, "Usage: firstboot-helper check | config | notify | tls HOST PORT CA-FILE yes|no\n");
        return 2;
}
