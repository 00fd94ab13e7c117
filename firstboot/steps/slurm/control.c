/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* scontrol's words, read; and scontrol run. */

#include "steps/slurm/control.h"
#include "contract/paths.h"
#include "shared/spawn.h"

#include <time.h>

#define SCONTROL_USEC (30 * USEC_PER_SEC)
#define REASON_MAX 200

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
        struct tm tm = { .tm_isdst = -1 };

        if (!p || !strptime(p + strlen(start), "%Y-%m-%dT%H:%M:%S", &tm))
                return -EBADMSG;
        time_t t = mktime(&tm);
        if (t == (time_t) -1)
                return -EBADMSG;
        *ret_seconds = t;
        return 0;
}

/* Copies the value of KEY= up to the next blank, or for Reason up to its date in brackets. */
static bool field(const char *output, const char *key, char *to, size_t size) {
        for (const char *p = output; (p = strstr(p, key)); p++) {
                if (p != output && p[-1] != ' ' && p[-1] != '\n')
                        continue;
                p += strlen(key);
                size_t n = streq(key, "Reason=") ? strcspn(p, "\n") : strcspn(p, " \n");
                snprintf(to, size, "%.*s", (int) MIN(n, size - 1), p);
                return true;
        }
        return false;
}

int node_parse(const char *output, NodeInfo *ret) {
        NodeInfo info = {};

        if (!field(output, "State=", info.state, sizeof(info.state)))
                return -ENOENT;
        if (field(output, "Reason=", info.reason, sizeof(info.reason))) {
                /* "Reason=text [root@2026-01-01T00:00:00]" may be followed by further fields. */
                char *stamp = info.reason;

                for (char *p = info.reason; (p = strstr(p, " [")); p++)
                        stamp = p;
                if (stamp != info.reason && strchr(stamp, '@'))
                        *stamp = '\0';
        }
        *ret = info;
        return 0;
}

bool node_state_has(const char *state, const char *flag) {
        _cleanup_strv_free_ char **words = strv_split(state, "+*~#!%$@^-");

        return strv_contains(words, flag);
}

bool node_state_is_registered(const char *state) {
        static const char *const absent[] = { "UNKNOWN", "FUTURE", "DOWN", "NOT_RESPONDING",
                "POWERED_DOWN", "POWERING_UP", "INVALID_REG" };

        /* A '*' behind the state: the node does not respond. */
        if (strchr(state, '*'))
                return false;
        for (size_t i = 0; i < ELEMENTSOF(absent); i++)
                if (node_state_has(state, absent[i]))
                        return false;
        return true;
}

char *client_conf(json_object *slurm) {
        json_object *list = json_get(slurm, "controllers");
        const char *port = NULL;
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
        if (setenv("SLURM_CONF", conf, 1) < 0)
                return -ENOMEM;

        SpawnOptions o = { .timeout_usec = SCONTROL_USEC };
        r = spawn_capture(&o, argv, &output, &status);
        if (r < 0)
                return r;
        *ret_output = TAKE_PTR(output);
        return status;
}

char *drain_reason(const char *code, const char *text) {
        char *reason = strf("%s %s: %s", DRAIN_MARK, code, text);

        for (char *p = reason; p && *p; p++)
                if (*p == '"' || *p == '\'' || *p == '\n' || *p == '\\' ||
                                (unsigned char) *p < 0x20)
                        *p = ' ';
        if (reason && strlen(reason) > REASON_MAX)
                reason[REASON_MAX] = '\0';
        return reason;
}
