/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* On a terminal: finished stages become lines that stay, and below them a short list of what runs
 * and what waits is wiped and drawn again, at most ten times a second. Nothing is ever worth an
 * error: a stage that there is no memory for is not shown. */

#include "common/progress.h"

#include "shared/duration.h"
#include "shared/log.h"
#include "shared/size.h"
#include "shared/spawn.h"
#include "shared/strv.h"
#include "shared/terminal.h"
#include "shared/time-util.h"

#include <sys/ioctl.h>

#define REDRAW_USEC (100 * USEC_PER_MSEC)
#define WAITING_SHOWN 3
#define BAR_WIDTH 12
#define ID_WIDTH 26

typedef struct Item {
        char *id;
        ProgressState state;
        uint64_t started, ended;
        uint64_t done, total; /* bytes */
        uint64_t bytes_from;  /* when the first byte came: the rate counts from there */
        char *detail;
        bool printed;
} Item;

struct Progress {
        ProgressMode mode;
        Item *items;
        size_t n_items;
        unsigned live_lines; /* below the last permanent line: a redraw wipes them first */
        uint64_t drawn;
        pid_t owner; /* a forked child must not draw */
};

static const char *const state_names[] = {
        [PROGRESS_WAITING] = "waiting",
        [PROGRESS_RUNNING] = "running",
        [PROGRESS_CACHED] = "cached",
        [PROGRESS_DONE] = "done",
        [PROGRESS_FAILED] = "failed",
};

int progress_mode_from_string(const char *s, ProgressMode *ret) {
        static const struct {
                const char *name;
                ProgressMode mode;
        } names[] = {
                { "auto", PROGRESS_AUTO },
                { "plain", PROGRESS_PLAIN },
                { "json", PROGRESS_JSON },
                { "none", PROGRESS_NONE },
        };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (streq(s, names[i].name)) {
                        *ret = names[i].mode;
                        return 0;
                }
        return -EINVAL;
}

int progress_state_from_string(const char *s, ProgressState *ret) {
        for (size_t i = 0; i < ELEMENTSOF(state_names); i++)
                if (streq(s, state_names[i])) {
                        *ret = (ProgressState) i;
                        return 0;
                }
        return -EINVAL;
}

static Item *find(Progress *p, const char *id) {
        for (size_t i = 0; i < p->n_items; i++)
                if (streq(p->items[i].id, id))
                        return p->items + i;
        return NULL;
}

static bool ours(Progress *p) {
        return p && p->mode != PROGRESS_NONE && p->owner == getpid();
}

static void format_bar(char bar[BAR_WIDTH + 1], uint64_t done, uint64_t total) {
        size_t full = (size_t) ((double) MIN(done, total) / (double) total * BAR_WIDTH);

        memset(bar, '.', BAR_WIDTH);
        memset(bar, '#', full);
        bar[BAR_WIDTH] = '\0';
}

/* "[######......] 12.0/80.0 MiB 6.1 MiB/s 0:11 left": fits, behind a name of ID_WIDTH, into 80
 * columns. */
static void format_transfer(char *text, size_t size, const Item *i, uint64_t now) {
        double seconds = (double) (now - i->bytes_from) / USEC_PER_SEC;
        double per_second = seconds > 0.2 ? (double) i->done / seconds : 0;
        char done[FORMAT_BYTES_MAX], total[FORMAT_BYTES_MAX], rate[FORMAT_BYTES_MAX];
        char bar[BAR_WIDTH + 1];
        unsigned left;
        int n;

        format_bytes(done, i->done);
        format_bytes(rate, (uint64_t) per_second);
        if (i->total == 0) {
                snprintf(text, size, " %s %s/s", done, rate);
                return;
        }

        format_bar(bar, i->done, i->total);
        format_bytes(total, i->total);
        if (streq(strchr(done, ' '), strchr(total, ' ')))
                *strchr(done, ' ') = '\0'; /* the unit once */
        n = snprintf(text, size, " [%s] %s/%s", bar, done, total);
        if (per_second <= 0 || i->done >= i->total || n < 0 || (size_t) n >= size)
                return;

        left = (unsigned) ((double) (i->total - i->done) / per_second);
        snprintf(text + n, size - (size_t) n, " %s/s %u:%02u left", rate, left / 60, left % 60);
}

