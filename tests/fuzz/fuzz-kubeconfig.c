/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as a kubeconfig, which before a join comes from whoever answers at the endpoint: what
 * is taken from it is a part of one of its lines. */

#include "contract/kubeconfig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(const char *value, const char *text) {
        if (!value || (*value && !strchr(value, '\n') && strstr(text, value)))
                return;
        fprintf(stderr, "fuzz-kubeconfig: a value that does not stand there\n");
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *text = strndup((const char *) data, size);
        _cleanup_kubeconfig_ Kubeconfig k = {};

        if (kubeconfig_parse(text, &k) < 0)
                return 0;
        if (!k.server)
                abort();
        expect(k.server, text);
        expect(k.ca_data, text);
        expect(k.ca_file, text);
        expect(k.cert_data, text);
        expect(k.cert_file, text);
        expect(k.key_data, text);
        expect(k.key_file, text);
        return 0;
}
