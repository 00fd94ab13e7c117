/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads a kubeconfig line by line: server, CA, client certificate and key, and refuses what it
 * cannot be sure of. */

#include "contract/kubeconfig.h"
#include "shared/strv.h"

void kubeconfig_done(Kubeconfig *k) {
        free(k->server);
        free(k->ca_data);
        free(k->ca_file);
        free(k->cert_data);
        free(k->cert_file);
        free(k->key_data);
        free(k->key_file);
        *k = (Kubeconfig) {};
}

static char **slot_of(Kubeconfig *k, const char *key, size_t n) {
        const struct {
                const char *key;
                char **slot;
        } slots[] = {
                { "server", &k->server },
                { "certificate-authority-data", &k->ca_data },
                { "certificate-authority", &k->ca_file },
                { "client-certificate-data", &k->cert_data },
                { "client-certificate", &k->cert_file },
                { "client-key-data", &k->key_data },
                { "client-key", &k->key_file },
        };

        for (size_t i = 0; i < ELEMENTSOF(slots); i++)
                if (strlen(slots[i].key) == n && strncmp(slots[i].key, key, n) == 0)
                        return slots[i].slot;
        return NULL;
}

/* The value without blanks and quotes around it; NULL on out of memory. */
static char *value_of(const char *text, size_t n) {
        while (n > 0 && strchr(" \t\r", text[n - 1]))
                n--;
        while (n > 0 && strchr(" \t", text[0])) {
                text++;
                n--;
        }
        if (n >= 2 && strchr("\"'", text[0]) && text[n - 1] == text[0])
                return strndup(text + 1, n - 2);
        return strndup(text, n);
}

static int take_line(Kubeconfig *k, const char *line, size_t n) {
        size_t blanks = MIN(strspn(line, " \t-"), n), key;
        _cleanup_free_ char *value = NULL;
        char **slot;

        line += blanks;
        n -= blanks;
        key = strcspn(line, ":\n");
        if (key >= n)
                return 0;
        slot = slot_of(k, line, key);
        if (!slot)
                return 0;
        value = value_of(line + key + 1, n - key - 1);
        if (!value)
                return -ENOMEM;
        if (isempty(value))
                return 0;
        if (*slot && !streq(*slot, value))
                return -ENOTUNIQ;
        free(*slot);
        *slot = TAKE_PTR(value);
        return 0;
}

int kubeconfig_parse(const char *text, Kubeconfig *ret) {
        _cleanup_kubeconfig_ Kubeconfig k = {};
        int r;

        for (const char *p = text; *p;) {
                size_t n = strcspn(p, "\n");

                r = take_line(&k, p, n);
                if (r < 0)
                        return r;
                p += n + (p[n] == '\n');
        }
        if (!k.server)
                return -EBADMSG;
        *ret = k;
        k = (Kubeconfig) {};
        return 0;
}
