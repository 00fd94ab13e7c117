/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstboot-helper: what needs libcurl, OpenSSL or libldap, in processes of its own.
 *
 *   check     prints the faults of configuration and step files, and what they ask of the tree that
 *             is not there, without asking any network
 *   config    merges the node configuration and prints it as one JSON document
 *   notify    tells the site's command and URL how the node stands
 *   directory URI
 *             asks an LDAP server for the users that the configuration names: one JSON object
 *   kubernetes identity NODE | discover TOKEN-ID
 *   kubernetes kubelet METHOD PATH [TYPE] | verdict METHOD PATH [TYPE]
 *             asks a Kubernetes API server, as kubelet or with the verdict's token; a request that
 *             has a TYPE has its body on standard input: one JSON object */

#include "daemon/helper/config-load.h"
#include "daemon/helper/directory.h"
#include "daemon/helper/kubernetes.h"
#include "daemon/helper/notify.h"
#include "contract/graph.h"
#include "shared/file-util.h"
#include "daemon/helper/tree-faults.h"
#include "contract/paths.h"
#include "shared/log.h"

#include <fcntl.h>

#define DOCUMENT_MAX (4 * 1024 * 1024)

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

        text = json_line(o);
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
        r = tree_faults(c, graph, &c->errors);
        if (r < 0)
                return log_oom();

        STRV_FOREACH (e, c->errors)
                puts(*e);
        STRV_FOREACH (e, graph->errors)
                puts(*e);
        return c->errors || graph->errors ? -EINVAL : 0;
}

/* The configuration is read here, not handed over: a password has no place among arguments. */
static int read_document(json_object **ret) {
        _cleanup_free_ char *path = fb_path(PATH_RUN_CONFIG);
        JsonError error;
        int r;

        r = path ? json_load(path, DOCUMENT_MAX, &error, ret) : -ENOMEM;
        return r < 0 ? log_error_errno(r, "Cannot read %s", PATH_RUN_CONFIG) : 0;
}

static int ask_directory(const char *uri) {
        _cleanup_json_ json_object *document = NULL;

        if (read_document(&document) < 0)
                return EXIT_FAILURE;
        return directory_probe(json_get(json_get(document, "config"), "identity"), uri);
}

/* words: what follows "kubernetes". */
static int ask_kubernetes(char *const words[], size_t n) {
        _cleanup_json_ json_object *document = NULL;
        _cleanup_free_ char *body = NULL;
        json_object *section;
        bool verdict = streq(words[0], "verdict");

        if (read_document(&document) < 0)
                return EXIT_FAILURE;
        section = json_get(json_get(document, "config"), "kubernetes");
        if (n == 2 && streq(words[0], "identity"))
                return kubernetes_identity(section, words[1]);
        if (n == 2 && streq(words[0], "discover"))
                return kubernetes_discover(section, words[1]);
        if ((n != 3 && n != 4) || (!verdict && !streq(words[0], "kubelet")))
                return 2;
        if (n == 4 && read_fd(STDIN_FILENO, DOCUMENT_MAX, &body, NULL) < 0)
                return EXIT_FAILURE;
        return kubernetes_request(
                        section, verdict, words[1], words[2], n == 4 ? words[3] : NULL, body);
}

int main(int argc, char *argv[]) {
        log_set_program("firstboot-helper");
        if (argc == 2 && streq(argv[1], "config"))
                return print_config() < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        if (argc == 2 && streq(argv[1], "check"))
                return print_faults() < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        if (argc == 2 && streq(argv[1], "notify"))
                return notify_run() < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        if (argc == 3 && streq(argv[1], "directory"))
                return ask_directory(argv[2]);
        if (argc >= 4 && streq(argv[1], "kubernetes"))
                return ask_kubernetes(argv + 2, (size_t) argc - 2);
        fprintf(stderr, "Usage: firstboot-helper check | config | directory URI | kubernetes … | notify\n");
        return 2;
}
