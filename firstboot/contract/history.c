/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Entries and their slots, and what is told of them. Reading and writing is history-file.c's. */

#include "contract/history.h"
#include "shared/crc32.h"
#include "shared/parse-number.h"

#include <math.h>

const HistoryFigureInfo history_figure_info[_HISTORY_FIGURES] = {
        [HISTORY_BUSBW] = { "busbw", "GB/s", "bus bandwidth of all GPUs", true },
        [HISTORY_H2D] = { "h2d", "MB/s", "to the slowest GPU", true },
        [HISTORY_D2H] = { "d2h", "MB/s", "from the slowest GPU", true },
        [HISTORY_ECC] = { "ecc", "", "uncorrectable ECC errors", false },
        [HISTORY_LINKS] = { "nvlinks", "", "active NVLinks, fewest of a GPU", false },
        [HISTORY_PORTS] = { "ports", "", "RDMA ports", false },
        [HISTORY_NFS] = { "nfs", "ms", "slowest mount", false },
        [HISTORY_SCRATCH] = { "scratch", "ms", "a small file to scratch", false },
};

static void set_figure(HistoryEntry *e, HistoryFigure f, double value) {
        if (!isfinite(value))
                return;
        e->known[f] = true;
        e->figures[f] = value;
}

static bool number(json_object *o, const char *key, double *ret) {
        json_object *v = json_get(o, key);

        if (!json_object_is_type(v, json_type_int) && !json_object_is_type(v, json_type_double))
                return false;
        *ret = json_object_get_double(v);
        return true;
}

static void take_number(HistoryEntry *e, HistoryFigure f, json_object *o, const char *key) {
        double v;

        if (number(o, key, &v))
                set_figure(e, f, v);
}

static void take_least(HistoryEntry *e, HistoryFigure f, json_object *o, const char *key) {
        double v;

        if (number(o, key, &v))
                set_figure(e, f, e->known[f] ? MIN(e->figures[f], v) : v);
}

static void take_gpus(HistoryEntry *e, json_object *list) {
        size_t n = json_array_length(list);

        for (size_t i = 0; i < n; i++) {
                json_object *gpu = json_object_array_get_idx(list, i);
                const char *uuid = json_get_string(gpu, "uuid");
                double ecc;

                take_least(e, HISTORY_H2D, gpu, "h2d");
                take_least(e, HISTORY_D2H, gpu, "d2h");
                take_least(e, HISTORY_LINKS, gpu, "nvlinks_active");
                if (number(gpu, "ecc_volatile", &ecc))
                        set_figure(e, HISTORY_ECC, e->figures[HISTORY_ECC] + ecc);
                if (uuid)
                        e->machine = crc32_sum(e->machine, uuid, strlen(uuid));
        }
}

void history_take(HistoryEntry *e, const char *step, json_object *figures) {
        json_object *ports = json_get(figures, "ports");

        if (streq(step, "nccl"))
                take_number(e, HISTORY_BUSBW, figures, "busbw");
        else if (streq(step, "gpu"))
                take_gpus(e, json_get(figures, "gpus"));
        else if (streq(step, "rdma") && json_object_is_type(ports, json_type_array))
                set_figure(e, HISTORY_PORTS, (double) json_object_array_length(ports));
        else if (streq(step, "mounts"))
                take_number(e, HISTORY_NFS, figures, "slowest_ms");
        else if (streq(step, "scratch"))
                take_number(e, HISTORY_SCRATCH, figures, "write_ms");
}

/* Nothing that is measured is larger, and the largest double, rounded, is no number any more. */
#define FIGURE_MAX 1e15

json_object *history_to_json(const HistoryEntry *e) {
        _cleanup_json_ json_object *o = json_object_new_object();
        int r;

        r = json_set_fields(o, JSON_INT("seq", e->sequence), JSON_INT("time", e->time),
                        JSON_STRING("kind", e->kind), JSON_STRING("verdict", e->verdict),
                        JSON_STRING("code", e->code[0] ? e->code : NULL),
                        JSON_STRING("text", e->text[0] ? e->text : NULL),
                        JSON_INT("machine", e->machine));
        if (r < 0)
                return NULL;
        if (e->slow && json_set(o, "slow", json_object_new_boolean(true)) < 0)
                return NULL;
        for (size_t i = 0; i < _HISTORY_FIGURES; i++) {
                char text[32];

                if (!e->known[i] || e->figures[i] > FIGURE_MAX || e->figures[i] < -FIGURE_MAX)
                        continue;
                snprintf(text, sizeof(text), "%.5g", e->figures[i]);
                if (json_set(o, history_figure_info[i].name,
                                    json_object_new_double_s(e->figures[i], text)) < 0)
                        return NULL;
        }
        return TAKE_PTR(o);
}

/* What stands before the JSON: eight hexadecimal digits and a blank. */
#define HEAD 9

