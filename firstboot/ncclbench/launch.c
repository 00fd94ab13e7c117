/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads who we are among the processes of a run: flags first, then torchrun's variables, then
 * srun's. */

#include "ncclbench/launch-internal.h"
#include "shared/file-util.h"
#include "shared/strv.h"

#include <limits.h>

#define SECRET_MIN 16 /* bytes; shorter ones can be guessed from one recorded handshake */

static int split_master(Launch *l, const char *master, char **ret_error) {
        const char *colon = strrchr(master, ':');
        _cleanup_free_ char *host = NULL;

        host = strndup(master, (size_t) (colon - master));
        if (!host)
                return -ENOMEM;
        if (host[0] == '[' && endswith(host, "]")) { /* [::1]:4711 */
                host[strlen(host) - 1] = '\0';
                return launch_set_master(l, host + 1, colon + 1, ret_error);
        }
        return launch_set_master(l, host, colon + 1, ret_error);
}

static int from_flags(const Options *o, Launch *l, char **ret_error) {
        l->by = "flags";
        if (o->rank < 0 || o->world < 0) {
                *ret_error = strf("--rank and --world-size go together");
                return -EINVAL;
        }
        if (o->world > 1 && !o->master) {
                *ret_error = strf("--world-size needs --master=HOST:PORT");
                return -EINVAL;
        }
        l->rank = o->rank;
        l->world = o->world;
        l->local_rank = o->local_rank >= 0 ? o->local_rank : o->rank;
        return o->master ? split_master(l, o->master, ret_error) : 0;
}

static int from_torchrun(char *const *env, Launch *l, char **ret_error) {
        long rank = -1, world = -1, local = -1;

        l->by = "torchrun";
        if (environment_number(env, "RANK", 0, 1000000, &rank, ret_error) < 0 ||
                        environment_number(env, "WORLD_SIZE", 1, 1000000, &world, ret_error) < 0 ||
                        environment_number(env, "LOCAL_RANK", 0, 4095, &local, ret_error) < 0)
                return -EINVAL;
        if (rank < 0 || world < 0 || local < 0) {
                *ret_error = strf("$RANK, $WORLD_SIZE and $LOCAL_RANK go together; $%s is missing",
                                rank < 0    ? "RANK"
                                : world < 0 ? "WORLD_SIZE"
                                            : "LOCAL_RANK");
                return -EINVAL;
        }
        l->rank = (int) rank;
        l->world = (int) world;
        l->local_rank = (int) local;
        if (world == 1)
                return 0;
        const char *host = environment_get(env, "MASTER_ADDR"),
                   *port = environment_get(env, "MASTER_PORT");
        if (!host || !port) {
                *ret_error = strf("$%s is missing", host ? "MASTER_PORT" : "MASTER_ADDR");
                return -EINVAL;
        }
        return launch_set_master(l, host, port, ret_error);
}

/* Process 0 of a step runs on the first host of its node list. */
static int from_srun(char *const *env, Launch *l, char **ret_error) {
        long rank = -1, world = -1, local = 0, job = 0, step = 0;
        char port[8], host[256];
        int r;

        l->by = "srun";
        if (environment_number(env, "SLURM_PROCID", 0, 1000000, &rank, ret_error) < 0 ||
                        environment_number(env, "SLURM_LOCALID", 0, 4095, &local, ret_error) < 0 ||
                        environment_number(env, "SLURM_JOB_ID", 0, LONG_MAX, &job, ret_error) < 0 ||
                        environment_number(env, "SLURM_STEP_ID", 0, LONG_MAX, &step, ret_error) < 0)
                return -EINVAL;

        int k = environment_number(env, "SLURM_STEP_NUM_TASKS", 1, 1000000, &world, ret_error);
        if (k == 0)
                k = environment_number(env, "SLURM_NTASKS", 1, 1000000, &world, ret_error);
        if (k < 0)
                return k;
        if (world < 0) {
                *ret_error = strf("$SLURM_NTASKS is missing");
                return -EINVAL;
        }
        l->rank = (int) rank;
        l->world = (int) world;
        l->local_rank = (int) local;
        if (world == 1)
                return 0;

        r = launch_slurm_host(env, host, sizeof(host));
        if (r < 0) {
                *ret_error = strf("$SLURM_STEP_NODELIST is %s",
                                r == -ENOENT ? "missing" : "no node list");
                return -EINVAL;
        }
        /* Steps of one job, and jobs that share a host, keep out of each other's way; 20000 …
         * 29999 lies below the range that Linux gives to outgoing connections (32768 …). */
        snprintf(port, sizeof(port), "%ld", 20000 + (job * 16 + step) % 10000);
        const char *given = environment_get(env, "MASTER_PORT");
        return launch_set_master(l, host, given ? given : port, ret_error);
}

