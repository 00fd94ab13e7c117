/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstbootctl's exit codes: 0 all probes pass, 1 one failed ("CODE: message" on a line), anything
 * else: it could not look. */

#include "steps/common/health.h"
#include "contract/codes.h"
#include "contract/paths.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/time-util.h"

/* check --quick takes a second; Slurm's own limit (PrologEpilogTimeout) is the site's. */
#define CHECK_USEC (30 * USEC_PER_SEC)

/* The first line that names a reason code. */
static int find_code(const char *output, char **ret_code, char **ret_text) {
        for (const char *p = output; *p; p += strcspn(p, "\n"), p += *p == '\n') {
                size_t n = strcspn(p, "\n"), colon = strcspn(p, ":\n");
                _cleanup_free_ char *code = strndup(p, colon);

                if (!code)
                        return -ENOMEM;
                if (colon + 2 > n || p[colon + 1] != ' ' || !code_find(code))
                        continue;
                *ret_text = strndup(p + colon + 2, n - colon - 2);
                if (!*ret_text)
                        return -ENOMEM;
                *ret_code = TAKE_PTR(code);
                return 0;
        }
        return -ENOENT;
}

static int say(const char *code, char *text, char **ret_code, char **ret_text) {
        char *c = strdup(code);

        if (!c || !text) {
                free(c);
                free(text);
                return -ENOMEM;
        }
        *ret_code = c;
        *ret_text = text;
        return 0;
}

int health_check(const HealthCodes *own, char **ret_code, char **ret_text) {
        _cleanup_free_ char *program = fb_path("/usr/bin/firstbootctl"), *output = NULL;
        SpawnOptions o = { .timeout_usec = CHECK_USEC };
        int r, status = 0;

        if (!program)
                return -ENOMEM;
        r = spawn_capture(&o, ARGV(program, "check", "--quick"), &output, &status);
        if (r == 0 && status == 0)
                return HEALTH_GOOD;
        if (r == 0 && status == 1) {
                r = find_code(output, ret_code, ret_text);
                if (r == -ENOENT)
                        r = say(own->failed, strf("firstbootctl check names no code"), ret_code,
                                        ret_text);
                return r < 0 ? r : HEALTH_BAD;
        }

        if (output)
                output[strcspn(output, "\n")] = '\0';
        r = say(own->unavailable,
                        r < 0 ? strf("firstbootctl check: %s", strerror(-r))
                              : strf("firstbootctl check ended with %d: %s", status, output),
                        ret_code, ret_text);
        return r < 0 ? r : HEALTH_UNKNOWN;
}

int health_before_lift(StepContext *c, const HealthCodes *own, const char *what) {
        _cleanup_free_ char *code = NULL, *text = NULL;
        int health = health_check(own, &code, &text);

        if (health <= HEALTH_GOOD)
                return health;
        log_info("%s stays: %s: %s", what, code, text);
        if (health == HEALTH_BAD)
                return step_fail_later(c, own->failed,
                                "%s stays, for firstbootctl check found %s: %s", what, code, text);
        return step_fail_later(c, code, "%s stays: %s", what, text);
}
