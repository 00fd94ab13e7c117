/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Nodes, servers and the queue of what happens next. */

#include "fleet.h"
#include "steps/identity/server-order.h"

/* What a node does between its questions takes so long, about; it is the same for all, for no
 * chance but the agent's own shall keep them apart. */
#define HOST_USEC (1 * USEC_PER_SEC)

typedef struct Task {
        RetryLoop loop;
        unsigned attempts; /* that failed */
        unsigned asked;    /* questions of this attempt that were answered */
        bool begun, done;
} Task;

typedef struct SimNode {
        uint64_t seed;
        unsigned ldap; /* the server that is first in its order */
        Task tasks[N_TASKS];
} SimNode;

typedef enum EventKind {
        EVENT_BEGIN, /* an attempt */
        EVENT_ASK,
        EVENT_ANSWER,
        EVENT_NO_ANSWER,
} EventKind;

typedef struct Event {
        uint64_t at;
        unsigned node;
        uint8_t task, kind;
} Event;

typedef struct Sim {
        Fleet *fleet;
        SimNode *nodes;
        Event *heap;
        size_t n, size;
} Sim;

/* Questions that make a task done, one after the other: two mounts; user and group; the
 * controller's configuration, slurmd's registration, the node's state. */
static const struct {
        const char *name;
        unsigned questions, server;
} tasks[N_TASKS] = {
        [TASK_METADATA] = { "metadata", 1, SERVER_METADATA },
        [TASK_MOUNTS] = { "mounts", 2, SERVER_NFS },
        [TASK_IDENTITY] = { "identity", 2, SERVER_LDAP },
        [TASK_SLURM] = { "slurm", 3, SERVER_SLURM },
};

/* --- The queue: a heap, ties in the order of nodes --- */

static bool before(const Event *a, const Event *b) {
        return a->at != b->at ? a->at < b->at : a->node < b->node;
}

