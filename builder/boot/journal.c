/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The export format: fields as lines "NAME=value", or for values with newlines the name alone, a
 * 64-bit little-endian size and the bytes; an empty line ends an entry. */

#include "boot/journal.h"

#include "shared/strv.h"

#include <endian.h>
#include <syslog.h>

static int append(Journal *j, const char *data, size_t size) {
        if (j->used + size > j->allocated) {
                size_t wanted = MAX(2 * (j->used + size), (size_t) 65536);
                char *grown = realloc(j->pending, wanted);
                if (!grown)
                        return -ENOMEM;
                j->pending = grown;
                j->allocated = wanted;
        }
        memcpy(j->pending + j->used, data, size);
        j->used += size;
        return 0;
}

/* One field from *position: 1 and its parts; 0 not all there yet; 2 the entry's end; -EBADMSG. */
static int next_field(const Journal *j, size_t *position, const char **ret_name,
                size_t *ret_name_size, const char **ret_value, size_t *ret_value_size) {
        const char *start = j->pending + *position;
        size_t left = j->used - *position;
        const char *newline = memchr(start, '\n', left);
        uint64_t size;

        if (!newline)
                return left > JOURNAL_ENTRY_MAX ? -EBADMSG : 0;
        if (newline == start) {
                (*position)++;
                return 2;
        }
        size_t length = (size_t) (newline - start);
        const char *equals = memchr(start, '=', length);
        if (equals) {
                *ret_name = start;
                *ret_name_size = (size_t) (equals - start);
                *ret_value = equals + 1;
                *ret_value_size = length - *ret_name_size - 1;
                *position += length + 1;
                return 1;
        }
        if (left < length + 1 + sizeof(size))
                return 0;
        memcpy(&size, newline + 1, sizeof(size));
        size = le64toh(size);
        if (size > JOURNAL_ENTRY_MAX)
                return -EBADMSG;
        if (left < length + 1 + sizeof(size) + size + 1)
                return 0;
        *ret_name = start;
        *ret_name_size = length;
        *ret_value = newline + 1 + sizeof(size);
        *ret_value_size = (size_t) size;
        if ((*ret_value)[size] != '\n')
                return -EBADMSG;
        *position += length + 1 + sizeof(size) + (size_t) size + 1;
        return 1;
}

static void entry_done(JournalEntry *e) {
        free(e->message);
        free(e->message_id);
        free(e->unit);
        free(e->job_type);
        free(e->job_result);
        free(e->identifier);
        free(e->systemd_unit);
        free(e->code);
        free(e->step);
}

static int take_field(JournalEntry *e, const char *name, size_t name_size, const char *value,
                size_t value_size) {
        const struct {
                const char *name;
                char **text;
        } texts[] = {
                { "MESSAGE", &e->message },
                { "MESSAGE_ID", &e->message_id },
                { "UNIT", &e->unit },
                { "JOB_TYPE", &e->job_type },
                { "JOB_RESULT", &e->job_result },
                { "SYSLOG_IDENTIFIER", &e->identifier },
                { "_SYSTEMD_UNIT", &e->systemd_unit },
                { "CODE", &e->code },
                { "STEP", &e->step },
        };
        const struct {
                const char *name;
                uint64_t *big;
                int *small;
        } numbers[] = {
                { "__MONOTONIC_TIMESTAMP", &e->monotonic, NULL },
                { "_PID", NULL, &e->pid },
                { "PRIORITY", NULL, &e->priority },
        };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                if (strlen(texts[i].name) != name_size ||
                                memcmp(texts[i].name, name, name_size) != 0 || *texts[i].text)
                        continue;
                *texts[i].text = strndup(value, MIN(value_size, (size_t) 65536));
                return *texts[i].text ? 0 : -ENOMEM;
        }
        for (size_t i = 0; i < ELEMENTSOF(numbers); i++) {
                if (strlen(numbers[i].name) != name_size ||
                                memcmp(numbers[i].name, name, name_size) != 0)
                        continue;
                _cleanup_free_ char *text = strndup(value, MIN(value_size, (size_t) 32));
                if (!text)
                        return -ENOMEM;
                if (numbers[i].big)
                        *numbers[i].big = strtoull(text, NULL, 10);
                else
                        *numbers[i].small = (int) strtol(text, NULL, 10);
        }
        return 0;
}