static void wipe(Progress *p) {
        for (; p->live_lines > 0; p->live_lines--)
                fputs("\033[1A\033[2K", stderr);
}

static void live_line(Progress *p, unsigned columns, const char *line) {
        size_t length = strlen(line);

        while (length > columns - 1 || (length > 0 && (line[length] & 0xC0) == 0x80))
                length--; /* never wraps, never cuts a UTF-8 character */
        fprintf(stderr, "%.*s\n", (int) length, line);
        p->live_lines++;
}

static void finished_line(Item *i) {
        char took[FORMAT_DURATION_MAX];
        bool failed = i->state == PROGRESS_FAILED;

        i->printed = true;
        if (i->state == PROGRESS_CACHED)
                fprintf(stderr, "  %-*s   cached\n", ID_WIDTH, i->id);
        else
                fprintf(stderr, "%s %-*s %8s%s\n", failed ? "!" : "*", ID_WIDTH, i->id,
                                format_duration(took, i->ended - i->started),
                                failed ? "  FAILED" : "");
}

static void running_line(Progress *p, unsigned columns, const Item *i, uint64_t now) {
        _cleanup_free_ char *line = NULL;
        char transfer[160], spent[FORMAT_DURATION_MAX];

        if (i->done > 0 || i->total > 0)
                format_transfer(transfer, sizeof(transfer), i, now);
        else
                snprintf(transfer, sizeof(transfer), " %8s",
                                format_duration(spent, now - i->started));
        line = strf("> %-*s%s%s%s", ID_WIDTH, i->id, transfer, i->detail ? "  " : "",
                        strempty(i->detail));
        if (line)
                live_line(p, columns, line);
}

static void waiting_line(Progress *p, unsigned columns, const Item *i) {
        _cleanup_free_ char *line = strf("  %s", i->id);

        if (line)
                live_line(p, columns, line);
}

static unsigned terminal_columns(void) {
        struct winsize w;

        return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) >= 0 && w.ws_col > 20 ? w.ws_col : 80;
}

static void draw(Progress *p, bool force) {
        uint64_t now = now_usec();
        unsigned columns, waiting = 0;

        if (p->mode != PROGRESS_LIVE || (!force && now - p->drawn < REDRAW_USEC))
                return;
        p->drawn = now;
        columns = terminal_columns();
        wipe(p);

        for (size_t n = 0; n < p->n_items; n++)
                if (p->items[n].state >= PROGRESS_CACHED && !p->items[n].printed)
                        finished_line(p->items + n);
        for (size_t n = 0; n < p->n_items; n++) {
                const Item *i = p->items + n;

                if (i->state == PROGRESS_RUNNING)
                        running_line(p, columns, i, now);
                else if (i->state == PROGRESS_WAITING && waiting++ < WAITING_SHOWN)
                        waiting_line(p, columns, i);
        }
        if (waiting > WAITING_SHOWN) {
                char more[64];

                snprintf(more, sizeof(more), "  … and %u more", waiting - WAITING_SHOWN);
                live_line(p, columns, more);
        }
        fflush(stderr);
}

static void tick(void *userdata) {
        Progress *p = userdata;

        if (ours(p))
                draw(p, false);
}

static void write_log(int level, const char *line, void *userdata) {
        Progress *p = userdata;

        progress_message(p, level, line);
        if (p->mode == PROGRESS_LIVE && ours(p))
                wipe(p);
        fprintf(stderr, "%s\n", line);
        if (ours(p))
                draw(p, true);
}

int progress_new(ProgressMode mode, Progress **ret) {
        Progress *p = calloc(1, sizeof(*p));

        if (!p)
                return -ENOMEM;
        if (mode == PROGRESS_AUTO)
                mode = terminal_is_capable(STDERR_FILENO) ? PROGRESS_LIVE : PROGRESS_PLAIN;
        p->mode = mode;
        p->owner = getpid();
        if (mode != PROGRESS_NONE) {
                log_set_writer(write_log, p);
                spawn_set_tick(tick, p);
        }
        *ret = p;
        return 0;
}

