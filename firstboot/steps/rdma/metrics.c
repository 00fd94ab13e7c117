/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The counters of all devices: of those that are seen here and, where the kernel gives each device
 * to one network namespace, of those in others, with labels that say whose they are. */

#include "steps/rdma/metrics.h"
#include "contract/paths.h"
#include "shared/folder.h"
#include "shared/parse-number.h"
#include "shared/strv.h"
#include "steps/rdma/namespaces.h"
#include "steps/rdma/owner.h"
#include "steps/rdma/samples.h"
#include "steps/rdma/statistics.h"

#include <fcntl.h>
#include <inttypes.h>

#define CLASS "/sys/class/infiniband"

/* Files of one name in folders of one kind are one metric. */
typedef struct File {
        const char *prefix; /* of its metric, a literal */
        char *name;
        size_t metric;
        bool changed; /* the metric's name is not quite the file's */
} File;

typedef struct Reading {
        Samples samples;
        File *files;
        size_t n_files, guess; /* the next file is most likely the one after the last */
        size_t active, rate;   /* metrics */
        size_t unreadable;
        size_t devices;
        char **seen; /* labels of the devices so far: none may come twice */
        Owners owners;
        Statistics *statistics; /* of the namespace that is read; NULL where files are all */
} Reading;

static void reading_done(Reading *r) {
        samples_done(&r->samples);
        for (size_t i = 0; i < r->n_files; i++)
                free(r->files[i].name);
        free(r->files);
        strv_free(r->seen);
        owners_done(&r->owners);
}

/* An attribute without white space around it; NULL where it cannot be read. Thousands are read each
 * time, so each is opened by its folder, and no memory is asked for. */
static const char *attribute(int folder, const char *name, char text[static 64]) {
        _cleanup_close_ int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        ssize_t n = fd < 0 ? -1 : read(fd, text, 63);

        if (n < 0)
                return NULL;
        while (n > 0 && strchr(" \t\r\n", text[n - 1]))
                n--;
        text[n] = '\0';
        return text + strspn(text, " \t");
}

static bool is_number(const char *s) {
        return !isempty(s) && strlen(s) <= 20 && strspn(s, "0123456789") == strlen(s);
}

/* *ret is NULL where there is none. */
static int open_folder(int at, const char *name, DIR **ret) {
        int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        *ret = NULL;
        if (fd < 0)
                return errno == ENOENT || errno == ENOTDIR || errno == ENODEV ? 0 : -errno;
        return folder_from_fd(fd, ret);
}

/* Its names, sorted, and the folder itself; one that is not there is empty, with *ret_folder
 * NULL. */
static int list_folder(int at, const char *name, DIR **ret_folder, char ***ret) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_closedir_ DIR *d = NULL;
        int r;

        *ret_folder = NULL;
        r = open_folder(at, name, &d);
        if (r < 0 || !d)
                return r;
        FOLDER_FOREACH (e, d) {
                r = e[0] == '.' ? 0 : strv_extend(&names, e);
                if (r < 0)
                        return r;
        }
        if (names)
                strv_sort(names);
        *ret_folder = TAKE_PTR(d);
        *ret = TAKE_PTR(names);
        return 0;
}

static char *help_of(const char *kind, const char *file) {
        /* InfiniBand counts data in words; source: the kernel's
         * ABI/stable/sysfs-class-infiniband. */
        bool words = streq(file, "port_rcv_data") || streq(file, "port_xmit_data");

        return strf("%s/%s of an RDMA %s%s", kind, file,
                        startswith(kind, "device") ? "device" : "port",
                        words ? ", in words of 4 bytes" : "");
}

static bool is_file(const File *f, const char *prefix, const char *name) {
        return streq(f->prefix, prefix) && streq(f->name, name);
}

static int new_file(Reading *s, const char *name, const char *prefix, const char *kind,
                const File **ret) {
        _cleanup_free_ char *plain = strf("%s%s", prefix, name), *copy = strdup(name);
        File *grown = reallocarray(s->files, s->n_files + 1, sizeof(File));
        char *metric = rdma_metric_name(prefix, name);
        int r;

        if (grown)
                s->files = grown;
        if (!grown || !plain || !copy || !metric) {
                free(metric);
                return -ENOMEM;
        }
        File *f = &s->files[s->n_files];
        *f = (File) { .prefix = prefix, .changed = !streq(metric, plain) };
        r = samples_add_metric(&s->samples, streq(name, "lifespan") ? "gauge" : "counter", metric,
                        f->changed ? strf("files in %s of RDMA", kind) : help_of(kind, name),
                        &f->metric);
        if (r < 0)
                return r;
        f->name = TAKE_PTR(copy);
        s->n_files++;
        *ret = f;
        return 0;
}

