/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A lookup in the directory by libldap, which sssd uses as well: what it takes for good, sssd does.
 * Of a handshake that failed it knows little more than that; tls_probe() finds the reason then. */

#include "daemon/helper/directory.h"
#include "daemon/helper/tls-probe.h"
#include "contract/paths.h"
#include "shared/strv.h"

#include <ldap.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

/* sssd's own limits, of a connection and of an answer (sssd-ldap(5), ldap_network_timeout and
 * ldap_opt_timeout). */
#define CONNECT_SEC 6
#define ANSWER_SEC 8
/* With GnuTLS, libldap waits in a handshake for as long as the server is silent: from outside,
 * until the bind is done, and then for the searches, referrals among them. */
#define BIND_LIMIT_SEC 8
#define SEARCH_LIMIT_SEC 24

/* The domain of sssd's that firstboot configures: a name may be written with it. */
#define DOMAIN_SUFFIX "@firstboot"

typedef struct Directory {
        LDAP *ld;
        json_object *identity;
        const char *uri;
        char *ca_file;
        bool tls; /* nothing travels in the clear */
        bool starttls;
} Directory;

static void directory_done(Directory *d) {
        if (d->ld)
                (void) ldap_unbind_ext(d->ld, NULL, NULL);
        free(d->ca_file);
}

static void url_freep(LDAPURLDesc **u) {
        ldap_free_urldesc(*u);
}

static void message_freep(LDAPMessage **m) {
        (void) ldap_msgfree(*m);
}

/* What an entry says of itself. */
typedef struct Entry {
        bool found;
        char *uid, *gid; /* NULL: it does not say */
} Entry;

static void entry_done(Entry *e) {
        free(e->uid);
        free(e->gid);
}

/* Prints the answer; text may be NULL. */
static int give(const char *kind, const char *text, const Entry *e) {
        _cleanup_json_ json_object *o = json_object_new_object();

        if (!o || json_set_fields(o, JSON_STRING("kind", kind), JSON_STRING("text", strempty(text)),
                                  JSON_STRING("uid", e ? e->uid : NULL),
                                  JSON_STRING("gid", e ? e->gid : NULL)) < 0)
                return 1;
        puts(json_line(o));
        return streq(kind, "ok") ? 0 : 1;
}

/* The server's own words after a result, or libldap's for the code. */
static char *words_of(LDAP *ld, int code) {
        char *said = NULL, *text;

        (void) ldap_get_option(ld, LDAP_OPT_DIAGNOSTIC_MESSAGE, &said);
        text = isempty(said) ? strf("%s", ldap_err2string(code))
                             : strf("%s (%s)", ldap_err2string(code), said);
        ldap_memfree(said);
        return text;
}

/* The connection failed before the server answered as one of LDAP: TLS tells most. */
static int give_connection(const Directory *d, int code) {
        _cleanup_(url_freep) LDAPURLDesc *url = NULL;
        _cleanup_free_ char *words = words_of(d->ld, code), *port = NULL, *text = NULL;
        const char *kind, *why = NULL;

        if (code == LDAP_TIMEOUT)
                return give("timeout", TLS_PROBE_SILENT, NULL);
        if (!d->tls)
                return give("unreachable", words, NULL);
        if (ldap_url_parse(d->uri, &url) != LDAP_URL_SUCCESS)
                return give("unreachable", "the URI cannot be read", NULL);

        port = strf("%d", url->lud_port > 0 ? url->lud_port : d->starttls ? 389 : 636);
        if (!port)
                return 1;
        kind = tls_probe(strempty(url->lud_host), port, d->ca_file, d->starttls, &why);
        if (!streq(kind, "ok"))
                return give(kind, why, NULL);
        text = strf("TLS is good, but LDAP over it is not: %s", strempty(words));
        return give("protocol", text, NULL);
}

static int bind_as_configured(LDAP *ld, json_object *identity) {
        const char *dn = json_get_string(identity, "bind_dn"),
                   *password = json_get_string(identity, "bind_password");
        struct berval secret = { strlen(strempty(password)), (char *) strempty(password) };

        if (!dn) /* as sssd: who does not bind is anonymous */
                return LDAP_SUCCESS;
        return ldap_sasl_bind_s(ld, dn, LDAP_SASL_SIMPLE, &secret, NULL, NULL, NULL);
}

/* Another server that this one refers to: as safe as the first, or not at all. */
static int on_referral(LDAP *ld, const char *url, ber_tag_t request, ber_int_t id, void *userdata) {
        const Directory *d = userdata;
        int code = LDAP_SUCCESS;

        (void) request, (void) id;
        if (d->tls && !startswith(url, "ldaps://"))
                code = ldap_start_tls_s(ld, NULL, NULL);
        return code == LDAP_SUCCESS ? bind_as_configured(ld, d->identity) : code;
}

