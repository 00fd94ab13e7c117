/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Users and groups from LDAP: sssd configured and started, NSS, PAM and sshd pointed to it, and
 * all of it proved by looking up a real user, in the directory itself and through sssd. Only both
 * together are a proof: sssd answers from its cache for as long as no server does. */

#include "contract/node-seed.h"
#include "contract/paths.h"
#include "contract/retry.h"
#include "shared/file-util.h"
#include "shared/spawn.h"
#include "shared/time-util.h"
#include "steps/common/attempt.h"
#include "steps/common/own-file.h"
#include "steps/common/unit.h"
#include "steps/identity/directory.h"
#include "steps/identity/pam.h"
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

        r = identity_pam(c, json_get_bool(c->section, "mkhomedir", true));
        if (r < 0)
                return r;
        r = put_nsswitch(c);
        if (r < 0)
                return r;
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
                return step_fail_later(c, "identity.sssd", "sssd.service did not start: %s",
                                unit_job_words(r, result));
        /* Started behind sssd, and not waited for by sssd's job; nobody is found before. */
        if (sockets)
                (void) unit_job(bus, "StartUnit", NSS_SOCKET, UNIT_USEC, NULL);
        return 0;
}

/* Asks sssd itself: files and other sources do not count. *ret_id (may be NULL) is the number that
 * it gives a user or group, NULL where there is none; the caller frees it. */
static bool sssd_knows(const char *database, const char *name, char **ret_id) {
        SpawnOptions o = { .timeout_usec = LOOKUP_USEC };
        _cleanup_strv_free_ char **fields = NULL;
        _cleanup_free_ char *output = NULL;
        int status;

        if (spawn_capture(&o, ARGV("getent", "-s", "sss", database, name), &output, &status) < 0 ||
                        status != 0)
                return false;
        if (ret_id) {
                fields = strv_split(output, ":\n"); /* alice:*:20001:20000: … */
                *ret_id = strv_length(fields) > 2 ? strdup(fields[2]) : NULL;
        }
        return true;
}

/* What was found so far. */
typedef struct Proof {
        DirectoryAnswer directory; /* its own word */
        bool user, group;          /* sssd's */
        char *uid;                 /* sssd's; NULL: it says none */
} Proof;

static void proof_done(Proof *p) {
        directory_answer_done(&p->directory);
        free(p->uid);
}

/* sssd has another number for the user than the directory: an entry of its cache that is old. */
static bool is_stale(const Proof *p) {
        return p->user && p->uid && !p->directory.code && p->directory.uid &&
               !streq(p->uid, p->directory.uid);
}

static int gather(StepContext *c, Proof *p) {
        const char *user = json_get_string(c->section, "probe_user"),
                   *group = json_get_string(c->section, "probe_group");
        int r;

        if (!p->directory.uri || p->directory.code) {
                directory_answer_done(&p->directory);
                r = directory_ask(c->section, &p->directory);
                if (r < 0)
                        return r;
        }
        if (!p->user || is_stale(p)) {
                free(TAKE_PTR(p->uid));
                p->user = sssd_knows("passwd", user, &p->uid);
        }
        if (p->user && !p->group)
                p->group = !group || sssd_knows("group", group, NULL);
        return 0;
}

static bool sssd_is_right(const Proof *p) {
        return p->user && p->group && !is_stale(p);
}

/* What keeps sssd from telling what the directory has: that it is offline, or started before a CA
 * file was replaced, or an entry that it takes for fresh. */
static void wake_sssd(StepContext *c, sd_bus *bus, const Proof *p, bool *fresh) {
        SpawnOptions o = { .timeout_usec = LOOKUP_USEC };
        int status;

        if (is_stale(p))
                (void) spawn_run(&o,
                                ARGV("sss_cache", "-u", json_get_string(c->section, "probe_user")),
                                &status);
        /* sssd(8): to go online at once. By itself it would leave the server alone for longer and
         * longer. */
        if (*fresh)
                (void) unit_signal(bus, "sssd.service", SIGUSR2);
        else
                (void) unit_job(bus, "RestartUnit", "sssd.service", UNIT_USEC, NULL);
        *fresh = true;
}

/* What is said once the time is up. */
static int judge(StepContext *c, const Proof *p) {
        const DirectoryAnswer *d = &p->directory;
        const char *user = json_get_string(c->section, "probe_user"),
                   *group = json_get_string(c->section, "probe_group");

        if (!d->code && !p->user)
                return step_fail_later(c, "identity.no-user",
                                "%s has user %s, but sssd does not find him", d->uri, user);
        if (!d->code && !p->group)
                return step_fail_later(c, "identity.no-group",
                                "%s has group %s, but sssd does not find it; user %s it does",
                                d->uri, group, user);
        if (!d->code)
                return step_fail_later(c, "identity.stale",
                                "sssd has user %s with the number %s, %s with %s", user, p->uid,
                                d->uri, d->uid);
        if (d->answered)
                return step_fail_later(c, d->code, "%s %s is not in %s: %s%s",
                                streq(d->code, "identity.no-group") ? "group" : "user",
                                streq(d->code, "identity.no-group") ? group : user, d->uri, d->text,
                                p->user ? "; what sssd knows of users is its cache's" : "");
        if (sssd_is_right(p))
                return step_degrade_for_now(c, "identity.cache-only",
                                "user %s is known by sssd's cache alone; %s: %s", user, d->uri,
                                d->text);
        return step_fail_later(c, d->code, "%s: %s", d->uri, d->text);
}

/* Asks the directory itself and sssd until both know the probes. An sssd that was not started just
 * now is started afresh if it does not find them at once. */
static int prove(StepContext *c, sd_bus *bus, bool fresh) {
        _cleanup_(proof_done) Proof p = {};
        RetryLoop loop = RETRY_LOOP_LDAP(
                        c->seed, now_usec() + attempt_give_up(c, c->section, 180 * USEC_PER_SEC));
        uint64_t pause;
        int r;

        for (;;) {
                r = gather(c, &p);
                if (r < 0)
                        return r;
                if (!p.directory.code && sssd_is_right(&p))
                        return step_done(c, "user %s found in %s and through sssd",
                                        json_get_string(c->section, "probe_user"), p.directory.uri);
                if (!retry_again(&loop, now_usec(), &pause))
                        return judge(c, &p);

                usleep((useconds_t) pause);
                if (!sssd_is_right(&p))
                        wake_sssd(c, bus, &p, &fresh);
        }
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
                return unit_fail_no_bus(c, "identity.sssd", r);

        r = configure(c, sockets, &changes);
        if (r < 0)
                return r;
        r = start(c, bus, &changes, sockets, &fresh);
        if (r < 0)
                return r;
        return prove(c, bus, fresh);
}
