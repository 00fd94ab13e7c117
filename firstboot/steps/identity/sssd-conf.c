/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the identity section means in the words of sssd.conf and nsswitch.conf. */

#include "steps/identity/sssd-conf.h"
#include "shared/strv.h"

static void line(FILE *f, const char *key, const char *value) {
        if (!isempty(value))
                fprintf(f, "%s = %s\n", key, value);
}

char *sssd_conf(json_object *identity, bool sockets) {
        json_object *uris = json_get(identity, "uri");
        bool ssh = json_get_bool(identity, "ssh_keys", true),
             plain = json_get_bool(identity, "allow_plain", false);
        bool starttls = json_get_bool(identity, "starttls", true);
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        if (!f)
                return NULL;

        fprintf(f, "# Written by firstboot from the identity section of the node configuration.\n"
                   "[sssd]\nconfig_file_version = 2\ndomains = firstboot\n");
        if (!sockets)
                fprintf(f, "services = nss, pam%s\n", ssh ? ", ssh" : "");

        fprintf(f, "\n[domain/firstboot]\nid_provider = ldap\nauth_provider = ldap\nldap_uri = ");
        for (size_t i = 0; uris && i < json_object_array_length(uris); i++)
                fprintf(f, "%s%s", i ? ", " : "",
                                json_object_get_string(json_object_array_get_idx(uris, i)));
        fputc('\n', f);

        line(f, "ldap_search_base", json_get_string(identity, "base"));
        line(f, "ldap_user_search_base", json_get_string(identity, "user_base"));
        line(f, "ldap_group_search_base", json_get_string(identity, "group_base"));

        const char *schema = json_get_string(identity, "schema");
        line(f, "ldap_schema",
                        schema && streq(schema, "ipa")  ? "IPA"
                        : schema && streq(schema, "ad") ? "AD"
                                                        : schema);
        line(f, "ldap_default_bind_dn", json_get_string(identity, "bind_dn"));
        if (json_get_string(identity, "bind_dn"))
                line(f, "ldap_default_authtok", json_get_string(identity, "bind_password"));

        line(f, "ldap_tls_cacert", json_get_string(identity, "ca_file"));
        fprintf(f, "ldap_tls_reqcert = demand\nldap_id_use_start_tls = %s\n",
                        starttls ? "true" : "false");
        /* sssd refuses to authenticate over plain LDAP unless told; only the configuration may
         * tell. */
        if (plain && !starttls)
                fprintf(f, "ldap_auth_disable_tls_never_use_in_production = true\n");

        /* Seconds until a server that was away is asked again. sssd's own 60, doubled each time up
         * to an hour, would keep a node waiting for a directory that has long come up. */
        fprintf(f, "offline_timeout = 10\noffline_timeout_max = 60\n"
                   "offline_timeout_random_offset = 10\n");

        if (ssh)
                fprintf(f, "ldap_user_ssh_public_key = sshPublicKey\n");
        fprintf(f, "cache_credentials = true\n"
                   "enumerate = false\n"
                   "fallback_homedir = /home/%%u\n"
                   "default_shell = /bin/bash\n");
        if (fclose(f) != 0) {
                free(text);
                return NULL;
        }
        return text;
}

/* Whether a line of nsswitch.conf (n bytes) is of a database that sssd serves, and lacks it. */
static bool wants_sss(const char *l, size_t n) {
        static const char *const databases[] = { "passwd:", "group:", "shadow:" };
        _cleanup_free_ char *copy = strndup(l, n);
        _cleanup_strv_free_ char **words = copy ? strv_split(copy, " \t:") : NULL;
        bool served = false;

        for (size_t i = 0; copy && i < ELEMENTSOF(databases); i++)
                served = served || startswith(copy, databases[i]);
        return served && !strv_contains(words, "sss");
}

/* Copies the line with sss behind what it has. */
static void add_sss(FILE *f, const char *l, size_t n) {
        while (n > 0 && (l[n - 1] == ' ' || l[n - 1] == '\t'))
                n--;
        fprintf(f, "%.*s sss", (int) n, l);
}

char *nsswitch_with_sss(const char *old) {
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        if (!f)
                return NULL;
        while (*old) {
                size_t n = strcspn(old, "\n");

                if (wants_sss(old, n))
                        add_sss(f, old, n);
                else
                        fwrite(old, 1, n, f);
                old += n;
                if (*old == '\n')
                        fputc(*old++, f);
        }
        if (fclose(f) != 0) {
                free(text);
                return NULL;
        }
        return text;
}
