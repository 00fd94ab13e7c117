/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild cluster: the machines of a file, on one private network, each a boot in a process of its
 * own. All are waited for, then ssh into each is open; at the end all of them go. */

#include "boot/internal.h"
#include "boot/machine.h"

#include "shared/duration.h"
#include "shared/file-util.h"
#include "shared/time-util.h"
#include "store/store.h"

#include <arpa/inet.h>
#include <poll.h>

#define TICK_MS 100
#define NETWORK_LINK "cluster"

struct Cluster {
        ClusterFile *file;
        Machine *machines;
        size_t n_machines;
        char *hosts;

        char *folder, *links, *key, *ssh_config; /* while it runs */
        char **keys;
};

static Cluster *cluster_free(Cluster *c) {
        if (!c)
                return NULL;

        for (size_t i = 0; i < c->n_machines; i++)
                machine_done(c->machines + i);
        free(c->machines);
        cluster_file_free(c->file);
        free(c->hosts);
        free(c->folder);
        free(c->links);
        free(c->key);
        free(c->ssh_config);
        strv_free(c->keys);
        free(c);
        return NULL;
}

void cluster_options_done(ClusterOptions *o) {
        o->cluster = cluster_free(o->cluster);
        o->keys = strv_free(o->keys);
}

/* "10.77.0.0/24": its first address, in host's order, and the prefix. */
static int parse_network(const Cluster *c, uint32_t *ret_first, unsigned *ret_prefix) {
        _cleanup_strv_free_ char **parts = strv_split(c->file->network, "/");
        unsigned long prefix = strv_length(parts) == 2 ? strtoul(parts[1], NULL, 10) : 0;
        struct in_addr address;

        if (strv_length(parts) != 2 || inet_pton(AF_INET, parts[0], &address) != 1 || prefix < 8 ||
                        prefix > 30 || strlen(parts[1]) != strspn(parts[1], "0123456789") ||
                        (ntohl(address.s_addr) & (UINT32_MAX >> prefix))) {
                log_error("%s: $.network: \"%s\" is no network with a prefix from 8 to 30, such as 10.77.0.0/24",
                                c->file->path, c->file->network);
                return -EINVAL;
        }
        if (c->n_machines > (UINT32_MAX >> prefix) - 1) {
                log_error("%s: $.network: %s has no room for %zu machines", c->file->path,
                                c->file->network, c->n_machines);
                return -EINVAL;
        }

        *ret_first = ntohl(address.s_addr) + 1;
        *ret_prefix = (unsigned) prefix;
        return 0;
}

/* The cluster's link comes before a machine's own ones. */
static int add_network(Machine *m, const char *address, unsigned prefix) {
        _cleanup_free_ char *text = strf(NETWORK_LINK "=%s/%u", address, prefix);
        const char *problem = "out of memory";

        m->address = strdup(address);
        if (!text || !m->address)
                return log_oom();
        if (vm_add_link(&m->o.vm, text, &problem) < 0) {
                log_error("Machine %s: no link to the others: %s", m->what->name, problem);
                return -EINVAL;
        }
        return 0;
}

static int add_addresses(Cluster *c) {
        _cleanup_strv_free_ char **lines = NULL;
        uint32_t first;
        unsigned prefix;
        int r;

        r = parse_network(c, &first, &prefix);
        if (r < 0)
                return r;
        for (size_t i = 0; i < c->n_machines; i++) {
                struct in_addr a = { .s_addr = htonl(first + (uint32_t) i) };
                char address[INET_ADDRSTRLEN];

                if (!inet_ntop(AF_INET, &a, address, sizeof(address)))
                        return -errno;
                r = add_network(c->machines + i, address, prefix);
                if (r < 0)
                        return r;
                if (strv_extendf(&lines, "%s %s\n", address, c->machines[i].what->name) < 0)
                        return log_oom();
        }

        c->hosts = strv_join(lines, "");
        return c->hosts ? 0 : log_oom();
}

