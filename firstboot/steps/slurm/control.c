/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs scontrol and reads what it says. */

#include "steps/slurm/control.h"
#include "contract/paths.h"
#include "shared/spawn.h"

#include <time.h>

#define SCONTROL_USEC (30 * USEC_PER_SEC)

ProbeKind probe_judge(int exit_code, const char *output) {
        static const struct {
                const char *words;
                ProbeKind kind;
        } table[] = {
                { "Rewound credential", PROBE_CLOCK },
                { "Expired credential", PROBE_CLOCK },
                { "Invalid credential", PROBE_MISMATCH },
                { "Failed to access \"", PROBE_MUNGE },
                { "munged down", PROBE_MUNGE },
                { "Munge encode failed", PROBE_MUNGE },
                { "Zero Bytes were transmitted", PROBE_MISMATCH },
                { "Protocol authentication error", PROBE_MISMATCH },
                { "Unable to contact slurm controller", PROBE_UNREACHABLE },
                { "Connection refused", PROBE_UNREACHABLE },
                { "Unable to resolve", PROBE_UNREACHABLE },
                { "Unable to establish", PROBE_UNREACHABLE },
        };

        if (exit_code == 0 && strstr(output, "Configuration data as of"))
                return PROBE_GOOD;
        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (strstr(output, table[i].words))
                        return table[i].kind;
        return PROBE_OTHER;
}

int probe_clock(const char *output, int64_t *ret_seconds) {
        static const char start[] = "Configuration data as of ";
        const char *p = strstr(output, start);
        struct tm tm = {};

        if (!p || !strptime(p + strlen(start), "%Y-%m-%dT%H:%M:%S", &tm))
                return -EBADMSG;
        time_t t = timegm(&tm);
        if (t == (time_t) -1)
                return -EBADMSG;
        *ret_seconds = t;
        return 0;
}

char *client_conf(json_object *slurm) {
        json_object *list = json_get(slurm, "controllers");
        const char *port = NULL, *user = json_get_string(slurm, "slurm_user");
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        if (!f)
                return NULL;
        fprintf(f, "# Written by firstboot, for its own calls of scontrol only.\nClusterName=%s\n",
                        json_get_string(slurm, "cluster_name"));
        for (size_t i = 0; i < json_object_array_length(list); i++) {
                const char *c = json_object_get_string(json_object_array_get_idx(list, i)),
                           *colon = strchr(c, ':');

                fprintf(f, "SlurmctldHost=%.*s\n", (int) (colon ? colon - c : (long) strlen(c)), c);
                if (colon && !port)
                        port = colon + 1;
        }
        if (port)
                fprintf(f, "SlurmctldPort=%s\n", port);
        if (user) /* else root, as slurm.conf has it */
                fprintf(f, "SlurmUser=%s\n", user);
        fprintf(f, "AuthType=auth/munge\nMessageTimeout=10\n");
        if (fclose(f) != 0) {
                free(text);
                return NULL;
        }
        return text;
}

int scontrol(char *const args[], char **ret_output) {
        _cleanup_strv_free_ char **argv = NULL;
        _cleanup_free_ char *conf = fb_path(PATH_SLURM_CLIENT_CONF), *output = NULL;
        int r, status;

        if (!conf)
                return -ENOMEM;
        r = strv_extend(&argv, "scontrol");
        if (r < 0)
                return r;
        r = strv_extend_strv(&argv, args);
        if (r < 0)
                return r;
        if (setenv("SLURM_CONF", conf, 1) < 0 || setenv("TZ", "UTC", 1) < 0 ||
                        setenv("LC_ALL", "C", 1) < 0 || unsetenv("SLURM_TIME_FORMAT") < 0)
                return -ENOMEM;

        SpawnOptions o = { .timeout_usec = SCONTROL_USEC };
        r = spawn_capture(&o, argv, &output, &status);
        if (r < 0)
                return r;
        *ret_output = TAKE_PTR(output);
        return status;
}
