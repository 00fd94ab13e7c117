/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What counters say is not how many errors there were since the driver came, but whether there are
 * more now: a link that trained badly a month ago is no reason today. */

#include "daemon/watch-counters.h"
#include "contract/paths.h"
#include "shared/duration.h"
#include "shared/file-util.h"
#include "shared/older-systemd.h"
#include "shared/parse-number.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define READ_USEC (20 * USEC_PER_SEC)
#define FLAPS_MAX 3 /* as often within the window, a link is no good */

/* Growth that is let pass, a minute: InfiniBand's specification allows 10 symbol errors an hour and
 * real links have bursts; the last four mean data that was damaged or dropped. */
static const struct {
        const char *file;
        uint64_t per_minute;
} ports[] = {
        { "symbol_error", 10 },
        { "link_error_recovery", 1 },
        { "port_rcv_errors", 10 },
        { "local_link_integrity_errors", 0 },
        { "excessive_buffer_overrun_errors", 0 },
        { "port_xmit_constraint_errors", 0 },
        { "port_rcv_constraint_errors", 0 },
};

/* The child has ended, or been given up: one that hangs in a driver ends when that lets it. The
 * loop keeps what waits for it (floating), and is rid of it then. */
static void drop_reader(WatchCounters *w) {
        if (w->reader) {
                (void) sd_event_source_send_child_signal(w->reader, SIGKILL, NULL, 0);
                w->reader = event_source_leave(w->reader);
                w->fd = safe_close(w->fd);
        }
        w->size = 0;
        free(TAKE_PTR(w->text));
}

void watch_counters_done(WatchCounters *w) {
        drop_reader(w);
        for (size_t i = 0; i < w->n; i++) {
                free(w->items[i].name);
                free(w->items[i].events);
        }
        free(w->items);
        *w = (WatchCounters) {};
}

/* *ret_new: it was not seen before. */
static WatchCounter *get(WatchCounters *w, const char *name, bool *ret_new) {
        WatchCounter *grown;

        *ret_new = false;
        for (size_t i = 0; i < w->n; i++)
                if (streq(w->items[i].name, name))
                        return &w->items[i];
        grown = reallocarray(w->items, w->n + 1, sizeof(*grown));
        if (!grown)
                return NULL;
        w->items = grown;
        w->items[w->n] = (WatchCounter) { .name = strdup(name) };
        *ret_new = true;
        return w->items[w->n].name ? &w->items[w->n++] : NULL;
}

/* How much the counter has grown since the last look; one that was set back has not. */
static uint64_t growth(
                WatchCounter *c, bool fresh, uint64_t value, uint64_t now, uint64_t *ret_usec) {
        uint64_t grown = fresh || value < c->value ? 0 : value - c->value;

        *ret_usec = fresh ? 0 : now - c->seen_usec;
        c->value = value;
        c->seen_usec = now;
        return grown;
}

static void judge_error(Conditions *l, const WatchCounter *c, uint64_t grown, uint64_t usec,
                uint64_t per_minute, uint64_t now) {
        _cleanup_free_ char *key = strf("counter:%s", c->name);
        char span[FORMAT_DURATION_MAX];

        if (!key)
                return;
        if (grown * 60 * USEC_PER_SEC > per_minute * MAX(usec, 60 * USEC_PER_SEC))
                (void) conditions_set(l, key, "rdma.errors-grow", now, "%s has grown by %llu in %s",
                                c->name, (unsigned long long) grown, format_duration(span, usec));
        else
                conditions_clear(l, key);
}

/* Each growth is an event. */
static void add_events(
                WatchCounter *c, uint64_t grown, unsigned limit, const char *code, uint64_t now) {
        if (grown > 0 && !c->events)
                c->events = calloc(1, sizeof(*c->events));
        if (!c->events)
                return;
        c->limit = limit;
        c->code = code;
        for (uint64_t i = 0; i < MIN(grown, (uint64_t) WATCH_EVENTS); i++)
                watch_events_add(c->events, now, "");
}

static void judge_events(Conditions *l, const WatchCounter *c, uint64_t now) {
        unsigned n = watch_events_count(c->events, now);
        _cleanup_free_ char *key = strf("events:%s", c->name);

        if (!key)
                return;
        if (n < c->limit)
                conditions_clear(l, key);
        else
                (void) conditions_set(l, key, c->code, now, "%s: %u times in 10 min", c->name, n);
}

void watch_counters_gpus(WatchCounters *w, json_object *gpus, uint64_t now) {
        size_t n = json_array_length(gpus);

        for (size_t i = 0; i < n; i++) {
                json_object *gpu = json_object_array_get_idx(gpus, i);
                const char *uuid = json_get_string(gpu, "uuid");
                int64_t errors = json_get_int(gpu, "ecc_volatile", -1);
                _cleanup_free_ char *name = strf("uncorrectable ECC errors of %s", strempty(uuid));
                WatchCounter *c;
                uint64_t usec;
                bool fresh;

                if (!uuid || errors < 0 || !name)
                        continue;
                c = get(w, name, &fresh);
                if (c)
                        add_events(c, growth(c, fresh, (uint64_t) errors, now, &usec), 1,
                                        "gpu.ecc-errors", now);
        }
}