static int check(ClusterOptions *o) {
        Cluster *c = o->cluster = calloc(1, sizeof(*c));
        int r;

        if (!c)
                return log_oom();
        r = cluster_file_load(o->file, &c->file);
        if (r < 0)
                return r;
        c->machines = calloc(c->file->n_machines, sizeof(*c->machines));
        if (!c->machines)
                return log_oom();
        for (size_t i = 0; i < c->file->n_machines; i++) {
                c->n_machines++;
                r = machine_set(c->machines + i, c->file->machines + i, o);
                if (r < 0)
                        return r;
        }
        return add_addresses(c);
}

int cluster_check(ClusterOptions *o) {
        int r;

        r = check(o);
        if (r >= 0)
                return 0;
        return r == -ENOMEM ? EXIT_FAILED : r == -EACCES ? EXIT_HOST : EXIT_BAD_INPUT;
}

/* Disks, key and ssh's configuration: in scratch, or kept. */
static int make_folder(Cluster *c, Context *ctx, const ClusterOptions *o) {
        int r;

        if (!o->state) {
                r = store_scratch(ctx->store, "cluster", &c->folder);
                if (r < 0)
                        return log_error_errno(r, "Cannot make room for the cluster");
        } else {
                r = mkdir_p(o->state, 0700);
                if (r < 0)
                        return log_error_errno(r, "Cannot make the state folder %s", o->state);
                c->folder = realpath(o->state, NULL);
        }

        c->links = c->folder ? path_join(c->folder, "links") : NULL;
        c->key = c->folder ? path_join(c->folder, "ssh-key") : NULL;
        c->ssh_config = c->folder ? path_join(c->folder, "ssh-config") : NULL;
        c->keys = o->keys ? strv_copy(o->keys) : NULL;
        if (!c->links || !c->key || !c->ssh_config || (o->keys && !c->keys))
                return log_oom();
        return ssh_make_key(c->folder, &c->keys);
}

static int prepare_machine(Cluster *c, Machine *m, const ClusterOptions *o) {
        VmConfig *vm = &m->o.vm;
        int r;

        r = boot_free_port(&m->ssh_port);
        if (r < 0)
                return log_error_errno(r, "Cannot find a free port on 127.0.0.1");
        vm->forwards[vm->n_forwards++] = (VmForward) { .host = m->ssh_port, .guest = 22 };
        for (size_t i = 0; i < vm->n_links; i++)
                vm->links[i].folder = c->links;

        m->state_folder = path_join(c->folder, m->what->name);
        m->save_folder = o->save ? path_join(o->save, m->what->name) : NULL;
        m->o.keys = strv_copy(c->keys);
        if (!m->state_folder || (o->save && !m->save_folder) || !m->o.keys)
                return log_oom();
        m->o.state = m->state_folder;
        m->o.save = m->save_folder;
        m->o.hosts = c->hosts;
        return 0;
}

/* `ssh -F FILE NAME` */
static int write_ssh_config(const Cluster *c) {
        _cleanup_strv_free_ char **l = NULL;
        _cleanup_free_ char *text = NULL;
        int r;

        for (size_t i = 0; i < c->n_machines; i++)
                if (strv_extendf(&l,
                                    "Host %s\n  HostName 127.0.0.1\n  Port %u\n  User root\n  IdentityFile %s\n"
                                    "  IdentitiesOnly yes\n  StrictHostKeyChecking no\n"
                                    "  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n",
                                    c->machines[i].what->name, c->machines[i].ssh_port, c->key) < 0)
                        return log_oom();
        text = strv_join(l, "");
        if (!text)
                return log_oom();
        r = write_file_atomic(c->ssh_config, text, strlen(text), 0600);
        return r < 0 ? log_error_errno(r, "Cannot write %s", c->ssh_config) : 0;
}

static size_t count(const Cluster *c, MachineState state) {
        size_t n = 0;

        for (size_t i = 0; i < c->n_machines; i++)
                n += c->machines[i].state == state;
        return n;
}

static void look(Cluster *c, Progress *progress) {
        (void) poll(NULL, 0, TICK_MS);
        for (size_t i = 0; i < c->n_machines; i++)
                machine_look(c->machines + i, progress);
}

