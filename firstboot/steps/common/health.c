/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* firstbootctl's exit codes: 0 all probes pass, 1 one failed ("CODE: message" on a line), anything
 * else: it could not look. */

#include "steps/common/health.h"
#include "contract/codes.h"
#include "contract/paths.h"
#include "contract/result.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/strv.h"
#include "shared/time-util.h"

/* check --quick takes a second; Slurm's own limit (PrologEpilogTimeout) is the site's. */
#define CHECK_USEC (30 * USEC_PER_SEC)

/* A code of firstboot's, or one that a site's own step gave: STEP.what. */
static bool is_code(const char *word) {
        return code_find(word) || (strchr(word, '.') && result_code_is_valid(word));
}

/* Takes "CODE: message" apart. 1, 0 where the line is something else, or -ENOMEM. What is let pass
 * comes on standard error, and so before what is not. */
static int take_line(const char *line, char **ret_code, char **ret_text) {
        const char *colon = strstr(line, ": ");
        _cleanup_free_ char *code = colon ? strndup(line, (size_t) (colon - line)) : NULL;

        if (!colon || endswith(line, " (let pass)"))
                return 0;
        if (!code)
                return -ENOMEM;
        if (!is_code(code))
                return 0;
        *ret_text = strdup(colon + 2);
        if (!*ret_text)
                return -ENOMEM;
        *ret_code = TAKE_PTR(code);
        return 1;
}

/* The first line that names a reason code. */
static int find_code(const char *output, char **ret_code, char **ret_text) {
        _cleanup_strv_free_ char **lines = strv_split(output, "\n");

        if (!lines)
                return -ENOMEM;
        STRV_FOREACH (line, lines) {
                int r = take_line(*line, ret_code, ret_text);

                if (r != 0)
                        return MIN(r, 0);
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
