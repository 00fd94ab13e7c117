/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstbootctl status: the node and its steps in one look; with --wait, until the node has
 * settled. */

#include "ctl/ctl.h"
#include "contract/paths.h"
#include "contract/status.h"
#include "shared/duration.h"
#include "shared/log.h"
#include "shared/terminal.h"
#include "shared/time-util.h"

typedef struct Look {
        const char *status, *mark, *ascii, *color;
} Look;

static const Look looks[] = {
        { "done", "●", "+", "\033[32m" },
        { "skipped", "○", "o", "\033[90m" },
        { "degraded", "◐", "!", "\033[33m" },
        { "failed", "✗", "x", "\033[31m" },
        { "blocked", "✗", "-", "\033[31m" },
        { "running", "▶", ">", "\033[36m" },
        { "retrying", "↻", "~", "\033[33m" },
        { "waiting", "·", ".", "\033[90m" },
};

static const Look *look_of(const char *status) {
        for (size_t i = 0; i < ELEMENTSOF(looks); i++)
                if (streq_ptr(looks[i].status, status))
                        return &looks[i];
        return &looks[ELEMENTSOF(looks) - 1];
}

/* What a waiting step waits for: those that are not at their end yet. */
static char *waits_for(json_object *steps, json_object *step) {
        _cleanup_strv_free_ char **names = NULL, **l = NULL;
        _cleanup_free_ char *text = NULL;

        if (step_waits_for(step, &names) < 0)
                return NULL;
        STRV_FOREACH (name, names) {
                const char *status = json_get_string(steps_find(steps, *name), "status");

                if (!status || step_status_is_final(step_status_from_string(status)))
                        continue;
                if (strv_extend(&l, *name) < 0)
                        return NULL;
        }

        text = strv_join(l, ", ");
        return text ? strf("for %s", text[0] ? text : "the bus") : NULL;
}

/* Switches to a color, or back with NULL. */
static const char *color(const Ctl *c, const char *code) {
        if (!c->color)
                return "";
        return code ? code : "\033[0m";
}

/* What the step waits for, or says, and when it is tried again. */
static void print_remark(FILE *f, json_object *steps, json_object *step) {
        const char *message = json_get_string(json_get(step, "result"), "message");
        _cleanup_free_ char *next = next_try(step), *what = NULL;

        if (streq_ptr(json_get_string(step, "status"), "waiting")) {
                what = next ? strdup("for its turn") : waits_for(steps, step);
                fprintf(f, "  %s", strempty(what));
        } else if (message)
                fprintf(f, "  %s", message);
        if (next)
                fprintf(f, " (next try %s)", next);
}

static void print_step(FILE *f, const Ctl *c, json_object *steps, json_object *step, int width) {
        const char *status = json_get_string(step, "status");
        json_object *result = json_get(step, "result"), *attempts = json_get(step, "attempts");
        const char *code = json_get_string(result, "code"), *name = json_get_string(step, "name");
        int64_t slow = json_get_int(step, "slow_tries", 0);
        const Look *look = look_of(status);
        size_t n = attempts ? json_object_array_length(attempts) : 0;
        char took[FORMAT_DURATION_MAX];

        fprintf(f, "  %s%s%s %-*s  %s%-8s%s ", color(c, look->color),
                        c->utf8 ? look->mark : look->ascii, color(c, NULL), width, strempty(name),
                        color(c, look->color), strempty(status), color(c, NULL));
        fprintf(f, "%10s", n > 0 ? format_duration(took, step_duration(step)) : "");
        if (n > 1)
                fprintf(f, "  %zu tries", n + (size_t) (slow > 1 ? slow - 1 : 0));
        if (code)
                fprintf(f, "  %s%s%s", color(c, "\033[1m"), code, color(c, NULL));

        print_remark(f, steps, step);
        fputc('\n', f);
}

