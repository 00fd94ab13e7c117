/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild verify: whether a build's folder, or one image in it, is what was built and signed. */

#include "cmd/verb.h"
#include "release/release.h"
#include "shared/file-util.h"
#include "shared/log.h"

#include <sys/stat.h>

enum { OPT_KEYRING = OPT_VERB, OPT_LOCK };

static int run(VerbCall *call) {
        VerifyOptions o = *(VerifyOptions *) call->options;
        const char *what = call->arguments[0];
        _cleanup_free_ char *folder = NULL;
        struct stat st;
        int r;

        if (stat(what, &st) < 0) {
                r = -errno;
                log_error_errno(r, "Cannot read %s", what);
                return r == -EACCES ? EXIT_HOST : EXIT_BAD_INPUT;
        }
        if (!S_ISDIR(st.st_mode)) {
                folder = path_folder(what);
                if (!folder)
                        return log_oom();
                o.image = path_basename(what);
        }
        r = release_verify(folder ? folder : what, &o);
        if (r < 0)
                return r;
        if (r > 0)
                return EXIT_FAILED;
        printf("%s: every check passed\n", what);
        return EXIT_OK;
}

static const OptionSpec options[] = {
        { "key", 'k', "FILE", "minisign's public key, of who must have signed it", COMPLETE_FILE },
        { "keyring", OPT_KEYRING, "FILE", "GPG's public keys, one of which must have signed it",
                        COMPLETE_FILE },
        { "lock", OPT_LOCK, "FILE", "the lock that it must have been built from", COMPLETE_FILE },
        {},
};

static int take(void *values, int id, const char *value) {
        VerifyOptions *o = values;

        switch (id) {
        case 'k':
                o->key = value;
                return 0;
        case OPT_KEYRING:
                o->keyring = value;
                return 0;
        default:
                o->lock = value;
                return 0;
        }
}

const Verb verb_verify = {
        .spec = { "verify", "prove that a build is what was built and signed", options,
                        "FOLDER|IMAGE", COMPLETE_FILE },
        .usage = "FOLDER|IMAGE [OPTION…]",
        .about = "Checks a build's folder, or one image in it, against signature, sums, manifest and lock.\n"
                 "Exit code 0 where everything holds, 1 where something does not: each such thing is told.",
        .min_arguments = 1,
        .max_arguments = 1,
        .wanted = "takes the folder of a build, out/NAME, or one image in it",
        .options_size = sizeof(VerifyOptions),
        .take = take,
        .run = run,
};