static int read_secret(const Options *o, char *const *env, Launch *l, char **ret_error) {
        _cleanup_free_ char *file = NULL;
        const char *secret = environment_get(env, "NCCLBENCH_SECRET");
        size_t size;
        int r;

        if (o->secret_file) {
                r = read_file(o->secret_file, 4096, &file, &size);
                if (r < 0) {
                        *ret_error = strf("cannot read the secret %s: %s", o->secret_file,
                                        strerror(-r));
                        return -EINVAL;
                }
                while (size > 0 && (file[size - 1] == '\n' || file[size - 1] == '\r'))
                        size--;
                secret = file;
        } else if (secret)
                size = strlen(secret);
        else if (o->perf) {
                /* What runs as nccl-tests is no better guarded than nccl-tests: published job
                 * scripts set no secret. */
                secret = "processes that nobody told a secret";
                size = strlen(secret);
                l->open = true;
        } else {
                *ret_error = strf(
                                "%d processes need a shared secret: export NCCLBENCH_SECRET=$(openssl rand -hex 32) before starting them, or give --secret-file",
                                l->world);
                return -EINVAL;
        }

        if (size < SECRET_MIN) {
                *ret_error = strf("the shared secret has %zu bytes; %d are the least", size,
                                SECRET_MIN);
                return -EINVAL;
        }
        r = message_key_from_secret(secret, size, &l->secret);
        if (r < 0)
                *ret_error = strf("SHA-256: %s", strerror(-r));
        return r;
}

/* Flags, torchrun, MPI, srun: MPI's launcher may itself have been started by srun, whose variables
 * then count its daemons. */
static int detect(const Options *o, char *const *env, Launch *l, char **ret_error) {
        const char *unknown;
        int r;

        if (o->rank >= 0 || o->world >= 0)
                return from_flags(o, l, ret_error);
        if (environment_get(env, "RANK") || environment_get(env, "WORLD_SIZE"))
                return from_torchrun(env, l, ret_error);
        r = launch_from_mpi(env, l, ret_error);
        if (r != 0)
                return MIN(r, 0);
        /* A batch script has SLURM_PROCID too, but it is no step: alone, as without Slurm. */
        if (environment_get(env, "SLURM_PROCID") && environment_get(env, "SLURM_STEP_ID"))
                return from_srun(env, l, ret_error);

        unknown = launch_unknown_launcher(env);
        if (!unknown)
                return 0;
        *ret_error = strf(
                        "$%s says that this is one process of many, but not of how many: give --rank, --world-size and --master, or start it with srun, mpirun or torchrun",
                        unknown);
        return -EINVAL;
}

int launch_detect(const Options *o, char *const *environment, Launch *ret, char **ret_error) {
        Launch l = { .world = 1, .by = "alone" };
        const char *name = environment_get(environment, "SLURMD_NODENAME");
        int r = 0;

        *ret_error = NULL;
        if (name)
                snprintf(l.name, sizeof(l.name), "%s", name);
        else if (gethostname(l.name, sizeof(l.name) - 1) < 0)
                snprintf(l.name, sizeof(l.name), "localhost");

        r = detect(o, environment, &l, ret_error);
        if (r < 0)
                return r;
        if (l.rank >= l.world) {
                *ret_error = strf("this is process %d, but there are %d (0 to %d)", l.rank, l.world,
                                l.world - 1);
                return -EINVAL;
        }
        if (l.world > 1) {
                r = read_secret(o, environment, &l, ret_error);
                if (r < 0)
                        return r;
        }
        *ret = l;
        return 0;
}
