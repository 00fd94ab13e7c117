/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Users and groups from LDAP: sssd configured and started, NSS, PAM and sshd pointed to it, and
 * all of it proved by looking up a real user. Where that fails, the TLS connection is examined for
 * the reason. */

#include "contract/node-seed.h"
#include "contract/paths.h"
#include "contract/retry.h"
#include "shared/file-util.h"
#include "shared/spawn.h"
#include "shared/time-util.h"
#include "steps/common/attempt.h"
#include "steps/common/own-file.h"
#include "steps/common/unit.h"
#include "steps/identity/server-order.h"
#include "steps/identity/sssd-conf.h"
#include "steps/steps.h"

#include <signal.h>
#include <sys/stat.h>

#define SSSD_CONF "/etc/sssd/sssd.conf"
#define NSSWITCH "/etc/nsswitch.conf"
#define SSHD_CONF "/etc/ssh/sshd_config.d/50-firstboot.conf"
#define NSS_SOCKET "sssd-nss.socket"
/* Enabled by Debian's packages: there, responders are started by socket. */
#define NSS_SOCKET_ENABLED "/etc/systemd/system/sssd.service.wants/" NSS_SOCKET
#define UNIT_USEC (60 * USEC_PER_SEC)
#define LOOKUP_USEC (15 * USEC_PER_SEC)
#define FILE_MAX (1024 * 1024)

/* Whether the file's rights are as wanted. sssd's own unit lets its group read what was written
 * 0600; that is no reason to write it again. */
static bool has_mode(const char *path, mode_t wanted) {
        struct stat st;

        if (stat(path, &st) < 0)
                return false;
        return (st.st_mode & 07777 & ~(wanted == 0600 ? 0040u : 0u)) == wanted;
}

/* 1 where the file was changed, 0 where content and mode were right. */
static int put_file(StepContext *c, const char *name, const char *text, mode_t mode) {
        _cleanup_free_ char *path = fb_path(name);
        int r;

        if (!path)
                return -ENOMEM;
        r = own_file_put(name, text, mode, true);
        if (r == 0 && !has_mode(path, mode)) {
                r = write_file_durable(path, text, strlen(text), mode);
                r = r < 0 ? r : 1;
        }
        if (r < 0)
                return step_fail_later(
                                c, "identity.config", "%s not written: %s", name, strerror(-r));
        return r;
}

static int put_nsswitch(StepContext *c) {
        _cleanup_free_ char *path = fb_path(NSSWITCH), *old = NULL, *text = NULL;
        int r;

        r = path ? read_file(path, FILE_MAX, &old, NULL) : -ENOMEM;
        if (r < 0)
                return step_fail(c, "identity.config", "%s not read: %s", NSSWITCH, strerror(-r));
        text = nsswitch_with_sss(old);
        return text ? put_file(c, NSSWITCH, text, 0644) : -ENOMEM;
}

static int run_pam_tool(StepContext *c, char *const argv[]) {
        _cleanup_free_ char *last = NULL;
        int r = step_command(argv, UNIT_USEC, &last);

        if (r == 0)
                return 0;
        return step_fail_later(c, "identity.config", "%s: %s", argv[0],
                        r == -ENOENT ? "is not installed" : strempty(last));
}

/* PAM stacks belong to the distribution's own tools. */
static int enable_mkhomedir(StepContext *c) {
        _cleanup_free_ char *session = fb_path("/etc/pam.d/common-session"), *text = NULL;

        if (session && read_file(session, FILE_MAX, &text, NULL) >= 0) {
                if (strstr(text, "pam_mkhomedir.so"))
                        return 0;
                return run_pam_tool(
                                c, ARGV("pam-auth-update", "--package", "--enable", "mkhomedir"));
        }
        if (!program_find("authselect", NULL))
                return 0;
        return run_pam_tool(c, ARGV("authselect", "select", "sssd", "with-mkhomedir"));
}

static int check_ca(StepContext *c) {
        const char *ca = json_get_string(c->section, "ca_file");
        _cleanup_free_ char *path = ca ? fb_path(ca) : NULL, *text = NULL;
        int r;

        if (!ca)
                return 0;
        r = path ? read_file(path, FILE_MAX, &text, NULL) : -ENOMEM;
        if (r < 0)
                return step_fail_later(c, "identity.ca-file", "%s: %s", ca, strerror(-r));
        if (!strstr(text, "-----BEGIN CERTIFICATE-----") &&
                        !strstr(text, "-----BEGIN TRUSTED CERTIFICATE-----"))
                return step_fail(c, "identity.ca-file", "%s holds no certificate in PEM form", ca);
        return 0;
}