static int find_file(Reading *s, const char *name, const char *prefix, const char *kind,
                const File **ret) {
        if (s->guess < s->n_files && is_file(&s->files[s->guess], prefix, name)) {
                *ret = &s->files[s->guess++];
                return 0;
        }
        for (size_t i = 0; i < s->n_files; i++)
                if (is_file(&s->files[i], prefix, name)) {
                        *ret = &s->files[i];
                        s->guess = i + 1;
                        return 0;
                }
        s->guess = s->n_files + 1;
        return new_file(s, name, prefix, kind, ret);
}

/* where: the labels that say whose it is, kept. */
static int add_value(Reading *s, const char *name, const char *value, const char *prefix,
                const char *kind, const char *where) {
        const File *f;
        int r;

        r = find_file(s, name, prefix, kind, &f);
        if (r < 0)
                return r;
        /* Two files may become the same name; the file's own tells them apart. */
        if (f->changed) {
                _cleanup_free_ char *escaped = rdma_label_value(name);

                where = escaped ? samples_keep(&s->samples, strf("%s,file=\"%s\"", where, escaped))
                                : NULL;
                if (!where)
                        return -ENOMEM;
        }
        return samples_add(&s->samples, f->metric, where, value);
}

static int add_file(Reading *s, int folder, const char *name, const char *prefix, const char *kind,
                const char *where) {
        char text[64];
        const char *value = attribute(folder, name, text);

        if (is_number(value))
                return add_value(s, name, value, prefix, kind, where);
        s->unreadable++;
        return 0;
}

/* All files of a folder, as they come: where one stands among a metric's samples is its device's
 * matter. */
