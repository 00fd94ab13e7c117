/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads a node from scontrol's output. */

#include "steps/slurm/node.h"
#include "shared/strv.h"

/* Copies the value of KEY= from one of the lines, up to the next blank, or to the line's end for a
 * reason. */
static bool field(const char *output, const char *key, const char *end, char *to, size_t size) {
        for (const char *p = output; (p = strstr(p, key)); p++) {
                /* A key that begins with blanks is the first of its line. */
                if (p != output && p[-1] != '\n' && (*key == ' ' || p[-1] != ' '))
                        continue;
                p += strlen(key);
                snprintf(to, size, "%.*s", (int) MIN(strcspn(p, end), size - 1), p);
                return true;
        }
        return false;
}

/* "text [root@2026-01-01T00:00:00]": without the stamp. */
static void cut_stamp(char *reason) {
        char *stamp = NULL;

        for (char *p = reason; (p = strstr(p, " [")); p++)
                if (p[strcspn(p, "@]")] == '@' && p[strlen(p) - 1] == ']')
                        stamp = p;
        if (stamp)
                *stamp = '\0';
}

int node_parse(const char *output, NodeInfo *ret) {
        NodeInfo info = {};

        if (!field(output, "State=", " \n", info.state, sizeof(info.state)))
                return -ENOENT;
        (void) field(output, "NextState=", " \n", info.next_state, sizeof(info.next_state));
        /* A line of its own, so that no comment before it is taken for it. */
        if (field(output, "   Reason=", "\n", info.reason, sizeof(info.reason)) ||
                        field(output, "Reason=", "\n", info.reason, sizeof(info.reason)))
                cut_stamp(info.reason);
        *ret = info;
        return 0;
}

bool node_state_has(const char *state, const char *flag) {
        _cleanup_strv_free_ char **words = strv_split(state, "+*~#!%$@^-");

        return strv_contains(words, flag);
}

bool node_state_answers(const char *state) {
        static const char *const absent[] = { "UNKNOWN", "FUTURE", "NOT_RESPONDING", "POWERED_DOWN",
                "POWERING_UP", "POWERING_DOWN", "INVALID_REG", "REBOOT_ISSUED" };

        /* A '*' behind the state: the node does not respond. */
        if (strchr(state, '*'))
                return false;
        for (size_t i = 0; i < ELEMENTSOF(absent); i++)
                if (node_state_has(state, absent[i]))
                        return false;
        return true;
}