static int put(Sim *s, uint64_t at, unsigned node, unsigned task, EventKind kind) {
        size_t i = s->n;

        if (at >= s->fleet->until)
                return 0;
        if (s->n == s->size) {
                Event *grown = reallocarray(s->heap, s->size * 2 + 64, sizeof(Event));

                if (!grown)
                        return -ENOMEM;
                s->heap = grown;
                s->size = s->size * 2 + 64;
        }

        s->n++;
        Event e = { at, node, (uint8_t) task, (uint8_t) kind };
        for (; i > 0 && before(&e, &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
                s->heap[i] = s->heap[(i - 1) / 2];
        s->heap[i] = e;
        return 0;
}

static Event take(Sim *s) {
        Event first = s->heap[0], last = s->heap[--s->n];
        size_t i = 0;

        for (size_t child; (child = 2 * i + 1) < s->n; i = child) {
                if (child + 1 < s->n && before(&s->heap[child + 1], &s->heap[child]))
                        child++;
                if (!before(&s->heap[child], &last))
                        break;
                s->heap[i] = s->heap[child];
        }
        s->heap[i] = last;
        return first;
}

/* --- Servers --- */

/* When the answer comes to a question asked now, or when who asked gives up. */
static uint64_t answer(const Fleet *f, Server *s, uint64_t now, bool *ret_good) {
        uint64_t start = MAX(now, s->free_at), end = start + (uint64_t) (USEC_PER_SEC / s->rate);

        s->seconds[now / USEC_PER_SEC]++;
        *ret_good = false;
        if (now >= f->from && now < f->to) {
                s->free_at = f->to;
                return now + s->timeout;
        }
        if ((double) (start - now) * s->rate / USEC_PER_SEC >= s->backlog)
                return now + s->timeout;

        /* It is worked on in any case, whether anybody still waits for it or not. */
        s->free_at = end;
        *ret_good = end <= now + s->timeout && !(now < f->from && end >= f->from);
        return *ret_good ? end : now + s->timeout;
}

unsigned long server_requests(const Server *s, uint64_t from, uint64_t to) {
        unsigned long n = 0;

        for (uint64_t i = from / USEC_PER_SEC; i < to / USEC_PER_SEC; i++)
                n += s->seconds[i];
        return n;
}

/* --- Nodes, as firstbootd, the helper and the steps would --- */

static bool may_begin(const SimNode *n, unsigned task) {
        if (task == TASK_METADATA)
                return true;
        if (task == TASK_SLURM)
                return n->tasks[TASK_MOUNTS].done && n->tasks[TASK_IDENTITY].done;
        return n->tasks[TASK_METADATA].done;
}

/* What has become free to start gets its turn. */
static int start_free(Sim *s, unsigned node, uint64_t now) {
        SimNode *n = &s->nodes[node];

        for (unsigned t = 0; t < N_TASKS; t++) {
                uint64_t seed = retry_seed(n->seed, tasks[t].name);
                int r;

                if (n->tasks[t].begun || !may_begin(n, t))
                        continue;
                n->tasks[t].begun = true;
                r = put(s,
                                now + (t == TASK_MOUNTS ? HOST_USEC : 0) +
                                                retry_first(&s->fleet->plans[t], seed),
                                node, t, EVENT_BEGIN);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* An attempt: the loop of the step, or of the helper, with its seed (steps/common/attempt.c). */
static int begin(Sim *s, const Event *e) {
        const Fleet *f = s->fleet;
        SimNode *n = &s->nodes[e->node];
        Task *t = &n->tasks[e->task];
        bool slow = e->task != TASK_METADATA && t->attempts > f->plans[e->task].retries;
        uint64_t seed = retry_seed(n->seed + t->attempts, tasks[e->task].name),
                 deadline = e->at + (slow ? MIN(f->give_up[e->task], RETRY_SLOW_TRY_USEC)
                                          : f->give_up[e->task]);
        RetryLoop loops[N_TASKS] = {
                [TASK_METADATA] = RETRY_LOOP_METADATA(seed, deadline),
                [TASK_MOUNTS] = RETRY_LOOP_MOUNT(seed, deadline),
                [TASK_IDENTITY] = RETRY_LOOP_LDAP(seed, deadline),
                [TASK_SLURM] = RETRY_LOOP_SLURM(seed, deadline),
        };

        t->loop = loops[e->task];
        t->asked = 0;
        return put(s, e->at, e->node, e->task, EVENT_ASK);
}

static int ask(Sim *s, const Event *e) {
        unsigned server = tasks[e->task].server;
        bool good;

        if (server == SERVER_LDAP)
                server += s->nodes[e->node].ldap;
        uint64_t at = answer(s->fleet, &s->fleet->servers[server], e->at, &good);
        return put(s, at, e->node, e->task, good ? EVENT_ANSWER : EVENT_NO_ANSWER);
}

static int answered(Sim *s, const Event *e) {
        Task *t = &s->nodes[e->node].tasks[e->task];

        if (++t->asked < tasks[e->task].questions)
                return put(s, e->at, e->node, e->task, EVENT_ASK);
        t->done = true;
        if (e->task == TASK_SLURM) {
                s->fleet->ready[e->node] = e->at;
                s->fleet->last = e->at;
        }
        return start_free(s, e->node, e->at);
}

static int not_answered(Sim *s, const Event *e) {
        SimNode *n = &s->nodes[e->node];
        Task *t = &n->tasks[e->task];
        uint64_t pause;

        if (retry_again(&t->loop, e->at, &pause))
                return put(s, e->at + pause, e->node, e->task, EVENT_ASK);
        if (retry_next(&s->fleet->plans[e->task], retry_seed(n->seed, tasks[e->task].name),
                            ++t->attempts, &pause) == RETRY_NEVER)
                return 0;
        return put(s, e->at + pause, e->node, e->task, EVENT_BEGIN);
}

/* Which of the three LDAP servers is first for the node. */
static int first_server(uint64_t seed, unsigned *ret) {
        _cleanup_json_ json_object *identity = json_tokener_parse("{\"uri\":[\"0\",\"1\",\"2\"]}");

        if (!identity)
                return -ENOMEM;
        servers_order(identity, retry_seed(seed, "ldap servers"));
        *ret = (unsigned) json_object_get_int(
                        json_object_array_get_idx(json_get(identity, "uri"), 0));
        return 0;
}

uint64_t fleet_seed(const Fleet *f, unsigned node) {
        char name[32];

        snprintf(name, sizeof(name), "node-%u", f->same_seed ? 0 : node);
        return retry_seed(0, name);
}

static int power_on(Sim *s) {
        int r;

        for (unsigned i = 0; i < s->fleet->nodes; i++) {
                s->nodes[i].seed = fleet_seed(s->fleet, i);
                r = first_server(s->nodes[i].seed, &s->nodes[i].ldap);
                if (r < 0)
                        return r;
                r = start_free(s, i, 0);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int run(Sim *s) {
        static int (*const happen[])(Sim *s, const Event *e) = {
                [EVENT_BEGIN] = begin,
                [EVENT_ASK] = ask,
                [EVENT_ANSWER] = answered,
                [EVENT_NO_ANSWER] = not_answered,
        };
        int r;

        r = power_on(s);
        if (r < 0)
                return r;
        for (; s->n > 0; s->fleet->events++) {
                Event e = take(s);

                r = happen[e.kind](s, &e);
                if (r < 0)
                        return r;
        }
        return 0;
}

int fleet_run(Fleet *f) {
        _cleanup_free_ SimNode *nodes = calloc(f->nodes, sizeof(SimNode));
        Sim s = { .fleet = f, .nodes = nodes };
        int r;

        f->ready = calloc(f->nodes, sizeof(uint64_t));
        for (size_t i = 0; i < N_SERVERS; i++) {
                f->servers[i].seconds = calloc(f->until / USEC_PER_SEC + 1, sizeof(unsigned));
                if (!f->servers[i].seconds)
                        return -ENOMEM;
        }
        if (!nodes || !f->ready)
                return -ENOMEM;

        r = run(&s);
        free(s.heap);
        return r;
}