/* libldap's settings, for this connection alone. False where one is not taken. */
static bool set_options(Directory *d) {
        struct timeval connect = { .tv_sec = CONNECT_SEC }, answer = { .tv_sec = ANSWER_SEC };
        int version = LDAP_VERSION3, demand = LDAP_OPT_X_TLS_DEMAND, client = 0;

        if (ldap_set_option(d->ld, LDAP_OPT_PROTOCOL_VERSION, &version) != 0 ||
                        ldap_set_option(d->ld, LDAP_OPT_NETWORK_TIMEOUT, &connect) != 0 ||
                        ldap_set_option(d->ld, LDAP_OPT_TIMEOUT, &answer) != 0 ||
                        ldap_set_rebind_proc(d->ld, on_referral, d) != 0)
                return false;
        if (d->ca_file && ldap_set_option(d->ld, LDAP_OPT_X_TLS_CACERTFILE, d->ca_file) != 0)
                return false;
        return ldap_set_option(d->ld, LDAP_OPT_X_TLS_REQUIRE_CERT, &demand) == 0 &&
               ldap_set_option(d->ld, LDAP_OPT_X_TLS_NEWCTX, &client) == 0;
}

/* The filter that sssd would use for the name, by schema (sssd-ldap(5), ldap_user_name and so
 * on). */
static char *filter_for(json_object *identity, bool user, const char *name, const char *also) {
        const char *schema = strempty(json_get_string(identity, "schema")), *kind, *key;
        size_t n = strlen(name) - (endswith(name, DOMAIN_SUFFIX) ? strlen(DOMAIN_SUFFIX) : 0);
        struct berval plain = { n, (char *) name }, escaped = {};
        char *filter;

        if (ldap_bv2escaped_filter_value(&plain, &escaped) != 0)
                return NULL;
        if (streq(schema, "ad")) {
                kind = user ? "(objectClass=user)" : "(objectClass=group)";
                key = "sAMAccountName";
        } else {
                kind = user ? "(objectClass=posixAccount)"
                       : streq(schema, "ipa")
                                       ? "(|(objectClass=ipaUserGroup)(objectClass=posixGroup))"
                                       : "(objectClass=posixGroup)";
                key = user ? "uid" : "cn";
        }
        filter = strf("(&%s(%s=%s)%s)", kind, key, escaped.bv_val, strempty(also));
        ber_memfree(escaped.bv_val);
        return filter;
}

static char *first_value(LDAP *ld, LDAPMessage *entry, const char *attribute) {
        struct berval **values = ldap_get_values_len(ld, entry, attribute);
        char *value = values && values[0] ? strndup(values[0]->bv_val, values[0]->bv_len) : NULL;

        ldap_value_free_len(values);
        return value;
}

/* An entry that came counts, whatever came after it: a continuation that leads nowhere, say. */
static int search_one(LDAP *ld, const char *base, int scope, const char *filter, Entry *e) {
        _cleanup_(message_freep) LDAPMessage *result = NULL;
        struct timeval limit = { .tv_sec = ANSWER_SEC };
        static char uid[] = "uidNumber", gid[] = "gidNumber";
        char *attributes[] = { uid, gid, NULL };
        int code;

        code = ldap_search_ext_s(
                        ld, base, scope, filter, attributes, 0, NULL, NULL, &limit, 2, &result);
        LDAPMessage *entry = result ? ldap_first_entry(ld, result) : NULL;
        if (!entry)
                return code;
        e->found = true;
        e->uid = first_value(ld, entry, "uidNumber");
        e->gid = first_value(ld, entry, "gidNumber");
        return LDAP_SUCCESS;
}

static int scope_of(const char *word) {
        return streq(word, "base")                             ? LDAP_SCOPE_BASE
               : streq(word, "one") || streq(word, "onelevel") ? LDAP_SCOPE_ONELEVEL
                                                               : LDAP_SCOPE_SUBTREE;
}

/* The next part of "BASE?SCOPE?FILTER?BASE…", cut off in place; *rest is NULL after the last. */
static const char *next_part(char **rest) {
        char *part = *rest, *mark = part ? strchr(part, '?') : NULL;

        *rest = mark ? mark + 1 : NULL;
        if (mark)
                *mark = '\0';
        return strempty(part);
}

/* Looks for the name below each base: one, or as sssd has several, "BASE?SCOPE?FILTER?BASE…".
 * LDAP's code of the last one that was searched. */
