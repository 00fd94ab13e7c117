/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads a cluster file by its table in formats.c. */

#include "recipe/other-file.h"
#include "recipe/formats.h"
#include "recipe/problems.h"

#include "shared/file-util.h"
#include "shared/json-strv.h"
#include "shared/log.h"
#include "shared/strv.h"

static void machine_done(ClusterMachine *m) {
        free(m->name);
        free(m->image);
        free(m->until);
        free(m->user_data);
        free(m->memory);
        free(m->disk_size);
        strv_free(m->nvme);
        strv_free(m->links);
}

ClusterFile *cluster_file_free(ClusterFile *f) {
        if (!f)
                return NULL;

        for (size_t i = 0; i < f->n_machines; i++)
                machine_done(f->machines + i);
        free(f->machines);
        free(f->path);
        free(f->name);
        free(f->network);
        free(f);
        return NULL;
}

static int copy_string(json_object *o, const char *key, char **ret) {
        const char *s = json_get_string(o, key);

        return s && !(*ret = strdup(s)) ? -ENOMEM : 0;
}

/* A path in the file is meant from the file's folder. */
static int copy_path(const ClusterFile *f, json_object *o, const char *key, char **ret) {
        const char *s = json_get_string(o, key);
        _cleanup_free_ char *folder = path_folder(f->path);

        if (!s)
                return 0;
        *ret = *s == '/' ? strdup(s) : folder ? path_join(folder, s) : NULL;
        return *ret ? 0 : -ENOMEM;
}

static int copy_strings(json_object *o, const char *key, char ***ret) {
        return json_get(o, key) ? json_get_strings(o, key, ret) : 0;
}

/* number 0: the only one of its kind. */
static int add_machine(ClusterFile *f, json_object *o, unsigned number) {
        ClusterMachine *m = f->machines + f->n_machines++;
        const char *name = json_get_string(o, "name");

        m->name = number == 0 ? strdup(name) : strf("%s%u", name, number);
        m->cpus = (unsigned) json_get_int(o, "cpus", 0);
        if (!m->name || copy_string(o, "until", &m->until) < 0 ||
                        copy_string(o, "memory", &m->memory) < 0 ||
                        copy_string(o, "disk_size", &m->disk_size) < 0 ||
                        copy_path(f, o, "user_data", &m->user_data) < 0 ||
                        copy_strings(o, "nvme", &m->nvme) < 0 ||
                        copy_strings(o, "links", &m->links) < 0)
                return -ENOMEM;

        const char *image = json_get_string(o, "image");
        if (strchr(image, '/'))
                return copy_path(f, o, "image", &m->image);
        m->image = strdup(image);
        return m->image ? 0 : -ENOMEM;
}

static bool name_taken(const ClusterFile *f, size_t n, const char *name) {
        for (size_t i = 0; i < n; i++)
                if (streq(f->machines[i].name, name))
                        return true;
        return false;
}

static int add_machines(ClusterFile *f, Problems *p, json_object *o, size_t at) {
        _cleanup_free_ char *path = strf("$.machines[%zu]", at);
        int64_t count = json_get_int(o, "count", 0);
        bool many = json_get(o, "count");
        int r;

        if (!path)
                return -ENOMEM;
        if (many && count == 0) {
                problems_add(p, f->path, path, "\"count\" is 0; leave it out for a single machine");
                return 0;
        }
        if (f->n_machines + (size_t) MAX(count, 1) > CLUSTER_MACHINES_MAX) {
                problems_add(p, f->path, path, "more than %d machines", CLUSTER_MACHINES_MAX);
                return 0;
        }

        for (unsigned i = many ? 1 : 0; i <= (many ? (unsigned) count : 0); i++) {
                r = add_machine(f, o, i);
                if (r < 0)
                        return r;

                const char *name = f->machines[f->n_machines - 1].name;
                if (name_taken(f, f->n_machines - 1, name))
                        problems_add(p, f->path, path, "two machines are called \"%s\"", name);
        }
        return 0;
}

static int load(Problems *p, ClusterFile *f) {
        _cleanup_json_ json_object *o = NULL;
        const OtherFile *other;
        json_object *list;
        int r;

        r = schema_load(p, f->path, &o);
        if (r == -ENOENT)
                problems_add(p, f->path, NULL, "there is no such file");
        if (r < 0)
                return r;
        other = other_file_find(o);
        if (other && other->kind != OTHER_CLUSTER)
                problems_add(p, f->path, NULL, "is %s, not a cluster: %s", other->what,
                                other->remedy);
        else
                schema_validate(p, f->path, cluster_keys, o, false);
        if (p->n > 0)
                return -EINVAL;

        f->machines = calloc(CLUSTER_MACHINES_MAX, sizeof(*f->machines));
        if (!f->machines || copy_string(o, "name", &f->name) < 0 ||
                        copy_string(o, "network", &f->network) < 0)
                return -ENOMEM;
        list = json_get(o, "machines");
        for (size_t i = 0; i < json_object_array_length(list); i++) {
                r = add_machines(f, p, json_object_array_get_idx(list, i), i);
                if (r < 0)
                        return r;
        }
        if (f->n_machines == 0)
                problems_add(p, f->path, "$.machines", "a cluster has a machine at least");
        return 0;
}

int cluster_file_load(const char *path, ClusterFile **ret) {
        _cleanup_cluster_file_ ClusterFile *f = calloc(1, sizeof(*f));
        _cleanup_problems_ Problems problems = {};
        int r, faults;

        if (!f || !(f->path = strdup(path)))
                return log_oom();

        r = load(&problems, f);
        faults = problems_log(&problems);
        if (faults < 0)
                return faults;
        if (r < 0)
                return log_error_errno(r, "Cannot read %s", path);

        *ret = TAKE_PTR(f);
        return 0;
}
