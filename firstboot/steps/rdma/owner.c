/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* kubelet's cgroups, by its own drivers for them:
 *
 *   systemd     /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID.slice/
 *               cri-containerd-ID.scope, with '_' for '-' in UID
 *   cgroupfs    /kubepods/burstable/podUID/ID
 *
 * What lies below the container is the container's own to make, so the first pod in a path counts,
 * and a path that begins otherwise has none. kubelet's folders: /var/log/pods/NAMESPACE_POD_UID,
 * /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log; neither of these names has a '_' in it. */

#include "steps/rdma/owner.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "steps/rdma/samples.h"

#define PODS "/var/log/pods"
#define CONTAINERS "/var/log/containers"
#define CGROUP_MAX (64 * 1024)
#define HEX "0123456789abcdef"
/* Of a namespace with very many processes. */
#define PIDS_MAX 256

void owners_done(Owners *o) {
        strv_free(o->pods);
        strv_free(o->containers);
        *o = (Owners) {};
}

/* A pod's UID: a UUID, or the digest of a static pod's file. NULL where it is none, and on out of
 * memory. */
static char *parse_uid(const char *s, size_t n) {
        char *uid = n >= 8 && n <= 64 ? strndup(s, n) : NULL;

        for (char *p = uid; p && *p; p++)
                if (*p == '_')
                        *p = '-';
        if (uid && strspn(uid, HEX "-") == n)
                return uid;
        free(uid);
        return NULL;
}

/* The UID in one folder of the path. */
static char *pod_of_folder(const char *folder) {
        const char *uid = startswith(folder, "pod");

        if (!endswith(folder, ".slice"))
                return uid ? parse_uid(uid, strlen(uid)) : NULL;
        /* "kubepods-podUID.slice" and "kubepods-burstable-podUID.slice" */
        uid = startswith(folder, "kubepods-") ? strstr(folder, "-pod") : NULL;
        return uid ? parse_uid(uid + strlen("-pod"),
                                     strlen(uid) - strlen("-pod") - strlen(".slice"))
                   : NULL;
}

/* The id in a folder such as "cri-containerd-ID.scope" or "ID". */
static char *container_of_folder(const char *folder) {
        const char *dash = strrchr(folder, '-'), *id = dash ? dash + 1 : folder;
        size_t n = strspn(id, HEX);

        return n == 64 && (!id[n] || streq(id + n, ".scope")) ? strndup(id, n) : NULL;
}

static int pod_of_path(const char *path, char **ret_uid, char **ret_container) {
        _cleanup_strv_free_ char **folders = strv_split(path, "/");

        if (!folders)
                return -ENOMEM;
        if (!streq_ptr(folders[0], "kubepods") && !streq_ptr(folders[0], "kubepods.slice"))
                return 0;
        for (char **f = folders + 1; *f; f++) {
                char *uid = pod_of_folder(*f);

                if (!uid)
                        continue;
                *ret_uid = uid;
                *ret_container = f[1] ? container_of_folder(f[1]) : NULL;
                return 1;
        }
        return 0;
}

int pod_of_cgroup(const char *text, char **ret_uid, char **ret_container) {
        _cleanup_strv_free_ char **lines = strv_split(text, "\n");
        int r;

        if (!lines)
                return -ENOMEM;
        /* NUMBER:CONTROLLERS:PATH, of which the unified hierarchy has one and the old ones many. */
        STRV_FOREACH (line, lines) {
                const char *path = strchr(*line, ':');

                path = path ? strchr(path + 1, ':') : NULL;
                if (!path)
                        continue;
                r = pod_of_path(path + 1, ret_uid, ret_container);
                if (r != 0)
                        return r;
        }
        return 0;
}

/* What the processes of a namespace say of it. */
typedef struct Inside {
        char *uid;
        char **containers; /* ids */
} Inside;

static void inside_done(Inside *i) {
        free(i->uid);
        strv_free(i->containers);
}

