/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the program says about its own command line: --help and --completion. */

#include "ncclbench/option-table.h"
#include "shared/strv.h"

static void help_option(FILE *f, const OptionInfo *info) {
        const OptionSpec *s = &info->spec;
        char left[40];

        snprintf(left, sizeof(left), "%c%c%c --%s%s%s", s->id ? '-' : ' ', s->id ? s->id : ' ',
                        s->id ? ',' : ' ', s->name, s->argument ? "=" : "", strempty(s->argument));
        fprintf(f, "  %-30s %s\n", left, s->help);
}

void options_help(FILE *f) {
        fprintf(f, "ncclbench [OPERATION] [OPTIONS]\n"
                   "ncclbench pairs [OPTIONS]        under srun, one task a node: which node is bad?\n"
                   "ncclbench load [OPTIONS]         memory, tensor cores and copies between all GPUs\n"
                   "ncclbench runtime [OPTIONS]      the CUDA runtime that programs get\n\n"
                   "Measures and checks NCCL operations over the GPUs of this host or of many.\n"
                   "OPERATION: all_reduce (default)");
        for (size_t i = 1; i < collective_count; i++)
                fprintf(f, ", %s", collective_table[i].name);
        fprintf(f, " or all\n\n");

        for (size_t i = 0; i < option_count; i++)
                help_option(f, &option_table[i]);

        fprintf(f, "\n"
                   "Exit status: 0 all is well, 1 something is wrong (the last line has the reason), 2 usage.\n");
}

int options_completion(FILE *f, const char *shell) {
        _cleanup_strv_free_ char **operations = NULL;
        _cleanup_free_ char *words = NULL;
        OptionSpec specs[OPTION_COUNT_MAX] = {};
        ProgramSpec program = {
                .name = "ncclbench",
                .options = specs,
                .argument = "OPERATION",
                .value = COMPLETE_CHOICES,
        };
        int r;

        for (size_t i = 0; i < option_count; i++) {
                specs[i] = option_table[i].spec;
                specs[i].id = option_id(&option_table[i]);
        }

        for (size_t i = 0; i < collective_count; i++) {
                r = strv_extend(&operations, collective_table[i].name);
                if (r < 0)
                        return r;
        }
        r = strv_extend_many(&operations, "all", "pairs", "load", "runtime", NULL);
        if (r < 0)
                return r;
        words = strv_join(operations, " ");
        if (!words)
                return -ENOMEM;
        program.words = words;
        return completion_write(f, shell, &program);
}
