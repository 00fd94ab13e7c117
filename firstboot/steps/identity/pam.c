/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* PAM's stacks belong to the distribution's own tools: Debian's pam-auth-update, EL's
 * authselect. */

#include "steps/identity/pam.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/spawn.h"
#include "shared/strv.h"
#include "shared/time-util.h"

#define TOOL_USEC (60 * USEC_PER_SEC)
#define FILE_MAX (1024 * 1024)

static int run_pam_tool(StepContext *c, char *const argv[]) {
        _cleanup_free_ char *last = NULL, *why = NULL;
        int r = step_command(argv, TOOL_USEC, &last);

        if (r == 0)
                return 0;
        why = step_command_failure(argv[0], r, last);
        return step_fail_later(c, "identity.config", "%s", strempty(why));
}

/* Debian's tool for PAM's stacks. */
static int use_pam_auth_update(StepContext *c) {
        _cleanup_free_ char *session = fb_path("/etc/pam.d/common-session"), *text = NULL;

        if (!session)
                return -ENOMEM;
        if (read_file(session, FILE_MAX, &text, NULL) < 0 || strstr(text, "pam_mkhomedir.so"))
                return 0;
        return run_pam_tool(c, ARGV("pam-auth-update", "--package", "--enable", "mkhomedir"));
}

/* Whether this is a word of `words`, as `authselect current --raw` prints them. */
static bool has_word(const char *words, const char *word) {
        _cleanup_strv_free_ char **all = strv_split(words, " \n");

        return all && strv_contains(all, word);
}

/* EL's tool for PAM's stacks and NSS's order. It refuses to change what somebody else wrote, so it
 * goes before whatever we write ourselves. A profile that the site made is kept. */
static int use_authselect(StepContext *c, bool mkhomedir) {
        static const char feature[] = "with-mkhomedir";
        SpawnOptions o = { .timeout_usec = TOOL_USEC };
        _cleanup_free_ char *current = NULL;
        int status, r;

        r = spawn_capture(&o, ARGV("authselect", "current", "--raw"), &current, &status);
        if (r < 0)
                return step_fail_later(
                                c, "identity.config", "authselect does not run: %s", strerror(-r));
        if (status != 0 || (!startswith(current, "custom/") && !has_word(current, "sssd")))
                return run_pam_tool(c,
                                ARGV("authselect", "select", "sssd", mkhomedir ? feature : NULL));
        if (!mkhomedir || has_word(current, feature))
                return 0;
        return run_pam_tool(c, ARGV("authselect", "enable-feature", feature));
}

int identity_pam(StepContext *c, bool mkhomedir) {
        if (program_find("authselect", NULL))
                return use_authselect(c, mkhomedir);
        return mkhomedir ? use_pam_auth_update(c) : 0;
}
