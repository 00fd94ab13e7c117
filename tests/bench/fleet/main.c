/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* fleet [--nodes N] [--outage MINUTES] [--outage-from SECONDS] [--same-seed] [--svg FILE]
 * fleet --turns STEP [--nodes N]
 *
 * All nodes are powered on in the same moment, and servers that answer so many requests a second
 * are away for a while. Exit code 1 where a node does not become ready, or where a server that has
 * come back is asked more than twice as often as on average until all are: in its busiest half
 * minute. Step files are read below $FIRSTBOOT_ROOT, like the agent does. */

#include "fleet.h"
#include "contract/config-schema.h"
#include "contract/quantity.h"

#include <getopt.h>

#define WINDOW_USEC (30 * USEC_PER_SEC)
#define PEAK_MAX 2.0

/* The default of a time in the table of configuration keys. */
static uint64_t default_time(const char *key) {
        const ConfigKey *k = config_key_find(key);
        _cleanup_json_ json_object *o = k ? json_tokener_parse(k->fallback) : NULL;
        uint64_t usec = 0;

        if (!o || parse_duration(o, &usec) < 0)
                fprintf(stderr, "fleet: %s has no default\n", key);
        return usec;
}

/* The plans of the shipped steps. */
static int load_plans(Fleet *f) {
        static const struct {
                unsigned task;
                const char *name, *give_up;
        } steps[] = {
                { TASK_MOUNTS, "mounts", "mounts[].give_up" },
                { TASK_IDENTITY, "identity", "identity.give_up" },
                { TASK_SLURM, "slurm", "slurm.give_up" },
        };

        f->plans[TASK_METADATA] =
                        (RetryPlan) RETRY_PLAN_METADATA(RETRY_SPREAD_USEC, RETRY_SLOW_USEC);
        f->give_up[TASK_METADATA] = default_time("metadata.timeout");
        for (size_t i = 0; i < ELEMENTSOF(steps); i++) {
                _cleanup_strv_free_ char **errors = NULL;
                Step s = {};
                int r;

                r = step_load(steps[i].name, NULL, &s, &errors);
                if (r > 0) {
                        f->plans[steps[i].task] = step_retry_plan(&s);
                        f->give_up[steps[i].task] = default_time(steps[i].give_up);
                }
                step_clear(&s);
                if (r <= 0) {
                        fprintf(stderr, "fleet: no step %s below $FIRSTBOOT_ROOT\n", steps[i].name);
                        return r < 0 ? r : -ENOENT;
                }
        }
        return 0;
}

/* Half a minute at a time: the most, and the mean until the last node was ready. */
static bool judge(const Fleet *f, const Server *s) {
        uint64_t end = f->last + USEC_PER_SEC;
        unsigned long total = server_requests(s, f->to, end), most = 0;
        double mean = (double) total / ((double) (end - f->to) / USEC_PER_SEC);

        for (uint64_t at = f->to; at < end; at += WINDOW_USEC)
                most = MAX(most, server_requests(s, at, MIN(at + WINDOW_USEC, end)));

        double peak = (double) most / ((double) WINDOW_USEC / USEC_PER_SEC);
        bool good = total < f->nodes / 100 || peak <= PEAK_MAX * mean;

        printf("  %-11s %8lu requests, %7.1f/s on average, %7.1f/s in the busiest half minute: %4.2f times%s\n",
                        s->name, total, mean, peak, mean > 0 ? peak / mean : 0,
                        good ? "" : ", TOO MUCH");
        return good;
}

static int compare(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

        return x < y ? -1 : x > y;
}

static bool report(Fleet *f) {
        unsigned ready = 0, early = 0;
        bool good = true;

        for (unsigned i = 0; i < f->nodes; i++) {
                ready += f->ready[i] > 0;
                early += f->ready[i] > 0 && f->ready[i] <= f->from;
        }
        printf("%u nodes, servers away from %.0f s to %.0f s: %u ready, %u of them before; %zu events\n",
                        f->nodes, (double) f->from / USEC_PER_SEC, (double) f->to / USEC_PER_SEC,
                        ready, early, f->events);
        if (ready < f->nodes) {
                printf("  NOT READY: %u nodes\n", f->nodes - ready);
                return false;
        }

        qsort(f->ready, f->nodes, sizeof(uint64_t), compare);
        if (f->last <= f->to)
                return true;

        unsigned median = early + (f->nodes - early) / 2;
        printf("  after the outage: half of the rest ready in %.1f min, the last in %.1f min\n",
                        (double) (f->ready[median] - f->to) / USEC_PER_SEC / 60,
                        (double) (f->last - f->to) / USEC_PER_SEC / 60);
        for (size_t i = 0; i < N_SERVERS; i++)
                good = judge(f, &f->servers[i]) && good;
        return good;
}

