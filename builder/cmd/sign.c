/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild sign: a build's folder, with a key that is a file or a credential of the service that
 * runs this. Never on the command line, where every user of the host could read it. */

#include "cmd/credential.h"
#include "cmd/verb.h"
#include "release/release.h"
#include "shared/log.h"
#include "shared/strv.h"

enum { OPT_PASSPHRASE = OPT_VERB, OPT_GPG, OPT_PUBLIC };

static int run(VerbCall *call) {
        _cleanup_free_ char *key = NULL, *passphrase = NULL;
        SignOptions o = *(SignOptions *) call->options;
        int r;

        if (!o.key && !o.gpg)
                o.key = key = credential_find(CREDENTIAL_KEY);
        if (!o.passphrase)
                o.passphrase = passphrase = credential_find(CREDENTIAL_PASSPHRASE);
        if (!o.key && !o.gpg) {
                log_error("With which key? --key=FILE, --gpg=KEY, or the credential " CREDENTIAL_KEY);
                return EXIT_USAGE;
        }
        if (o.public && !o.key)
                return log_error_return(EXIT_USAGE,
                                "--public=FILE is for a key of --key, not for one of GPG's");
        o.more = call->arguments + 1;
        r = release_sign(call->arguments[0], &o);
        return r > 0 ? EXIT_FAILED : r;
}

static const OptionSpec options[] = {
        { "key", 'k', "FILE",
                        "minisign's secret key, or pkcs11:token=NAME;object=LABEL, one in a token",
                        COMPLETE_FILE },
        { "passphrase", OPT_PASSPHRASE, "FILE",
                        "with the passphrase of the key, where it has one, or the token's PIN",
                        COMPLETE_FILE },
        { "public", OPT_PUBLIC, "FILE", "write the key's public half there, for 'imgbuild verify'",
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
        case OPT_PUBLIC:
                o->public = value;
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
