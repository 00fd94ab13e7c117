/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Counters written for Prometheus, by its "Exposition formats". All samples of a metric stand together below its HELP
 * and TYPE, so they are gathered first and sorted. */

#include "steps/rdma/metrics.h"
#include "contract/paths.h"
#include "shared/parse-number.h"
#include "shared/strv.h"
#include "steps/common/sysfs.h"

#include <ctype.h>

#define CLASS "/sys/class/infiniband"

typedef struct Sample {
        char *metric, *help, *labels, *value;
        const char *type;
        size_t order; /* as read: devices and ports in their order */
} Sample;

typedef struct Samples {
        Sample *items;
        size_t n, unreadable;
} Samples;

static void samples_done(Samples *s) {
        for (size_t i = 0; i < s->n; i++) {
                free(s->items[i].metric);
                free(s->items[i].help);
                free(s->items[i].labels);
                free(s->items[i].value);
        }
        free(s->items);
        *s = (Samples) {};
}

char *rdma_metric_name(const char *prefix, const char *file) {
        char *name = strf("%s%s", prefix, file);

        for (char *p = name; p && *p; p++)
                if (!isascii((unsigned char) *p) || (!isalnum((unsigned char) *p) && *p != '_'))
                        *p = '_';
        return name;
}

/* Bytes of the UTF-8 character that s begins with; 0 where it begins with none. */
static size_t utf8_length(const char *s) {
        unsigned char c = (unsigned char) *s;
        size_t n = c < 0x80                ? 1
                   : c >= 0xc2 && c < 0xe0 ? 2
                   : c >= 0xe0 && c < 0xf0 ? 3
                   : c >= 0xf0 && c < 0xf5 ? 4
                                           : 0;

        for (size_t i = 1; i < n; i++)
                if (((unsigned char) s[i] & 0xc0) != 0x80)
                        return 0;
        return n;
}

char *rdma_label_value(const char *text) {
        char *value = malloc(strlen(text) * 2 + 1), *out = value;

        if (!value)
                return NULL;
        while (*text) {
                size_t n = utf8_length(text);

                if (*text == '\\' || *text == '"' || *text == '\n')
                        *out++ = '\\';
                *out++ = n == 0 ? '?' : *text == '\n' ? 'n' : *text;
                for (size_t i = 1; i < n; i++)
                        *out++ = text[i];
                text += n > 0 ? n : 1;
        }
        *out = '\0';
        return value;
}

/* Takes all strings over; NULL is out of memory. */
static int add(Samples *s, const char *type, char *metric, char *help, char *labels, char *value) {
        Sample *grown = reallocarray(s->items, s->n + 1, sizeof(Sample));

        if (grown)
                s->items = grown;
        if (!grown || !metric || !help || !labels || !value) {
                free(metric);
                free(help);
                free(labels);
                free(value);
                return -ENOMEM;
        }
        s->items[s->n] = (Sample) { metric, help, labels, value, type, s->n };
        s->n++;
        return 0;
}

static bool is_number(const char *s) {
        return !isempty(s) && strlen(s) <= 20 && strspn(s, "0123456789") == strlen(s);
}

static char *help_of(const char *kind, const char *file) {
        /* InfiniBand counts data in words; source: the kernel's
         * ABI/stable/sysfs-class-infiniband. */
        bool words = streq(file, "port_rcv_data") || streq(file, "port_xmit_data");

        return strf("%s/%s of an RDMA %s%s", kind, file,
                        startswith(kind, "device") ? "device" : "port",
                        words ? ", in words of 4 bytes" : "");
}

/* One file. where: the labels that say whose it is. */
static int add_file(Samples *s, const char *folder, const char *name, const char *prefix,
                const char *kind, const char *where) {
        _cleanup_free_ char *value = sysfs_string(folder, name), *metric = NULL, *plain = NULL,
                            *escaped = NULL;

        if (!is_number(value)) {
                s->unreadable++;
                return 0;
        }
        metric = rdma_metric_name(prefix, name);
        plain = strf("%s%s", prefix, name);
        escaped = rdma_label_value(name);
        if (!metric || !plain || !escaped)
                return -ENOMEM;

        /* Two files may become the same name; the file's own tells them apart. */
        bool changed = !streq(metric, plain);
        char *labels = changed ? strf("%s,file=\"%s\"", where, escaped) : strdup(where),
             *help = changed ? strf("files in %s of RDMA", kind) : help_of(kind, name);
        return add(s, streq(name, "lifespan") ? "gauge" : "counter", TAKE_PTR(metric), help, labels,
                        TAKE_PTR(value));
}