/* "Node is ready after 12.3 s, instance i-1, boot 2", and below what keeps the whole node back. */
static void print_node(FILE *f, const Ctl *c, json_object *status) {
        const char *node = json_get_string(status, "node"),
                   *instance = json_get_string(status, "instance_id"),
                   *code = json_get_string(status, "code"),
                   *message = json_get_string(status, "message");
        json_object *errors = json_get(status, "errors");
        _cleanup_free_ char *next = next_try(status);
        uint64_t started = (uint64_t) json_get_int(status, "started_usec", 0),
                 settled = (uint64_t) json_get_int(status, "settled_usec", 0);
        const Look *look = look_of(streq_ptr(node, "ready")      ? "done"
                                   : streq_ptr(node, "starting") ? "running"
                                                                 : node);

        fprintf(f, "%sNode is %s%s", color(c, look->color), strempty(node), color(c, NULL));
        if (started > 0) {
                char took[FORMAT_DURATION_MAX];
                uint64_t to = settled > started ? settled : now_usec();

                fprintf(f, " %s %s", settled > started ? "after" : "since",
                                format_duration(took, to - started));
        }
        fprintf(f, ", instance %s, boot %lld\n", instance ? instance : "unknown",
                        (long long) json_get_int(status, "boots", 0));

        if (code)
                fprintf(f, "  %s  %s%s%s\n", code, errors ? "" : strempty(message),
                                next ? "next try " : "", strempty(next));
        for (size_t i = 0; errors && i < json_object_array_length(errors); i++)
                fprintf(f, "    %s\n",
                                json_object_get_string(json_object_array_get_idx(errors, i)));
}

static int name_width(json_object *step) {
        return (int) strlen(strempty(json_get_string(step, "name")));
}

static void print_steps(FILE *f, const Ctl *c, json_object *status) {
        size_t n;
        json_object *steps = status_steps(status, &n);
        int width = 8;

        if (n == 0)
                return;
        for (size_t i = 0; i < n; i++)
                width = MAX(width, name_width(json_object_array_get_idx(steps, i)));

        fputc('\n', f);
        for (size_t i = 0; i < n; i++)
                print_step(f, c, steps, json_object_array_get_idx(steps, i), width);
}

char *status_table(const Ctl *c, json_object *status) {
        json_object *warnings = json_get(status, "warnings");
        _cleanup_free_ char *old = ctl_old_status(c);
        const char *node = json_get_string(status, "node");
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        if (!f)
                return NULL;
        print_node(f, c, status);
        print_steps(f, c, status);
        for (size_t i = 0; warnings && i < json_object_array_length(warnings); i++)
                fprintf(f, "\nwarning: %s\n",
                                json_object_get_string(json_object_array_get_idx(warnings, i)));
        if (old)
                fprintf(f, "\nwarning: %s\n", old);
        if (streq_ptr(node, "failed") || streq_ptr(node, "degraded"))
                fprintf(f, "\nWhat to do: firstbootctl explain\n");

        if (fclose(f) != 0) {
                free(text);
                return NULL;
        }
        return text;
}

static int print_status(const Ctl *c, json_object *status) {
        _cleanup_free_ char *table = NULL;

        if (c->json) {
                json_print(status, 0);
                return 0;
        }
        table = status_table(c, status);
        if (!table)
                return -ENOMEM;
        fputs(table, stdout);
        return 0;
}

static int on_change(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        (void) m, (void) userdata, (void) error;
        return 0; /* that it came is enough: sd_bus_wait() returns */
}

/* The bus on which firstbootd's signals come; NULL where it is not there (yet). matched: the one on
 * which they were asked for before. */
static sd_bus *listen(Ctl *c, const sd_bus *matched) {
        if (ctl_bus(c) < 0)
                return NULL;
        if (matched == c->bus)
                return c->bus;
        if (sd_bus_match_signal(c->bus, NULL, DBUS_NAME, DBUS_PATH, DBUS_MANAGER, NULL, on_change,
                            NULL) < 0)
                return NULL;
        return c->bus;
}

/* Until something changes, or the time is over. */
static void wait_change(sd_bus *bus, uint64_t usec) {
        if (!bus || sd_bus_is_open(bus) <= 0) {
                usleep((useconds_t) MIN(usec, 200 * USEC_PER_MSEC));
                return;
        }
        (void) sd_bus_wait(bus, usec);
        while (sd_bus_process(bus, NULL) > 0)
                ;
}

static bool is_settled(json_object *status) {
        int code = ctl_exit_code(status);

        return code != EXIT_NODE_GOING && code != EXIT_UNKNOWN;
}