static int add_folder(Reading *s, int at, const char *folder, const char *prefix, const char *kind,
                const char *where) {
        _cleanup_closedir_ DIR *d = NULL;
        int r;

        r = open_folder(at, folder, &d);
        if (r < 0 || !d)
                return r;
        FOLDER_FOREACH (name, d) {
                r = name[0] == '.' ? 0 : add_file(s, dirfd(d), name, prefix, kind, where);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The metrics that are no file's. */
static int prepare(Reading *s) {
        int r;

        r = samples_add_metric(&s->samples, "gauge", strdup("rdma_port_active"),
                        strdup("1 where the port's state is ACTIVE"), &s->active);
        if (r < 0)
                return r;
        return samples_add_metric(&s->samples, "gauge", strdup("rdma_port_rate_bits_per_second"),
                        strdup("rate of the port"), &s->rate);
}

static int add_state(Reading *s, int port, const char *where) {
        char text[64], rate[24];
        double gbps;
        int r;

        r = samples_add(&s->samples, s->active, where,
                        streq_ptr(attribute(port, "state", text), "4: ACTIVE") ? "1" : "0");
        if (r < 0)
                return r;
        if (parse_leading_real(attribute(port, "rate", text), &gbps) < 0 || gbps > 1e9)
                return 0;
        snprintf(rate, sizeof(rate), "%.0f", gbps * 1e9);
        return samples_add(&s->samples, s->rate, where, rate);
}

/* Whether the kernel told a port's counters in one answer. */
static bool ask_port(const Reading *s, const char *device, const char *port, const Statistic **ret,
                size_t *ret_n) {
        uint64_t number;

        return s->statistics && parse_number(port, 10, &number) >= 0 && number <= UINT32_MAX &&
               statistics_of_port(s->statistics, device, (uint32_t) number, ret, ret_n) >= 0 &&
               *ret_n > 0;
}

/* What the hardware counts at a port. The kernel's answer lacks one file, which is no counter. */
static int add_hardware(
                Reading *s, int at, const char *device, const char *port, const char *where) {
        static const char prefix[] = "rdma_port_hw_", kind[] = "hw_counters";
        const Statistic *items;
        char text[64];
        size_t n;
        int r;

        if (!ask_port(s, device, port, &items, &n))
                return add_folder(s, at, kind, prefix, kind, where);
        for (size_t i = 0; i < n; i++) {
                snprintf(text, sizeof(text), "%" PRIu64, items[i].value);
                r = add_value(s, items[i].name, text, prefix, kind, where);
                if (r < 0)
                        return r;
        }
        const char *lifespan = attribute(at, "hw_counters/lifespan", text);
        return is_number(lifespan) ? add_value(s, "lifespan", lifespan, prefix, kind, where) : 0;
}

static int add_port(Reading *s, int ports, const char *device, const char *port,
                const char *device_labels, const char *owner) {
        _cleanup_close_ int fd = openat(ports, port, O_PATH | O_DIRECTORY | O_CLOEXEC);
        _cleanup_free_ char *p = rdma_label_value(port);
        const char *where = p ? samples_keep(&s->samples,
                                                strf("%s,port=\"%s\"%s", device_labels, p, owner))
                              : NULL;
        int r;

        if (!where)
                return -ENOMEM;
        if (fd < 0) /* gone with its device, or no port */
                return 0;
        r = add_state(s, fd, where);
        if (r < 0)
                return r;
        r = add_folder(s, fd, "counters", "rdma_port_", "counters", where);
        if (r < 0)
                return r;
        return add_hardware(s, fd, device, port, where);
}

/* owner: further labels, each with a comma before it. */
static int add_device(Reading *s, int class, const char *device, const char *owner) {
        _cleanup_close_ int fd = openat(class, device, O_PATH | O_DIRECTORY | O_CLOEXEC);
        _cleanup_closedir_ DIR *ports = NULL;
        _cleanup_free_ char *d = rdma_label_value(device),
                            *label = strf("device=\"%s\"", strempty(d));
        const char *where;
        _cleanup_strv_free_ char **names = NULL;
        int r;

        if (!d || !label)
                return -ENOMEM;
        if (fd < 0) /* moved away meanwhile */
                return 0;
        where = samples_keep(&s->samples, strf("%s%s", label, owner));
        if (!where)
                return -ENOMEM;
        if (strv_contains(s->seen, where))
                return 0;
        r = strv_extend(&s->seen, where);
        if (r < 0)
                return r;
        s->devices++;

        r = list_folder(fd, "ports", &ports, &names);
        if (r < 0)
                return r;
        STRV_FOREACH (port, names) {
                r = add_port(s, dirfd(ports), device, *port, label, owner);
                if (r < 0)
                        return r;
        }
        return add_folder(s, fd, "hw_counters", "rdma_device_hw_", "device's hw_counters", where);
}

/* The kernel that runs tests is not the one that their folders show. */
static bool asks_kernel(char *const *devices, Statistics *ret) {
        return devices && !secure_getenv("FIRSTBOOT_ROOT") && statistics_open(ret) >= 0;
}

/* All devices of a folder like /sys/class/infiniband, of the namespace that the process is in. */
static int add_class(Reading *s, int at, const char *folder, const char *owner) {
        _cleanup_(statistics_done) Statistics statistics = {};
        _cleanup_strv_free_ char **devices = NULL;
        _cleanup_closedir_ DIR *class = NULL;
        int r;

        r = list_folder(at, folder, &class, &devices);
        if (r < 0)
                return r;
        s->statistics = asks_kernel(devices, &statistics) ? &statistics : NULL;
        STRV_FOREACH (d, devices) {
                r = add_device(s, dirfd(class), *d, owner);
                if (r < 0)
                        break;
        }
        s->statistics = NULL;
        return r;
}

/* A namespace that has devices. One that vanishes while it is read is no error of the others. */
static int add_namespace(void *data, const NetNamespace *n, int class) {
        _cleanup_free_ char *owner = NULL;
        Reading *s = data;
        int r;

        r = owner_labels(&s->owners, n, &owner);
        if (r < 0)
                return r;
        r = add_class(s, class, ".", owner);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                s->unreadable++;
        return 0;
}

int rdma_metrics(char **ret) {
        _cleanup_(reading_done) Reading s = {};
        _cleanup_free_ char *class = fb_path(CLASS), *tail = NULL;
        size_t skipped = 0;
        char *text;
        int r;

        if (!class)
                return -ENOMEM;
        r = prepare(&s);
        if (r < 0)
                return r;
        r = add_class(&s, AT_FDCWD, class, "");
        if (r < 0)
                return r;
        if (rdma_is_exclusive()) {
                r = net_namespaces_visit(add_namespace, &s, &skipped);
                if (r < 0)
                        return r;
        }
        if (s.devices == 0 && skipped == 0)
                return 0;

        tail = strf("# HELP rdma_exporter_skipped_namespaces network namespaces that were not looked into\n"
                    "# TYPE rdma_exporter_skipped_namespaces gauge\n"
                    "rdma_exporter_skipped_namespaces %zu\n"
                    "# HELP rdma_exporter_unreadable_files counters that could not be read\n"
                    "# TYPE rdma_exporter_unreadable_files gauge\n"
                    "rdma_exporter_unreadable_files %zu\n",
                        skipped, s.unreadable);
        text = tail ? samples_print(&s.samples, tail) : NULL;
        if (!text)
                return -ENOMEM;
        *ret = text;
        return 1;
}
