/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* ncclbench: are this node's GPUs, and the links between them and to others, fast and right?
 *
 * The command line is read here; bench.c measures in a supervised child; report.c prints what the
 * child reports and gives the verdict, whatever becomes of the child; pairs.c finds the bad node
 * among many. */

#include "ncclbench/bench.h"
#include "shared/log.h"
#include "ncclbench/pairs.h"
#include "shared/spawn.h"

extern char **environ;

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
        if (launch_detect(&options, environ, &launch, &error) < 0) {
                log_error("%s", error ? error : "out of memory");
                return 2;
        }
        r = interrupt_install();
        if (r >= 0 && options.pairs)
                r = pairs_run(&options, &launch);
        else if (r >= 0)
                r = bench_supervised(&options, &launch,
                                launch.rank == 0 && !options.json ? stdout : NULL, NULL);
        if (r < 0) {
                log_error_errno(r, "Cannot start the measuring process");
                return 1;
        }
        return r;
}