typedef struct Changes {
        bool sssd, sshd; /* its configuration was written anew */
} Changes;

static int configure(StepContext *c, bool sockets, Changes *ret) {
        static const char sshd[] = "# Written by firstboot: keys come from LDAP through sssd.\n"
                                   "AuthorizedKeysCommand /usr/bin/sss_ssh_authorizedkeys\n"
                                   "AuthorizedKeysCommandUser nobody\n";
        _cleanup_free_ char *text = sssd_conf(c->section, sockets);
        int r;

        if (!text)
                return -ENOMEM;
        r = put_file(c, SSSD_CONF, text, 0600);
        if (r < 0)
                return r;
        ret->sssd = r > 0;

        r = put_nsswitch(c);
        if (r < 0)
                return r;
        if (json_get_bool(c->section, "mkhomedir", true)) {
                r = enable_mkhomedir(c);
                if (r < 0)
                        return r;
        }
        if (!json_get_bool(c->section, "ssh_keys", true))
                return 0;
        r = put_file(c, SSHD_CONF, sshd, 0644);
        if (r < 0)
                return r;
        ret->sshd = r > 0;
        return 0;
}

/* sshd may be there under either name (with Debian's, the other is its alias), or not be started
 * yet: all is fine. */
static void reload_sshd(sd_bus *bus) {
        if (unit_job(bus, "ReloadOrTryRestartUnit", "ssh.service", UNIT_USEC, NULL) == -ENOENT)
                (void) unit_job(bus, "ReloadOrTryRestartUnit", "sshd.service", UNIT_USEC, NULL);
}

/* Starts sssd, or afresh where its configuration was changed; sshd reads its own anew meanwhile.
 * *ret_fresh: sssd was started just now. */
static int start(StepContext *c, sd_bus *bus, const Changes *changes, bool sockets,
                bool *ret_fresh) {
        _cleanup_(unit_wait_freep) UnitWait *sssd = NULL;
        _cleanup_free_ char *result = NULL;
        int r;

        *ret_fresh = changes->sssd || !unit_is_active(bus, "sssd.service");
        r = unit_begin(bus, changes->sssd ? "RestartUnit" : "StartUnit", "sssd.service", UNIT_USEC,
                        &result, &sssd);
        if (changes->sshd)
                reload_sshd(bus);
        r = r < 0 ? r : unit_wait(sssd, UNIT_USEC, &result);
        if (r < 0)
                return step_fail_later(c, "identity.sssd", "sssd.service: %s",
                                isempty(result) ? strerror(-r) : result);
        /* Started behind sssd, and not waited for by sssd's job; nobody is found before. */
        if (sockets)
                (void) unit_job(bus, "StartUnit", NSS_SOCKET, UNIT_USEC, NULL);
        return 0;
}

/* Asks sssd itself: files and other sources do not count. Returns getent's exit code or negative
 * errno. */
static int lookup(const char *database, const char *name) {
        SpawnOptions o = { .timeout_usec = LOOKUP_USEC };
        int r, status;

        r = spawn_run(&o, ARGV("getent", "-s", "sss", database, name), &status);
        return r < 0 ? r : status;
}

/* "ldaps://host:port/…" in its parts; the port is the scheme's where none is given. */
static int split_uri(const char *uri, bool *ret_ldaps, char **ret_host, char **ret_port) {
        const char *rest = startswith(uri, "ldaps://");

        *ret_ldaps = rest != NULL;
        if (!rest)
                rest = uri + strlen("ldap://");
        const char *colon = strchr(rest, ':');

        *ret_host = strndup(rest, strcspn(rest, ":/"));
        *ret_port = colon ? strndup(colon + 1, strcspn(colon + 1, "/"))
                          : strdup(*ret_ldaps ? "636" : "389");
        return *ret_host && *ret_port ? 0 : -ENOMEM;
}

/* What the helper says of the server's TLS, as a code; NULL: nothing is wrong with it. *ret_text
 * then points into what it said. */
static const char *code_of(const char *said, const char **ret_text) {
        static const struct {
                const char *kind, *code;
        } kinds[] = {
                { "unreachable", "identity.unreachable" },
                { "timeout", "identity.unreachable" },
                { "certificate", "identity.certificate" },
                { "ca-file", "identity.ca-file" },
                { "protocol", "identity.protocol" },
        };

        for (size_t i = 0; i < ELEMENTSOF(kinds); i++) {
                const char *text = startswith(said, kinds[i].kind);

                if (!text || text[0] != ':')
                        continue;
                *ret_text = text + 2;
                return kinds[i].code;
        }
        return NULL;
}