Progress *progress_free(Progress *p) {
        if (!p)
                return NULL;
        if (ours(p))
                draw(p, true);
        log_set_writer(NULL, NULL);
        spawn_set_tick(NULL, NULL);
        for (size_t i = 0; i < p->n_items; i++) {
                free(p->items[i].id);
                free(p->items[i].detail);
        }
        free(p->items);
        free(p);
        return NULL;
}

void progress_add(Progress *p, const char *id) {
        Item *grown;
        char *copy;

        if (!ours(p) || find(p, id))
                return;
        grown = reallocarray(p->items, p->n_items + 1, sizeof(Item));
        if (!grown)
                return;
        p->items = grown;
        copy = strdup(id);
        if (!copy)
                return;
        p->items[p->n_items++] = (Item) { .id = copy };
}

static void state_event(Progress *p, const Item *i) {
        json_object *o = json_object_new_object();

        (void) json_set_fields(o, JSON_STRING("stage", i->id),
                        JSON_STRING("state", state_names[i->state]));
        if (o && i->state >= PROGRESS_DONE)
                (void) json_set_int(o, "usec", (int64_t) (i->ended - i->started));
        progress_event(p, "stage", o);
}

void progress_set(Progress *p, const char *id, ProgressState state) {
        Item *i;

        if (!ours(p))
                return;
        progress_add(p, id);
        i = find(p, id);
        if (!i || i->state == state)
                return;
        if (state == PROGRESS_RUNNING || i->started == 0)
                i->started = now_usec();
        i->ended = now_usec();
        i->state = state;

        if (p->mode == PROGRESS_JSON)
                state_event(p, i);
        else if (p->mode == PROGRESS_PLAIN && state == PROGRESS_RUNNING)
                fprintf(stderr, "> %s\n", id);
        else if (p->mode == PROGRESS_PLAIN && state >= PROGRESS_CACHED)
                finished_line(i);
        draw(p, true);
}

void progress_bytes(Progress *p, const char *id, uint64_t done, uint64_t total) {
        uint64_t now = now_usec();
        Item *i;

        if (!ours(p) || !(i = find(p, id)))
                return;
        if (i->done == 0 && i->bytes_from == 0)
                i->bytes_from = now;
        i->done = done;
        i->total = total;
        if (p->mode == PROGRESS_JSON && now - p->drawn >= 5 * REDRAW_USEC) {
                json_object *o = json_object_new_object();

                p->drawn = now;
                (void) json_set_fields(o, JSON_STRING("stage", id), JSON_INT("done", done),
                                JSON_INT("total", total));
                progress_event(p, "bytes", o);
        }
        draw(p, false);
}

void progress_detail(Progress *p, const char *id, const char *text) {
        Item *i;

        if (!ours(p) || p->mode != PROGRESS_LIVE || !(i = find(p, id)))
                return;
        free(i->detail);
        i->detail = strdup(text);
        for (char *c = i->detail; c && *c; c++)
                if ((unsigned char) *c < ' ' || *c == 0x7f)
                        *c = ' '; /* a command's escape sequences are not ours to repeat */
        draw(p, false);
}

void progress_event(Progress *p, const char *event, json_object *fields) {
        _cleanup_json_ json_object *o = fields;

        if (!o || !ours(p) || p->mode != PROGRESS_JSON)
                return;
        if (json_set_string(o, "event", event) < 0)
                return;
        puts(json_line(o));
        fflush(stdout);
}

void progress_message(Progress *p, int level, const char *line) {
        json_object *o;

        if (!ours(p) || p->mode != PROGRESS_JSON)
                return;
        o = json_object_new_object();
        (void) json_set_fields(o, JSON_STRING("message", line), JSON_INT("level", level));
        progress_event(p, "message", o);
}