/* A character that was cut in two would make the whole line unreadable. */
static void make_plain(char *text) {
        for (; *text; text++)
                if ((unsigned char) *text < 0x20 || (unsigned char) *text > 0x7e)
                        *text = '?';
}

int history_slot_write(const HistoryEntry *e, char slot[HISTORY_SLOT]) {
        HistoryEntry shorter = *e;
        char head[HEAD + 1];

        make_plain(shorter.text);
        make_plain(shorter.code);
        /* A long text gives way: its figures are what the entry is for. */
        for (size_t cut = sizeof(shorter.text);; cut /= 2) {
                _cleanup_json_ json_object *o = history_to_json(&shorter);
                const char *text = o ? json_line(o) : NULL;
                size_t n = text ? strlen(text) : 0;

                if (!text)
                        return -ENOMEM;
                if (n <= HISTORY_SLOT - HEAD - 1) {
                        memset(slot, ' ', HISTORY_SLOT);
                        memcpy(slot + HEAD, text, n);
                        slot[HISTORY_SLOT - 1] = '\n';
                        break;
                }
                if (cut == 0)
                        return -E2BIG;
                shorter.text[cut / 2] = '\0';
        }
        snprintf(head, sizeof(head), "%08x ", crc32_sum(0, slot + HEAD, HISTORY_SLOT - HEAD));
        memcpy(slot, head, HEAD);
        return 0;
}

static void copy(char *to, size_t size, json_object *o, const char *key) {
        snprintf(to, size, "%s", strempty(json_get_string(o, key)));
}

static bool is_whole(const char slot[HISTORY_SLOT]) {
        char head[HEAD + 1];

        snprintf(head, sizeof(head), "%08x ", crc32_sum(0, slot + HEAD, HISTORY_SLOT - HEAD));
        return memcmp(slot, head, HEAD) == 0 && slot[HISTORY_SLOT - 1] == '\n';
}

uint64_t history_slot_sequence(const char slot[HISTORY_SLOT]) {
        static const char start[] = "{\"seq\":"; /* history_to_json() begins with it */
        const char *p = slot + HEAD;
        uint64_t sequence = 0;

        if (slot[0] == '\0' || !is_whole(slot) || strncmp(p, start, strlen(start)) != 0)
                return 0;
        p += strlen(start);
        return parse_digits(&p, 10, &sequence) < 0 ? 0 : sequence;
}

int history_slot_read(const char slot[HISTORY_SLOT], HistoryEntry *ret) {
        _cleanup_json_ json_object *o = NULL;
        HistoryEntry e = {};
        JsonError error = {};

        if (slot[0] == '\0' || !is_whole(slot))
                return -EBADMSG;
        if (json_parse(slot + HEAD, HISTORY_SLOT - HEAD, &error, &o) < 0)
                return -EBADMSG;
        e.sequence = (uint64_t) json_get_int(o, "seq", 0);
        if (e.sequence == 0)
                return -EBADMSG;
        e.time = json_get_int(o, "time", 0);
        e.machine = (uint32_t) json_get_int(o, "machine", 0);
        e.slow = json_get_bool(o, "slow", false);
        copy(e.kind, sizeof(e.kind), o, "kind");
        copy(e.verdict, sizeof(e.verdict), o, "verdict");
        copy(e.code, sizeof(e.code), o, "code");
        copy(e.text, sizeof(e.text), o, "text");
        for (size_t i = 0; i < _HISTORY_FIGURES; i++)
                take_number(&e, (HistoryFigure) i, o, history_figure_info[i].name);
        *ret = e;
        return 0;
}

static int compare(const void *a, const void *b) {
        double x = *(const double *) a, y = *(const double *) b;

        return x < y ? -1 : x > y;
}

/* The median of the machine's past values of a figure; false where there are too few. */
static bool usual(const HistoryEntry *past, size_t n, const HistoryEntry *e, HistoryFigure f,
                double *ret) {
        _cleanup_free_ double *values = calloc(n + 1, sizeof(*values));
        size_t count = 0;

        for (size_t i = 0; values && i < n; i++)
                if (past[i].known[f] && !past[i].slow && past[i].machine == e->machine)
                        values[count++] = past[i].figures[f];
        if (count < HISTORY_PAST_MIN)
                return false;
        qsort(values, count, sizeof(*values), compare);
        *ret = values[count / 2];
        return true;
}

bool history_is_slow(const HistoryEntry *past, size_t n, const HistoryEntry *e, double percent,
                HistoryFigure *ret_figure, double *ret_usual) {
        for (size_t i = 0; i < _HISTORY_FIGURES; i++) {
                double median;

                if (!history_figure_info[i].speed || !e->known[i] ||
                                !usual(past, n, e, (HistoryFigure) i, &median))
                        continue;
                if (e->figures[i] >= median * (1 - percent / 100))
                        continue;
                *ret_figure = (HistoryFigure) i;
                *ret_usual = median;
                return true;
        }
        return false;
}