/* Why no user comes: the first server's TLS tells most. */
static int diagnose(StepContext *c, const char *uri, bool starttls) {
        const char *user = json_get_string(c->section, "probe_user"),
                   *ca = json_get_string(c->section, "ca_file"), *code = NULL, *text;
        _cleanup_free_ char *helper = fb_path(PATH_HELPER), *host = NULL, *port = NULL,
                            *output = NULL;
        SpawnOptions o = { .timeout_usec = LOOKUP_USEC };
        bool ldaps;
        int r, status;

        r = split_uri(uri, &ldaps, &host, &port);
        if (r < 0 || !helper)
                return -ENOMEM;
        if (!ldaps && !starttls)
                return step_fail_later(c, "identity.no-user", "user %s is not found through %s",
                                user, uri);

        r = spawn_capture(&o, ARGV(helper, "tls", host, port, strempty(ca), ldaps ? "no" : "yes"),
                        &output, &status);
        if (r < 0 || !startswith(output, "ok:")) {
                if (r >= 0)
                        output[strcspn(output, "\n")] = '\0';
                code = r >= 0 ? code_of(output, &text) : NULL;
                if (code)
                        return step_fail_later(c, code, "%s: %s", uri, text);
                return step_fail_later(c, "identity.no-user",
                                "user %s is not found; TLS to %s could not be tried", user, uri);
        }
        return step_fail_later(c, "identity.no-user",
                        "user %s is not found, though TLS to %s works", user, uri);
}

/* Looks the probes up until they are found. An sssd that was not started just now is started
 * afresh if it does not find them at once: it may hold on to a CA file that has been replaced
 * since. */
static int prove(StepContext *c, sd_bus *bus, bool fresh) {
        const char *user = json_get_string(c->section, "probe_user"),
                   *group = json_get_string(c->section, "probe_group");
        json_object *uris = json_get(c->section, "uri");
        RetryLoop loop = RETRY_LOOP_LDAP(
                        c->seed, now_usec() + attempt_give_up(c, c->section, 180 * USEC_PER_SEC));
        uint64_t pause;
        bool found_user = false;

        for (;;) {
                if (!found_user)
                        found_user = lookup("passwd", user) == 0;
                if (found_user && (!group || lookup("group", group) == 0))
                        return 0;
                if (!retry_again(&loop, now_usec(), &pause))
                        break;

                usleep((useconds_t) pause);

                /* sssd(8): to go online at once. By itself it would leave the server alone for
                 * longer and longer. */
                if (fresh)
                        (void) unit_signal(bus, "sssd.service", SIGUSR2);
                else
                        (void) unit_job(bus, "RestartUnit", "sssd.service", UNIT_USEC, NULL);
                fresh = true;
        }

        if (found_user)
                return step_fail_later(c, "identity.no-group", "group %s is not found; user %s is",
                                group, user);
        return diagnose(c, json_object_get_string(json_object_array_get_idx(uris, 0)),
                        json_get_bool(c->section, "starttls", true));
}

int identity_run(StepContext *c) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_free_ char *sssd = fb_path("/usr/sbin/sssd"),
                            *enabled = fb_path(NSS_SOCKET_ENABLED);
        Changes changes = {};
        bool sockets, fresh = true;
        int r;

        if (!c->section)
                return step_skip(c, "no identity section in the configuration");
        if (!sssd || !enabled)
                return -ENOMEM;
        if (access(sssd, X_OK) < 0)
                return step_fail(
                                c, "identity.not-installed", "/usr/sbin/sssd: %s", strerror(errno));

        servers_order(c->section, retry_seed(node_seed(), "ldap servers"));
        sockets = access(enabled, F_OK) >= 0;
        r = check_ca(c);
        if (r < 0)
                return r;

        /* First: what is written must be followed by a start or a reload, in this run. */
        r = unit_bus(&bus);
        if (r < 0)
                return step_fail_later(c, "identity.sssd", "the system bus does not answer: %s",
                                strerror(-r));

        r = configure(c, sockets, &changes);
        if (r < 0)
                return r;
        r = start(c, bus, &changes, sockets, &fresh);
        if (r < 0)
                return r;
        r = prove(c, bus, fresh);
        if (r < 0)
                return r;
        return step_done(
                        c, "user %s found through sssd", json_get_string(c->section, "probe_user"));
}
