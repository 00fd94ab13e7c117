/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A container with the host's network and devices has them all: the CDI device
 * imgbuild.org/nccl=host, for whatever runs containers and knows CDI. Where a device has moved into
 * the container's own network namespace (imgbuild.org/nccl=pod, and a file to be mounted as
 * /etc/nccl.conf), the table of GIDs and the interfaces are others there: NCCL has to ask for
 * those itself. Names of devices that are not there do no harm: NCCL takes those of the list that
 * it finds. Source: the specification of the Container Device Interface. */

#include "steps/rdma/nccl-containers.h"
#include "contract/paths.h"
#include "shared/log.h"
#include "shared/strv.h"
#include "steps/common/own-file.h"

#define KIND "imgbuild.org/nccl"
#define KEY_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

static bool is_of_host(const char *line) {
        return startswith(line, "NCCL_IB_GID_INDEX=") || startswith(line, "NCCL_SOCKET_IFNAME=");
}

/* Whether a line before this one sets the same: the first counts. */
static bool is_set(char *const *lines, const char *line) {
        size_t n = strcspn(line, "=") + 1;

        STRV_FOREACH (l, lines)
                if (strncmp(*l, line, n) == 0)
                        return true;
        return false;
}

/* The file's settings, KEY=VALUE. */
static int settings_of(const char *conf, char ***ret) {
        _cleanup_strv_free_ char **lines = strv_split(conf, "\n"), **settings = NULL;

        if (!lines)
                return -ENOMEM;
        STRV_FOREACH (l, lines) {
                size_t n = strspn(*l, KEY_CHARACTERS);

                if (n == 0 || (*l)[n] != '=' || is_set(settings, *l))
                        continue;
                int r = strv_extend(&settings, *l);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(settings);
        return 0;
}

static int add_device(json_object *devices, const char *name, char *const *settings, bool host) {
        json_object *device, *edits, *env;
        int r;

        r = json_append_object(devices, &device);
        if (r < 0)
                return r;
        r = json_set_string(device, "name", name);
        if (r < 0)
                return r;
        r = json_add_object(device, "containerEdits", &edits);
        if (r < 0)
                return r;
        r = json_add_array(edits, "env", &env);
        if (r < 0)
                return r;
        STRV_FOREACH (s, settings) {
                r = host || !is_of_host(*s) ? json_append(env, json_object_new_string(*s)) : 0;
                if (r < 0)
                        return r;
        }
        return 0;
}

static int write_cdi(char *const *settings) {
        _cleanup_json_ json_object *spec = json_object_new_object();
        json_object *devices;
        int r;

        if (!spec)
                return -ENOMEM;
        r = json_set_fields(spec, JSON_STRING("cdiVersion", "0.3.0"), JSON_STRING("kind", KIND));
        if (r < 0)
                return r;
        r = json_add_array(spec, "devices", &devices);
        if (r < 0)
                return r;
        r = add_device(devices, "host", settings, true);
        if (r < 0)
                return r;
        r = add_device(devices, "pod", settings, false);
        if (r < 0)
                return r;
        return own_file_put(PATH_CDI_NCCL, json_line(spec), 0644, false);
}

static int write_pod_conf(char *const *settings) {
        _cleanup_strv_free_ char **lines = NULL;
        _cleanup_free_ char *text = NULL;

        if (strv_extend(&lines,
                            "# Of /etc/nccl.conf what holds for a device in a network namespace of its own.") <
                        0)
                return -ENOMEM;
        STRV_FOREACH (s, settings)
                if (!is_of_host(*s) && strv_extend(&lines, *s) < 0)
                        return -ENOMEM;
        if (strv_extend(&lines, "") < 0) /* the last line ends, too */
                return -ENOMEM;
        text = strv_join(lines, "\n");
        return text ? own_file_put(PATH_NCCL_POD, text, 0644, false) : -ENOMEM;
}

static int not_written(StepContext *c, const char *what, int error) {
        if (error == -ENOMEM)
                return error;
        return step_fail_later(c, "rdma.nccl-conf", "%s not written: %s", what, strerror(-error));
}

int rdma_write_nccl_containers(StepContext *c, const char *conf) {
        _cleanup_strv_free_ char **settings = NULL;
        int r;

        r = settings_of(conf, &settings);
        if (r < 0)
                return r;
        r = write_cdi(settings);
        if (r < 0)
                return not_written(c, PATH_CDI_NCCL, r);
        r = write_pod_conf(settings);
        return r < 0 ? not_written(c, PATH_NCCL_POD, r) : 0;
}