static int search(const Directory *d, bool user, const char *name, Entry *e) {
        const char *bases = json_get_string(d->identity, user ? "user_base" : "group_base");
        _cleanup_free_ char *copy = strdup(
                        strempty(isempty(bases) ? json_get_string(d->identity, "base") : bases));
        int code = LDAP_NO_MEMORY;

        for (char *rest = copy; rest && !e->found;) {
                const char *base = next_part(&rest), *scope = next_part(&rest),
                           *also = next_part(&rest);
                _cleanup_free_ char *bare = also[0] && also[0] != '(' ? strf("(%s)", also) : NULL,
                                    *filter = filter_for(
                                                    d->identity, user, name, bare ? bare : also);

                if (!filter)
                        return LDAP_NO_MEMORY;
                code = search_one(d->ld, base, scope_of(scope), filter, e);
                if (code != LDAP_SUCCESS && code != LDAP_NO_SUCH_OBJECT)
                        return code;
        }
        return code;
}

/* The connection did not hold, whatever was asked over it. */
static bool is_connection(int code) {
        return code == LDAP_SERVER_DOWN || code == LDAP_CONNECT_ERROR || code == LDAP_TIMEOUT ||
               code == LDAP_UNAVAILABLE || code == LDAP_BUSY;
}

/* A search that the server did not do: for want of rights, or for another reason. */
static int give_search(const Directory *d, int code) {
        _cleanup_free_ char *words = words_of(d->ld, code), *text = NULL;

        switch (code) {
        case LDAP_STRONG_AUTH_REQUIRED:
        case LDAP_INAPPROPRIATE_AUTH:
        case LDAP_INSUFFICIENT_ACCESS:
        case LDAP_UNWILLING_TO_PERFORM: /* OpenLDAP's "require authc" */
                return give("bind", words, NULL);
        case LDAP_REFERRAL:
                text = strf("it refers to another server, which does not answer: %s",
                                strempty(words));
                return give("search", text, NULL);
        default:
                return give("search", words, NULL);
        }
}

/* One name looked up; true where it is there. *ret is the program's exit code where it is not. */
static bool look_up(const Directory *d, bool user, Entry *e, int *ret) {
        const char *name = json_get_string(d->identity, user ? "probe_user" : "probe_group");
        int code = search(d, user, strempty(name), e);

        if (e->found)
                return true;
        if (code == LDAP_SUCCESS)
                *ret = give(user ? "no-user" : "no-group", "it has no such entry", NULL);
        else if (code == LDAP_NO_SUCH_OBJECT)
                *ret = give(user ? "no-user" : "no-group", "the search base is not there", NULL);
        else
                *ret = is_connection(code) ? give_connection(d, code) : give_search(d, code);
        return false;
}

static int give_bind(const Directory *d, int code) {
        _cleanup_free_ char *words = NULL;

        if (is_connection(code))
                return give_connection(d, code);
        words = words_of(d->ld, code);
        return give("bind", words, NULL);
}

static void on_limit(int signal) {
        static const char answer[] = "{\"kind\":\"timeout\",\"text\":\"" TLS_PROBE_SILENT "\"}\n";
        ssize_t n = write(STDOUT_FILENO, answer, sizeof(answer) - 1);

        (void) signal, (void) n;
        _exit(1);
}

int directory_probe(json_object *identity, const char *uri) {
        _cleanup_(directory_done) Directory d = { .identity = identity, .uri = uri };
        _cleanup_(entry_done) Entry user = {}, group = {};
        const char *ca = json_get_string(identity, "ca_file");
        int code, r = 1;

        (void) signal(SIGPIPE, SIG_IGN); /* a server that hangs up is an error of the call's */
        (void) signal(SIGALRM, on_limit);
        alarm(BIND_LIMIT_SEC);

        d.starttls = startswith(uri, "ldap://") && json_get_bool(identity, "starttls", true);
        d.tls = d.starttls || startswith(uri, "ldaps://");
        d.ca_file = ca ? fb_path(ca) : NULL;
        if (ca && !d.ca_file)
                return 1;
        if (ldap_initialize(&d.ld, uri) != LDAP_SUCCESS)
                return give("unreachable", "the URI cannot be read", NULL);
        if (!set_options(&d))
                return d.tls ? give_connection(&d, LDAP_CONNECT_ERROR)
                             : give("search", "libldap does not take its settings", NULL);

        if (d.starttls) {
                code = ldap_start_tls_s(d.ld, NULL, NULL);
                if (code != LDAP_SUCCESS)
                        return give_connection(&d, code);
        }
        code = bind_as_configured(d.ld, identity);
        if (code != LDAP_SUCCESS)
                return give_bind(&d, code);
        alarm(SEARCH_LIMIT_SEC);

        if (!look_up(&d, true, &user, &r))
                return r;
        if (json_get_string(identity, "probe_group") && !look_up(&d, false, &group, &r))
                return r;
        return give("ok", NULL, &user);
}
