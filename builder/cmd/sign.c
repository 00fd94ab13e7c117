/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild sign: a build's folder, with a key that is a file or a credential of the service that
 * runs this. Never on the command line, where every user of the host could read it. */

#include "cmd/verb.h"
#include "release/release.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/strv.h"

#define CREDENTIAL_KEY "imgbuild.minisign-key"
#define CREDENTIAL_PASSPHRASE "imgbuild.minisign-passphrase"

enum { OPT_PASSPHRASE = OPT_VERB, OPT_GPG };

/* NULL where the service manager handed over no such credential, or on out of memory. */
static char *credential(const char *name) {
        const char *folder = getenv("CREDENTIALS_DIRECTORY");
        _cleanup_free_ char *path = isempty(folder) ? NULL : path_join(folder, name);

        return path && access(path, F_OK) >= 0 ? TAKE_PTR(path) : NULL;
}

static int run(VerbCall *call) {
        _cleanup_free_ char *key = NULL, *passphrase = NULL;
        SignOptions o = *(SignOptions *) call->options;
        int r;

        if (!o.key && !o.gpg)
                o.key = key = credential(CREDENTIAL_KEY);
        if (!o.passphrase)
                o.passphrase = passphrase = credential(CREDENTIAL_PASSPHRASE);
        if (!o.key && !o.gpg) {
                log_error("With which key? --key=FILE, --gpg=KEY, or the credential " CREDENTIAL_KEY);
                return EXIT_USAGE;
        }
        o.more = call->arguments + 1;
        r = release_sign(call->arguments[0], &o);
        return r > 0 ? EXIT_FAILED : r;
}

static const OptionSpec options[] = {
        { "key", 'k', "FILE", "minisign's secret key", COMPLETE_FILE },
        { "passphrase", OPT_PASSPHRASE, "FILE", "with the passphrase of the key, where it has one",
                        COMPLETE_FILE },
        { "gpg", OPT_GPG, "KEY", "sign by GPG, with this key of your own keyring" },
        {},
};

static int take(void *values, int id, const char *value) {
        SignOptions *o = values;

        switch (id) {
        case 'k':
                o->key = value;
                return 0;
        case OPT_PASSPHRASE:
                o->passphrase = value;
                return 0;
        default:
                o->gpg = value;
                return 0;
        }
}

const Verb verb_sign = {
        .spec = { "sign", "sign a build, so that others can verify it", options, "FOLDER",
                        COMPLETE_FOLDER },
        .usage = "FOLDER [FILE…] [OPTION…]",
        .about = "Writes the sums of all files that a build left in FOLDER (and of FILEs there) to release.sha256,\n"
                 "and signs that. A folder that is not what its build left is not signed.",
        .min_arguments = 1,
        .max_arguments = 1000,
        .wanted = "takes the folder of a build, out/NAME",
        .options_size = sizeof(SignOptions),
        .take = take,
        .run = run,
};