/* When each node has its turn for a step, in seconds: for agents that are real. */
static int print_turns(const Fleet *f, const char *name) {
        _cleanup_strv_free_ char **errors = NULL;
        Step s = {};
        int r;

        r = step_load(name, NULL, &s, &errors);
        if (r > 0) {
                RetryPlan plan = step_retry_plan(&s);

                for (unsigned i = 0; i < f->nodes; i++)
                        printf("%.3f\n", (double) retry_first(&plan,
                                                         retry_seed(fleet_seed(f, i), name)) /
                                                         USEC_PER_SEC);
        }
        step_clear(&s);
        return r > 0 ? 0 : -ENOENT;
}

static int parse(Fleet *f, int argc, char *argv[], const char **ret_svg, const char **ret_turns) {
        static const struct option options[] = {
                { "nodes", required_argument, NULL, 'n' },
                { "outage", required_argument, NULL, 'o' },
                { "outage-from", required_argument, NULL, 'f' },
                { "same-seed", no_argument, NULL, 's' },
                { "svg", required_argument, NULL, 'g' },
                { "turns", required_argument, NULL, 't' },
                {},
        };
        uint64_t minutes = 30;
        int c;

        while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0)
                switch (c) {
                case 'n':
                        f->nodes = (unsigned) strtoul(optarg, NULL, 10);
                        break;
                case 'o':
                        minutes = strtoull(optarg, NULL, 10);
                        break;
                case 'f':
                        f->from = strtoull(optarg, NULL, 10) * USEC_PER_SEC;
                        break;
                case 's':
                        f->same_seed = true;
                        break;
                case 'g':
                        *ret_svg = optarg;
                        break;
                case 't':
                        *ret_turns = optarg;
                        break;
                default:
                        return -EINVAL;
                }
        f->to = f->from + minutes * 60 * USEC_PER_SEC;
        f->until = f->to + 3600 * USEC_PER_SEC;
        return f->nodes > 0 && optind == argc ? 0 : -EINVAL;
}

int main(int argc, char *argv[]) {
        /* What a small machine does: slapd with TLS, ganesha, slurmctld; requests wait up to what
         * the agent's programs wait for an answer. Smaller fleets have servers to match. */
        Fleet f = {
                .nodes = 10000,
                .servers = {
                        [SERVER_METADATA] = { "metadata", 1000, 2000, 3 * USEC_PER_SEC },
                        [SERVER_NFS] = { "NFS", 300, 512, 3 * USEC_PER_SEC },
                        [SERVER_SLURM] = { "slurmctld", 200, 1024, 10 * USEC_PER_SEC },
                        [SERVER_LDAP] = { "LDAP 1", 150, 512, 6 * USEC_PER_SEC },
                        [SERVER_LDAP + 1] = { "LDAP 2", 150, 512, 6 * USEC_PER_SEC },
                        [SERVER_LDAP + 2] = { "LDAP 3", 150, 512, 6 * USEC_PER_SEC },
                },
        };
        const char *svg = NULL, *turns = NULL;
        bool good;

        if (parse(&f, argc, argv, &svg, &turns) < 0) {
                fprintf(stderr, "Usage: fleet [--nodes N] [--outage MINUTES] [--outage-from SECONDS] [--same-seed] [--svg FILE] | --turns STEP [--nodes N]\n");
                return 2;
        }
        if (turns)
                return print_turns(&f, turns) < 0 ? 2 : EXIT_SUCCESS;
        for (size_t i = 0; i < N_SERVERS; i++) {
                f.servers[i].rate *= f.nodes / 10000.0;
                f.servers[i].backlog = f.servers[i].backlog * f.nodes / 10000;
        }
        if (load_plans(&f) < 0 || fleet_run(&f) < 0)
                return 2;
        good = report(&f);
        if (svg && fleet_draw(&f, svg) < 0)
                return 2;

        free(f.ready);
        for (size_t i = 0; i < N_SERVERS; i++)
                free(f.servers[i].seconds);
        return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
