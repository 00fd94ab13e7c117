/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstbootctl status: the node and its steps in one look; with --wait, until the node has
 * settled. */

#include "ctl/ctl.h"
#include "shared/log.h"
#include "contract/paths.h"

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

static void print_duration(FILE *f, uint64_t usec) {
        if (usec >= 600 * USEC_PER_SEC)
                fprintf(f, "%6.1f min", (double) usec / USEC_PER_SEC / 60);
        else
                fprintf(f, "%8.1f s", (double) usec / USEC_PER_SEC);
}

/* What a waiting step waits for: requirements that are not at their end yet. */
static char *waits_for(json_object *steps, json_object *step) {
        _cleanup_strv_free_ char **l = NULL;
        _cleanup_free_ char *names = NULL;
        static const char *const keys[] = { "requires", "after" };

        for (size_t k = 0; k < ELEMENTSOF(keys); k++) {
                json_object *
                        requires
                = json_get(step, keys[k]);

                for (size_t i = 0; requires && i < json_object_array_length(requires); i++) {
                        const char *name = json_object_get_string(
                                        json_object_array_get_idx(requires, i));

                        for (size_t j = 0; j < json_object_array_length(steps); j++) {
                                json_object *other = json_object_array_get_idx(steps, j);
                                const char *s = json_get_string(other, "status");

                                if (streq_ptr(json_get_string(other, "name"), name) && s &&
                                                (streq(s, "waiting") || streq(s, "running") ||
                                                                streq(s, "retrying")) &&
                                                strv_extend(&l, name) < 0)
                                        return NULL;
                        }
                }
        }
        names = strv_join(l, ", ");
        return names ? strf("for %s", names[0] ? names : "the bus") : NULL;
}

static void print_step(FILE *f, const Ctl *c, json_object *steps, json_object *step, int width) {
        const char *status = json_get_string(step, "status"), *name = json_get_string(step, "name");
        json_object *result = json_get(step, "result"), *attempts = json_get(step, "attempts");
        const char *code = json_get_string(result, "code"),
                   *message = json_get_string(result, "message");
        const Look *look = look_of(status);
        size_t n = attempts ? json_object_array_length(attempts) : 0;

        fprintf(f, "  %s%s%s %-*s  %s%-8s%s ", c->color ? look->color : "",
                        c->utf8 ? look->mark : look->ascii, c->color ? "\033[0m" : "", width,
                        strempty(name), c->color ? look->color : "", strempty(status),
                        c->color ? "\033[0m" : "");
        if (n > 0)
                print_duration(f, step_duration(step));
        else
                fprintf(f, "%10s", "");
        if (n > 1)
                fprintf(f, "  %zu tries", n);
        if (code)
                fprintf(f, "  %s%s%s", c->color ? "\033[1m" : "", code, c->color ? "\033[0m" : "");
        if (streq_ptr(status, "waiting")) {
                _cleanup_free_ char *what = waits_for(steps, step);
                fprintf(f, "  %s", strempty(what));
        } else if (message)
                fprintf(f, "  %s", message);
        fputc('\n', f);
}

char *status_table(const Ctl *c, json_object *status) {
        json_object *steps = json_get(status, "steps"), *errors = json_get(status, "errors");
        const char *node = json_get_string(status, "node"), *code = json_get_string(status, "code"),
                   *message = json_get_string(status, "message");
        uint64_t started = (uint64_t) json_get_int(status, "started_usec", 0),
                 settled = (uint64_t) json_get_int(status, "settled_usec", 0);
        const Look *look = look_of(streq_ptr(node, "ready")      ? "done"
                                   : streq_ptr(node, "starting") ? "running"
                                                                 : node);
        size_t n = json_object_is_type(steps, json_type_array) ? json_object_array_length(steps)
                                                               : 0;
        char *text = NULL;
        size_t size;
        int width = 8;
        FILE *f = open_memstream(&text, &size);

        if (!f)
                return NULL;
        fprintf(f, "%sNode is %s%s", c->color ? look->color : "", strempty(node),
                        c->color ? "\033[0m" : "");
        if (started > 0)
                fprintf(f, " %s %.1f s", settled > started ? "after" : "since",
                                (double) ((settled > started ? settled : ctl_now_usec()) -
                                                started) /
                                                USEC_PER_SEC);
        fprintf(f, ", instance %s, boot %lld\n",
                        json_get_string(status, "instance_id")
                                        ? json_get_string(status, "instance_id")
                                        : "unknown",
                        (long long) json_get_int(status, "boots", 0));
        if (code)
                fprintf(f, "  %s  %s\n", code, errors ? "" : strempty(message));
        for (size_t i = 0; errors && i < json_object_array_length(errors); i++)
                fprintf(f, "    %s\n",
                                json_object_get_string(json_object_array_get_idx(errors, i)));

        for (size_t i = 0; i < n; i++)
                width = MAX(width, (int) strlen(strempty(json_get_string(
                                                   json_object_array_get_idx(steps, i), "name"))));
        if (n > 0)
                fputc('\n', f);
        for (size_t i = 0; i < n; i++)
                print_step(f, c, steps, json_object_array_get_idx(steps, i), width);
        json_object *warnings = json_get(status, "warnings");
        for (size_t i = 0; warnings && i < json_object_array_length(warnings); i++)
                fprintf(f, "\nwarning: %s\n",
                                json_object_get_string(json_object_array_get_idx(warnings, i)));
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
                puts(json_object_to_json_string_ext(
                                status, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
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

/* Until the node has settled; where the bus is not there (yet), the status file is looked at. */
static int wait_settled(Ctl *c, json_object **ret) {
        uint64_t deadline = c->timeout_usec ? ctl_now_usec() + c->timeout_usec : UINT64_MAX;
        const sd_bus *matched = NULL;

        for (;;) {
                _cleanup_json_ json_object *status = NULL;
                uint64_t now = ctl_now_usec();
                bool settled = false;

                if (ctl_bus(c) >= 0 && matched != c->bus) {
                        if (sd_bus_match_signal(c->bus, NULL, DBUS_NAME, DBUS_PATH, DBUS_MANAGER,
                                            NULL, on_change, NULL) >= 0)
                                matched = c->bus;
                }
                if (ctl_status(c, &status) >= 0) {
                        int code = ctl_exit_code(status);

                        settled = code != EXIT_NODE_GOING && code != EXIT_UNKNOWN;
                        json_putp(ret);
                        *ret = TAKE_PTR(status);
                }
                if (settled || now >= deadline)
                        return 0;
                uint64_t wait = MIN(deadline - now, USEC_PER_SEC);
                if (c->bus && matched == c->bus && sd_bus_is_open(c->bus) > 0) {
                        (void) sd_bus_wait(c->bus, wait);
                        while (sd_bus_process(c->bus, NULL) > 0)
                                ;
                } else
                        usleep((useconds_t) MIN(wait, 200 * USEC_PER_MSEC));
        }
}

int verb_status(Ctl *c, int argc, char *argv[]) {
        _cleanup_json_ json_object *status = NULL;

        (void) argv;
        if (argc > 0)
                return EXIT_USAGE;
        if (c->wait)
                (void) wait_settled(c, &status);
        else
                (void) ctl_status(c, &status);
        if (!status) {
                log_error("firstbootd does not run and left no status; see systemctl status firstbootd");
                return EXIT_UNKNOWN;
        }
        return print_status(c, status) < 0 ? EXIT_UNKNOWN : ctl_exit_code(status);
}
