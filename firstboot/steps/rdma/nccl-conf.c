/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* NCCL is told which of the ports to use; what the shape says besides gives way to the file. */

#include "steps/rdma/nccl-conf.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "steps/common/own-file.h"
#include "steps/nccl/conf.h"
#include "steps/rdma/nccl-containers.h"

#define NCCL_CONF "/etc/nccl.conf"
#define FILE_MAX (1024 * 1024)

/* The interface of the IPv4 default route with the lowest metric: NCCL's own connections go
 * there. */
static char *default_interface(void) {
        _cleanup_free_ char *path = fb_path("/proc/net/route"), *text = NULL, *best = NULL;
        unsigned long best_metric = 0;

        if (!path || read_file(path, FILE_MAX, &text, NULL) < 0)
                return NULL;
        for (char *save = NULL, *line = strtok_r(text, "\n", &save); line;
                        line = strtok_r(NULL, "\n", &save)) {
                char name[32];
                unsigned long destination, mask, metric;

                /* Iface Destination Gateway Flags RefCnt Use Metric Mask … */
                if (sscanf(line, "%31s %lx %*x %*x %*u %*u %lu %lx", name, &destination, &metric,
                                    &mask) != 4 ||
                                destination != 0 || mask != 0)
                        continue;
                if (best && metric >= best_metric)
                        continue;
                free(best);
                best = strf("=%s", name);
                best_metric = metric;
        }
        return TAKE_PTR(best);
}

static char *hca_list(const RdmaVerdict *v) {
        _cleanup_strv_free_ char **l = NULL;
        _cleanup_free_ char *joined = NULL;

        for (size_t i = 0; i < v->n_ports; i++) {
                const RdmaPort *p = v->ports[i];

                /* Others are not driven by NCCL's verbs transport (EFA has a plugin). */
                if (!streq(p->link_layer, "Ethernet") && !streq(p->link_layer, "InfiniBand"))
                        continue;
                if ((p->alone ? strv_extend(&l, p->device)
                              : strv_extendf(&l, "%s:%u", p->device, p->port)) < 0)
                        return NULL;
        }
        joined = strv_join(l, ",");
        return joined && *joined ? strf("=%s", joined) : NULL; /* "=": names, not prefixes */
}

/* What is ours to say in /etc/nccl.conf. */
enum {
        OUR_HCA,
        OUR_GID_INDEX,
        OUR_QPS,
        OUR_INTERFACE,
        OURS_N,
};
static const char *const our_keys[OURS_N] = {
        [OUR_HCA] = "NCCL_IB_HCA",
        [OUR_GID_INDEX] = "NCCL_IB_GID_INDEX",
        [OUR_QPS] = "NCCL_IB_QPS_PER_CONNECTION",
        [OUR_INTERFACE] = "NCCL_SOCKET_IFNAME",
};

static bool is_ours(const char *key) {
        for (size_t i = 0; i < OURS_N; i++)
                if (streq(key, our_keys[i]))
                        return true;
        return false;
}

static void values_done(char *(*values)[OURS_N]) {
        for (size_t i = 0; i < OURS_N; i++)
                free((*values)[i]);
}

/* A value stays NULL where there is nothing to say. */
static int take_values(
                json_object *o, const Shape *shape, const RdmaVerdict *v, char *values[OURS_N]) {
        const char *shape_qps = shape_env(shape, our_keys[OUR_QPS]),
                   *interface = json_get_string(o, "socket_interface");

        values[OUR_HCA] = hca_list(v);
        if (v->gid_index >= 0) {
                values[OUR_GID_INDEX] = strf("%d", v->gid_index);
                if (!values[OUR_GID_INDEX])
                        return -ENOMEM;
        }
        if (json_get(o, "qps"))
                values[OUR_QPS] = strf("%lld", (long long) json_get_int(o, "qps", 1));
        else if (shape_qps)
                values[OUR_QPS] = strdup(shape_qps);
        values[OUR_INTERFACE] = interface ? strf("=%s", interface) : default_interface();
        return 0;
}

/* The shape's variables behind ours; they give way to what the file says. keys owns their names. */
static int add_shape_env(const Shape *shape, NcclSetting *settings, size_t *n, char ***keys) {
        int r;

        STRV_FOREACH (e, shape ? shape->nccl_env : NULL) {
                char *key = strndup(*e, strcspn(*e, "="));

                r = strv_push(keys, key);
                if (r < 0)
                        return r;
                if (!is_ours(key))
                        settings[(*n)++] = (NcclSetting) { key, *e + strlen(key) + 1, false };
        }
        return 0;
}

/* The file's new text, from its old. */
static int make_conf(json_object *o, const Shape *shape, const RdmaVerdict *v, const char *old,
                char **ret) {
        size_t n = OURS_N, room = n + (shape ? strv_length(shape->nccl_env) : 0);
        _cleanup_free_ NcclSetting *settings = calloc(room, sizeof(NcclSetting));
        _cleanup_(values_done) char *values[OURS_N] = {};
        _cleanup_strv_free_ char **keys = NULL;
        int r;

        if (!settings)
                return -ENOMEM;
        r = take_values(o, shape, v, values);
        if (r < 0)
                return r;
        for (size_t i = 0; i < OURS_N; i++)
                settings[i] = (NcclSetting) { our_keys[i], values[i], true };
        r = add_shape_env(shape, settings, &n, &keys);
        if (r < 0)
                return r;

        *ret = nccl_conf_merge(old, settings, n);
        return *ret ? 0 : -ENOMEM;
}

int rdma_write_nccl_conf(StepContext *c, const Shape *shape, const RdmaVerdict *v) {
        _cleanup_free_ char *path = fb_path(NCCL_CONF), *old = NULL, *text = NULL;
        int r;

        if (!path)
                return -ENOMEM;
        r = read_file(path, FILE_MAX, &old, NULL);
        if (r < 0 && r != -ENOENT)
                return step_fail(c, "rdma.nccl-conf", "%s not read: %s", NCCL_CONF, strerror(-r));
        r = make_conf(c->section, shape, v, strempty(old), &text);
        if (r < 0)
                return r;
        if (streq(strempty(old), text))
                return rdma_write_nccl_containers(c, text);

        r = own_file_put(NCCL_CONF, text, 0644, true);
        if (r < 0)
                return step_fail_later(
                                c, "rdma.nccl-conf", "%s not written: %s", NCCL_CONF, strerror(-r));
        log_info("%s is written", NCCL_CONF);
        return rdma_write_nccl_containers(c, text);
}