static int ask_process(Inside *i, pid_t pid) {
        _cleanup_free_ char *path = fb_pathf("/proc/%d/cgroup", (int) pid), *text = NULL,
                            *uid = NULL, *container = NULL;
        int r;

        if (!path)
                return -ENOMEM;
        if (read_file(path, CGROUP_MAX, &text, NULL) < 0)
                return 0; /* it ended */
        r = pod_of_cgroup(text, &uid, &container);
        if (r <= 0)
                return r;
        if (!i->uid)
                i->uid = TAKE_PTR(uid);
        else if (!streq(i->uid, uid))
                return 0; /* a guest: whoever was first lives here */
        return !container || strv_contains(i->containers, container)
                               ? 0
                               : strv_extend(&i->containers, container);
}

/* Folders that cannot be read name nobody. */
static int read_kubelet(Owners *o) {
        int r;

        if (o->read)
                return 0;
        o->read = true;
        r = fb_list(PODS, &o->pods);
        if (r == -ENOMEM)
                return r;
        r = fb_list(CONTAINERS, &o->containers);
        return r == -ENOMEM ? r : 0;
}

/* Namespace and name of the pod with this UID. */
static int find_pod(const Owners *o, const char *uid, char **ret_namespace, char **ret_pod) {
        STRV_FOREACH (entry, o->pods) {
                const char *first = strchr(*entry, '_'), *last = strrchr(*entry, '_');

                if (!first || first == last || !streq(last + 1, uid))
                        continue;
                *ret_namespace = strndup(*entry, (size_t) (first - *entry));
                *ret_pod = strndup(first + 1, (size_t) (last - first - 1));
                return *ret_namespace && *ret_pod ? 1 : -ENOMEM;
        }
        return 0;
}

/* The container's name; NULL where kubelet has none for this id, as for the one that only holds the
 * pod's namespaces. */
static char *find_container(const Owners *o, const char *id) {
        STRV_FOREACH (entry, o->containers) {
                const char *dash = strrchr(*entry, '-'), *name = dash;

                if (!dash || strncmp(dash + 1, id, 64) != 0)
                        continue;
                while (name > *entry && name[-1] != '_')
                        name--;
                return strndup(name, (size_t) (dash - name));
        }
        return NULL;
}

/* The name of the only container that has one. NULL where there is none, or more than one. */
static char *only_container(const Owners *o, char *const *ids) {
        _cleanup_free_ char *only = NULL;

        STRV_FOREACH (id, ids) {
                _cleanup_free_ char *name = find_container(o, *id);

                if (name && only)
                        return NULL;
                if (name)
                        only = TAKE_PTR(name);
        }
        return TAKE_PTR(only);
}

static int add_label(char **labels, const char *name, const char *value) {
        _cleanup_free_ char *escaped = rdma_label_value(value),
                            *grown = strf("%s,%s=\"%s\"", strempty(*labels), name,
                                            strempty(escaped));

        if (!escaped || !grown)
                return -ENOMEM;
        free(*labels);
        *labels = TAKE_PTR(grown);
        return 0;
}

static int pod_labels(Owners *o, const Inside *inside, char **labels) {
        _cleanup_free_ char *namespace = NULL, *pod = NULL, *container = NULL;
        int r;

        r = read_kubelet(o);
        if (r < 0)
                return r;
        r = find_pod(o, inside->uid, &namespace, &pod);
        if (r < 0)
                return r;
        if (r == 0)
                return add_label(labels, "pod_uid", inside->uid);

        r = add_label(labels, "namespace", namespace);
        if (r < 0)
                return r;
        r = add_label(labels, "pod", pod);
        if (r < 0)
                return r;
        container = only_container(o, inside->containers);
        return container ? add_label(labels, "container", container) : 0;
}

static int other_labels(const NetNamespace *n, char **labels) {
        _cleanup_free_ char *inode = strf("net:[%llu]", (unsigned long long) n->inode);

        return inode ? add_label(labels, "netns", n->name ? n->name : inode) : -ENOMEM;
}

int owner_labels(Owners *o, const NetNamespace *n, char **ret) {
        _cleanup_(inside_done) Inside inside = {};
        _cleanup_free_ char *labels = NULL;
        int r;

        for (size_t i = 0; i < n->n_pids && i < PIDS_MAX; i++) {
                r = ask_process(&inside, n->pids[i]);
                if (r < 0)
                        return r;
        }
        r = inside.uid ? pod_labels(o, &inside, &labels) : other_labels(n, &labels);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(labels);
        return 0;
}