void watch_counters_line(WatchCounters *w, Conditions *l, const char *line, uint64_t now) {
        const char *p = line + 2;
        uint64_t per_minute, value, grown, usec;
        WatchCounter *c;
        bool fresh;

        if ((line[0] != 'E' && line[0] != 'L') || line[1] != ' ')
                return;
        if (parse_digits_until(&p, 10, ' ', &per_minute) < 0 ||
                        parse_digits_until(&p, 10, ' ', &value) < 0)
                return;
        c = get(w, p, &fresh);
        if (!c)
                return;
        grown = growth(c, fresh, value, now, &usec);
        if (line[0] == 'E')
                judge_error(l, c, grown, usec, per_minute, now);
        else
                add_events(c, grown, FLAPS_MAX, "watch.link-flaps", now);
}

/* --- The child ------------------------------------------------------------------------------- */

static void print(char letter, uint64_t per_minute, const char *path, const char *name) {
        _cleanup_free_ char *text = NULL;
        uint64_t value;

        if (path && name && read_line_file(path, &text) >= 0 && parse_number(text, 10, &value) >= 0)
                printf("%c %llu %llu %s\n", letter, (unsigned long long) per_minute,
                                (unsigned long long) value, name);
}

static void print_port(const char *device, const char *port) {
        _cleanup_free_ char *folder = fb_pathf("/sys/class/infiniband/%s/ports/%s/counters", device,
                                            port),
                            *down = strf("%s/link_downed", strempty(folder)),
                            *name = strf("link of %s port %s", device, port),
                            *short_name = strf("%s port %s", device, port);

        print('L', 0, down, name);
        for (size_t i = 0; i < ELEMENTSOF(ports); i++) {
                _cleanup_free_ char *path = strf("%s/%s", strempty(folder), ports[i].file),
                                    *counter = strf("%s %s", strempty(short_name), ports[i].file);

                print('E', ports[i].per_minute, path, counter);
        }
}

static void print_device(const char *device) {
        _cleanup_free_ char *folder = strf("/sys/class/infiniband/%s/ports", device);
        _cleanup_strv_free_ char **names = NULL;

        if (!folder || fb_list(folder, &names) < 0)
                return;
        STRV_FOREACH (port, names)
                print_port(device, *port);
}

/* Interfaces with hardware behind them; those of containers come and go. */
static void print_interface(const char *name) {
        _cleanup_free_ char *device = fb_pathf("/sys/class/net/%s/device", name),
                            *path = fb_pathf("/sys/class/net/%s/carrier_down_count", name),
                            *link = strf("link of %s", name);

        if (device && access(device, F_OK) >= 0)
                print('L', 0, path, link);
}

static _noreturn_ void reader_main(int fd) {
        _cleanup_strv_free_ char **devices = NULL, **interfaces = NULL;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (dup2(fd, STDOUT_FILENO) < 0)
                _exit(1);
        if (fb_list("/sys/class/infiniband", &devices) >= 0)
                STRV_FOREACH (device, devices)
                        print_device(*device);
        if (fb_list("/sys/class/net", &interfaces) >= 0)
                STRV_FOREACH (name, interfaces)
                        print_interface(*name);
        _exit(fflush(stdout) != 0);
}

/* --- The parent ------------------------------------------------------------------------------ */

static int on_reader_end(sd_event_source *s, const siginfo_t *si, void *userdata) {
        (void) s, (void) si, (void) userdata;
        return 0; /* what it has read is taken at the next look */
}

static int start_reader(WatchCounters *w, sd_event *event, uint64_t now) {
        _cleanup_(close_pairp) int fds[2] = { -EBADF, -EBADF };
        pid_t pid;
        int r;

        if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
                return -errno;
        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0)
                reader_main(fds[1]);
        r = sd_event_add_child(event, &w->reader, pid, WEXITED, on_reader_end, NULL);
        if (r < 0) {
                (void) kill(pid, SIGKILL);
                (void) waitpid(pid, NULL, 0); /* it has hardly begun */
                return r;
        }
        w->fd = TAKE_FD(fds[0]);
        w->started_usec = now;
        return 0;
}

/* True once it has said all. */
static bool take_output(WatchCounters *w) {
        for (;;) {
                char buffer[4096], *grown;
                ssize_t n = read(w->fd, buffer, sizeof(buffer));

                if (n < 0)
                        return errno != EAGAIN && errno != EINTR;
                if (n == 0)
                        return true;
                grown = realloc(w->text, w->size + (size_t) n + 1);
                if (!grown)
                        return true;
                memcpy(grown + w->size, buffer, (size_t) n);
                w->text = grown;
                w->size += (size_t) n;
                w->text[w->size] = '\0';
        }
}

static void follow_reader(WatchCounters *w, Conditions *l, uint64_t now) {
        char *line, *rest;

        if (!take_output(w)) {
                if (now >= w->started_usec + READ_USEC)
                        (void) conditions_set(l, "counters", "watch.nic", now,
                                        "counters of RDMA or network devices cannot be read: a driver hangs");
                return;
        }
        conditions_clear(l, "counters");
        rest = w->text;
        while (rest && (line = strsep(&rest, "\n")))
                watch_counters_line(w, l, line, w->started_usec);
        drop_reader(w);
}

void watch_counters_look(WatchCounters *w, sd_event *event, Conditions *l, uint64_t every_usec,
                uint64_t now) {
        if (w->reader)
                follow_reader(w, l, now);
        for (size_t i = 0; i < w->n; i++)
                if (w->items[i].events)
                        judge_events(l, &w->items[i], now);
        if (w->reader || now < w->due_usec)
                return;
        w->due_usec = now + every_usec;
        (void) start_reader(w, event, now);
}