/* All files of a folder. */
static int add_folder(Samples *s, const char *folder, const char *prefix, const char *kind,
                const char *where) {
        _cleanup_strv_free_ char **names = NULL;
        int r;

        r = fb_list(folder, &names);
        if (r < 0)
                return r;
        STRV_FOREACH (name, names) {
                r = add_file(s, folder, *name, prefix, kind, where);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_port(Samples *s, const char *device, const char *port) {
        _cleanup_free_ char *folder = strf(CLASS "/%s/ports/%s", device, port),
                            *counters = strf("%s/counters", strempty(folder)),
                            *hw = strf("%s/hw_counters", strempty(folder)),
                            *d = rdma_label_value(device), *p = rdma_label_value(port),
                            *where = strf("device=\"%s\",port=\"%s\"", strempty(d), strempty(p)),
                            *state = NULL, *rate = NULL;
        double gbps;
        int r;

        if (!folder || !counters || !hw || !d || !p || !where)
                return -ENOMEM;
        state = sysfs_string(folder, "state");
        rate = sysfs_string(folder, "rate");
        r = add(s, "gauge", strdup("rdma_port_active"),
                        strdup("1 where the port's state is ACTIVE"), strdup(where),
                        strdup(streq_ptr(state, "4: ACTIVE") ? "1" : "0"));
        if (r < 0)
                return r;
        if (parse_leading_real(rate, &gbps) >= 0) {
                r = add(s, "gauge", strdup("rdma_port_rate_bits_per_second"),
                                strdup("rate of the port"), strdup(where),
                                strf("%.0f", gbps * 1e9));
                if (r < 0)
                        return r;
        }

        r = add_folder(s, counters, "rdma_port_", "counters", where);
        if (r < 0)
                return r;
        return add_folder(s, hw, "rdma_port_hw_", "hw_counters", where);
}

static int add_device(Samples *s, const char *device) {
        _cleanup_free_ char *ports = strf(CLASS "/%s/ports", device),
                            *hw = strf(CLASS "/%s/hw_counters", device),
                            *d = rdma_label_value(device),
                            *where = strf("device=\"%s\"", strempty(d));
        _cleanup_strv_free_ char **names = NULL;
        int r;

        if (!ports || !hw || !d || !where)
                return -ENOMEM;
        r = fb_list(ports, &names);
        if (r < 0)
                return r;
        STRV_FOREACH (port, names) {
                r = add_port(s, device, *port);
                if (r < 0)
                        return r;
        }
        return add_folder(s, hw, "rdma_device_hw_", "device's hw_counters", where);
}

static int by_metric(const void *a, const void *b) {
        const Sample *x = a, *y = b;
        int r = strcmp(x->metric, y->metric);

        return r != 0 ? r : x->order < y->order ? -1 : x->order > y->order;
}

static char *print(const Samples *s) {
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        if (!f)
                return NULL;
        for (size_t i = 0; i < s->n; i++) {
                const Sample *x = &s->items[i];

                if (i == 0 || !streq(x->metric, s->items[i - 1].metric))
                        fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", x->metric, x->help, x->metric,
                                        x->type);
                fprintf(f, "%s{%s} %s\n", x->metric, x->labels, x->value);
        }
        fprintf(f,
                        "# HELP rdma_exporter_unreadable_files counters that could not be read\n"
                        "# TYPE rdma_exporter_unreadable_files gauge\n"
                        "rdma_exporter_unreadable_files %zu\n",
                        s->unreadable);
        if (ferror(f) | fclose(f)) {
                free(text);
                return NULL;
        }
        return text;
}

int rdma_metrics(char **ret) {
        _cleanup_(samples_done) Samples s = {};
        _cleanup_strv_free_ char **devices = NULL;
        int r;

        r = fb_list(CLASS, &devices);
        if (r < 0)
                return r;
        if (!devices)
                return 0;
        STRV_FOREACH (d, devices) {
                r = add_device(&s, *d);
                if (r < 0)
                        return r;
        }
        qsort(s.items, s.n, sizeof(Sample), by_metric);

        *ret = print(&s);
        return *ret ? 1 : -ENOMEM;
}