static void log_ended(const Cluster *c) {
        for (size_t i = 0; i < c->n_machines; i++)
                if (c->machines[i].state == MACHINE_ENDED)
                        log_error("%s has ended; so the cluster does", c->machines[i].what->name);
}

/* The exit code of the first machine that ended. */
static int ended_code(const Cluster *c) {
        for (size_t i = 0; i < c->n_machines; i++)
                if (c->machines[i].state == MACHINE_ENDED && c->machines[i].code != EXIT_OK)
                        return c->machines[i].code;
        return EXIT_FAILED;
}

static bool first_alive(void *userdata) {
        Cluster *c = userdata;

        machine_look(c->machines, NULL);
        return c->machines[0].state == MACHINE_UP;
}

static int run_command(Cluster *c, const ClusterOptions *o) {
        Machine *m = c->machines;
        int r, status;

        r = ssh_wait(c->key, m->ssh_port, first_alive, c, now_usec() + o->timeout * USEC_PER_SEC);
        if (r < 0)
                return exit_code_from_errno(r);
        r = ssh_run(c->key, m->ssh_port, o->command, &status);
        if (r < 0) {
                log_error_errno(r, "Cannot run the command on %s", m->what->name);
                return exit_code_from_errno(r);
        }
        if (status != 0)
                log_error("The command on %s ended with exit code %d", m->what->name, status);
        return status == 0 ? EXIT_OK : EXIT_FAILED;
}

static int keep_running(Cluster *c, Context *ctx) {
        for (size_t i = 0; i < c->n_machines; i++)
                log_info("ssh -F %s %s    # %s", c->ssh_config, c->machines[i].what->name,
                                c->machines[i].address);
        log_info("Running until Ctrl-C");

        while (!interrupt_signal() && count(c, MACHINE_ENDED) == 0)
                look(c, ctx->progress);
        if (interrupt_signal())
                return EXIT_OK;
        log_ended(c);
        return ended_code(c);
}

static int boot_all(Cluster *c, Context *ctx, Tools *tools, const ClusterOptions *o) {
        char spent[FORMAT_DURATION_MAX];
        uint64_t started = now_usec();
        int r;

        for (size_t i = 0; i < c->n_machines; i++)
                progress_add(ctx->progress, c->machines[i].what->name);
        for (size_t i = 0; i < c->n_machines; i++) {
                r = machine_start(c->machines + i, ctx, tools);
                if (r < 0) {
                        log_error_errno(r, "Cannot start %s", c->machines[i].what->name);
                        return EXIT_FAILED;
                }
        }

        while (count(c, MACHINE_UP) < c->n_machines) {
                if (interrupt_signal())
                        return EXIT_INTERRUPTED;
                if (count(c, MACHINE_ENDED) > 0) {
                        log_ended(c);
                        return ended_code(c);
                }
                look(c, ctx->progress);
        }

        log_info("All %zu machines of %s are up after %s", c->n_machines, c->file->name,
                        format_duration(spent, now_usec() - started));
        return o->command ? run_command(c, o) : keep_running(c, ctx);
}

static void end_all(Cluster *c) {
        for (size_t i = 0; i < c->n_machines; i++)
                machine_interrupt(c->machines + i);
        for (size_t i = 0; i < c->n_machines; i++)
                machine_kill(c->machines + i);
}

int cluster_run(Context *ctx, Tools *tools, ClusterOptions *o) {
        Cluster *c = o->cluster;
        int r;

        r = make_folder(c, ctx, o);
        if (r < 0)
                return exit_code_from_errno(r);
        for (size_t i = 0; i < c->n_machines; i++) {
                r = prepare_machine(c, c->machines + i, o);
                if (r < 0)
                        return exit_code_from_errno(r);
        }
        r = write_ssh_config(c);
        if (r < 0)
                return exit_code_from_errno(r);

        r = boot_all(c, ctx, tools, o);
        end_all(c);
        return r;
}