/* What a look is for: states, tries, reasons. Times go on by themselves. NULL on out of memory; the
 * caller frees it. */
static char *essence(json_object *status) {
        size_t n;
        json_object *steps = status_steps(status, &n);
        _cleanup_strv_free_ char **l = NULL;

        if (strv_extendf(&l, "%s %s", strempty(json_get_string(status, "node")),
                            strempty(json_get_string(status, "code"))) < 0)
                return NULL;
        for (size_t i = 0; i < n; i++) {
                json_object *step = json_object_array_get_idx(steps, i),
                            *attempts = json_get(step, "attempts");

                if (strv_extendf(&l, "%s %s %zu %s", strempty(json_get_string(step, "name")),
                                    strempty(json_get_string(step, "status")),
                                    attempts ? json_object_array_length(attempts) : 0,
                                    strempty(json_get_string(json_get(step, "result"), "code"))) <
                                0)
                        return NULL;
        }
        return strv_join(l, "\n");
}

/* A terminal shows the node as it is, twice a second; a dumb one, a file or a pipe gets a table
 * (or, as JSON, a document) for each change. */
static int show_live(const Ctl *c, json_object *status, char **last) {
        bool terminal = terminal_is_capable(STDOUT_FILENO) && !c->json;
        _cleanup_free_ char *now = essence(status), *table = status_table(c, status);

        if (!now || !table)
                return -ENOMEM;
        if (!terminal && streq_ptr(*last, now))
                return 0;
        if (terminal)
                printf("\033[H\033[J%s", table);
        else if (c->json)
                puts(json_object_to_json_string_ext(
                                status, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
        else
                printf("%s%s", *last ? "\n" : "", table);
        free(*last);
        *last = TAKE_PTR(now);
        return fflush(stdout) == 0 ? 0 : -EIO;
}

/* Shows the node until Ctrl-C, --timeout, or with --wait until it has settled. */
static int watch_live(Ctl *c, json_object **ret) {
        uint64_t deadline = c->timeout_usec ? now_usec() + c->timeout_usec : UINT64_MAX;
        _cleanup_free_ char *last = NULL;
        sd_bus *bus = NULL;
        int r;

        for (;;) {
                json_object *status = NULL;
                uint64_t now = now_usec();

                bus = listen(c, bus);
                if (ctl_status(c, &status) >= 0) {
                        json_putp(ret);
                        *ret = status;
                        r = show_live(c, status, &last);
                        if (r < 0 || (c->wait && is_settled(status)))
                                return r;
                }
                if (now >= deadline)
                        return 0;
                wait_change(bus == c->bus ? bus : NULL, MIN(deadline - now, USEC_PER_SEC / 2));
        }
}

/* Until the node has settled; where the bus is not there (yet), the status file is looked at. */
static void wait_settled(Ctl *c, json_object **ret) {
        uint64_t deadline = c->timeout_usec ? now_usec() + c->timeout_usec : UINT64_MAX;
        sd_bus *bus = NULL;

        for (;;) {
                json_object *status = NULL;
                uint64_t now = now_usec();

                bus = listen(c, bus);
                if (ctl_status(c, &status) >= 0) {
                        json_putp(ret);
                        *ret = status;
                        if (is_settled(status))
                                return;
                }
                if (now >= deadline)
                        return;
                /* The call may have found the bus gone. */
                wait_change(bus == c->bus ? bus : NULL, MIN(deadline - now, USEC_PER_SEC));
        }
}

int verb_status(Ctl *c, int argc, char *argv[]) {
        _cleanup_json_ json_object *status = NULL;

        (void) argv;
        if (argc > 0)
                return EXIT_USAGE;
        if (c->watch && watch_live(c, &status) < 0)
                return EXIT_FAILURE;
        if (c->wait && !c->watch)
                wait_settled(c, &status);
        if (!status)
                (void) ctl_status(c, &status);
        if (!status)
                return ctl_log_no_status(c, "");
        if (!c->watch && print_status(c, status) < 0)
                return EXIT_UNKNOWN;
        if (c->json && !c->watch)
                ctl_warn_old_status(c);
        return ctl_exit_code(status);
}
