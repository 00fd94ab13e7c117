/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild sbom: what is in a build and from what it was made, as others' programs read it. */

#include "cmd/verb.h"
#include "release/release.h"

static int run(VerbCall *call) {
        int r = release_write_sbom(call->arguments[0]);

        return r > 0 ? EXIT_FAILED : r;
}

static const OptionSpec options[] = {
        {},
};

const Verb verb_sbom = {
        .spec = { "sbom", "write what a build is made of: SPDX, CycloneDX, SLSA", options, "FOLDER",
                        COMPLETE_FOLDER },
        .usage = "FOLDER [OPTION…]",
        .about = "Writes into a build's folder what the image is made of: release.spdx.json (SPDX 2.3),\n"
                 "release.cdx.json (CycloneDX 1.5), release.provenance.json (in-toto, SLSA provenance v1).\n"
                 "'imgbuild sign' signs them with the rest.",
        .min_arguments = 1,
        .max_arguments = 1,
        .wanted = "takes the folder of a build, out/NAME",
        .run = run,
};