/* The entry of pending's first `size` bytes, which next_field() has gone through. */
static int deliver(Journal *j, size_t size, void (*callback)(const JournalEntry *e, void *userdata),
                void *userdata) {
        _cleanup_(entry_done) JournalEntry e = { .pid = -1, .priority = LOG_INFO };
        size_t position = 0;

        while (position < size) {
                const char *name, *value;
                size_t name_size, value_size;
                int r;

                if (next_field(j, &position, &name, &name_size, &value, &value_size) != 1)
                        break;
                r = take_field(&e, name, name_size, value, value_size);
                if (r < 0)
                        return r;
        }

        j->n_entries++;
        callback(&e, userdata);
        return 0;
}

int journal_feed(Journal *j, const char *data, size_t size,
                void (*callback)(const JournalEntry *e, void *userdata), void *userdata) {
        int r;

        if (j->broken)
                return -EBADMSG;
        r = append(j, data, size);
        if (r < 0)
                return r;
        for (;;) {
                const char *name, *value;
                size_t name_size, value_size;

                r = next_field(j, &j->parsed, &name, &name_size, &value, &value_size);
                if (r == 0 && j->used <= JOURNAL_ENTRY_MAX)
                        return 0;
                if (r <= 0) {
                        j->broken = true;
                        return -EBADMSG;
                }
                if (r == 1)
                        continue;
                size_t entry = j->parsed;
                if (entry > 1) {
                        r = deliver(j, entry, callback, userdata);
                        if (r < 0)
                                return r;
                }
                memmove(j->pending, j->pending + entry, j->used - entry);
                j->used -= entry;
                j->parsed = 0;
        }
}

void journal_done(Journal *j) {
        free(j->pending);
        *j = (Journal) {};
}

/* What a message means by the result of the job that it is about. */
static UnitEvent job_event(const JournalEntry *e, UnitEvent event) {
        /* "Started" is also how a start job ends that did not do its work. */
        if (event == UNIT_STARTED && e->job_result && !streq(e->job_result, "done"))
                return streq(e->job_result, "failed") ? UNIT_FAILED : UNIT_NOTHING;

        /* Never ran: what it needed is the one that failed. */
        if (event == UNIT_FAILED && streq_ptr(e->job_result, "dependency"))
                return UNIT_NOTHING;

        return event;
}

UnitEvent journal_unit_event(const JournalEntry *e) {
        /* systemd's sd-messages.h; stable since they were introduced. */
        static const struct {
                const char *id;
                UnitEvent event;
        } ids[] = {
                /* SD_MESSAGE_UNIT_STARTING */
                { "7d4958e842da4a758f6c1cdc7b36dcc5", UNIT_STARTING },
                /* SD_MESSAGE_UNIT_STARTED */
                { "39f53479d3a045ac8e11786248231fbf", UNIT_STARTED },
                /* SD_MESSAGE_UNIT_FAILED: its start job failed */
                { "be02cf6855d2428ba40df7e9d022f03d", UNIT_FAILED },
                /* SD_MESSAGE_UNIT_FAILURE_RESULT */
                { "d9b373ed55a64feb8242e02dbe79a49c", UNIT_FAILED },
                /* SD_MESSAGE_UNIT_RESTART_SCHEDULED */
                { "5eb03494b6584870a536b337290809b3", UNIT_RESTARTING },
                /* SD_MESSAGE_UNIT_STOPPED */
                { "9d1aaa27d60140bd96365438aad20286", UNIT_STOPPED },
        };

        if (e->pid != 1 || !e->unit || !e->message_id)
                return UNIT_NOTHING;
        for (size_t i = 0; i < ELEMENTSOF(ids); i++)
                if (streq(ids[i].id, e->message_id))
                        return job_event(e, ids[i].event);
        return UNIT_NOTHING;
}
