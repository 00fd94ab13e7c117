/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* ncclbench: are this node's GPUs, and the links between them and to others, fast and right?
 *
 * The command line is read here; bench.c measures in a supervised child; report.c prints what the
 * child reports and gives the verdict, whatever becomes of the child; pairs.c finds the bad node
 * among many; load.c keeps the GPUs busy, runtime.c proves the CUDA runtime. */

#include "ncclbench/bench.h"
#include "ncclbench/pairs.h"
#include "shared/log.h"
#include "shared/package-note.h"
#include "shared/spawn.h"

PACKAGE_NOTE("ncclbench", NCCLBENCH_VERSION);

static int run(const Options *options, const Launch *launch) {
        FILE *out = launch->rank == 0 && !options->json ? stdout : NULL;
        int r;

        r = interrupt_install();
        if (r < 0)
                return r;
        if (options->pairs)
                return pairs_run(options, launch);
        return bench_supervised(options, launch, out, NULL);
}

int main(int argc, char *argv[]) {
        _cleanup_free_ char *error = NULL;
        Options options;
        Launch launch;
        int r;

        log_set_program("ncclbench");
        if (options_parse(argc, argv, &options, &error) < 0) {
                log_error("%s; see ncclbench --help", error ? error : "out of memory");
                return 2;
        }
        if (options.help) {
                options_help(stdout);
                return 0;
        }
        if (options.version) {
                printf("ncclbench %s\n", NCCLBENCH_VERSION);
                return 0;
        }
        if (options.completion) {
                r = options_completion(stdout, options.completion);
                return r < 0 ? log_error_errno(r, "Cannot write the completion script"), 1 : 0;
        }

        /* What concerns one host alone does not ask who else was started. */
        if (options.load || options.runtime)
                launch = (Launch) { .world = 1, .by = "alone", .name = "localhost" };
        else if (launch_detect(&options, environ, &launch, &error) < 0) {
                log_error("%s", error ? error : "out of memory");
                return 2;
        }
        if (launch.open && launch.rank == 0)
                log_warning("Without NCCLBENCH_SECRET anybody who reaches port %s may take part, as with nccl-tests",
                                launch.port);
        r = run(&options, &launch);
        if (r < 0) {
                log_error_errno(r, "Cannot start the measuring process");
                return 1;
        }
        return r;
}
