/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstboot-gpu-facts: what the gpu step sees, one "KEY=VALUE" a line, for eyes and for comparison
 * with nvidia-smi. It needs nothing but the C library (`make gpu-facts`), no firstbootd and no
 * configuration. */

#include "shared/log.h"
#include "shared/parse-number.h"
#include "steps/gpu/gather.h"
#include "steps/gpu/judge.h"

#include <getopt.h>

#define TIMEOUT_SECONDS 120

static void usage(FILE *to) {
        fprintf(to, "Usage: firstboot-gpu-facts [--no-bandwidth] [--findings] [--timeout SECONDS]\n"
                    "\n"
                    "Prints what the gpu step sees of this machine's GPUs.\n"
                    "\n"
                    "  --no-bandwidth      does not measure host-to-device and device-to-host\n"
                    "  --findings          then what is wrong by the default limits; exit code 1 if\n"
                    "                      there is anything\n"
                    "  --timeout SECONDS   limit for NVML's answers, and for the bandwidth (120)\n");
}

int main(int argc, char *argv[]) {
        static const struct option options[] = {
                { "no-bandwidth", no_argument, NULL, 'n' },
                { "findings", no_argument, NULL, 'f' },
                { "timeout", required_argument, NULL, 't' },
                { "help", no_argument, NULL, 'h' },
                {},
        };
        _cleanup_gpu_facts_ GpuFacts *facts = gpu_facts_new();
        _cleanup_gpu_findings_ GpuFindings findings = {};
        GpuWish wish = gpu_wish_default();
        uint64_t timeout = TIMEOUT_SECONDS;
        bool judge = false;
        int o;

        if (!facts)
                return log_oom(), EXIT_FAILURE;
        while ((o = getopt_long(argc, argv, "", options, NULL)) >= 0)
                switch (o) {
                case 'n':
                        wish.bandwidth = false;
                        break;
                case 'f':
                        judge = true;
                        break;
                case 't':
                        if (parse_number(optarg, 10, &timeout) < 0 || timeout == 0 ||
                                        timeout > 3600) {
                                log_error("--timeout takes seconds from 1 to 3600.");
                                return 2;
                        }
                        break;
                case 'h':
                        usage(stdout);
                        return EXIT_SUCCESS;
                default:
                        usage(stderr);
                        return 2;
                }
        if (optind < argc) {
                usage(stderr);
                return 2;
        }
        gpu_gather(facts, wish.bandwidth, timeout * USEC_PER_SEC);
        gpu_facts_print(facts, stdout);
        if (!judge)
                return EXIT_SUCCESS;
        if (gpu_judge(facts, &wish, &findings) < 0)
                return log_oom(), EXIT_FAILURE;
        for (size_t i = 0; i < findings.n; i++) {
                _cleanup_free_ char *text = gpu_finding_sentence(&findings.items[i]);

                printf("finding=%s %s %s\n", gpu_code_names[findings.items[i].code],
                                gpu_action_names[findings.items[i].action], strempty(text));
        }
        return findings.n > 0;
}
