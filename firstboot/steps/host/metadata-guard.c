/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A table of nftables of our own, in a file that a unit loads at each boot and whenever the
 * distribution's nftables.service, which flushes all tables, is started or reloaded. */

#include "steps/host/metadata-guard.h"
#include "contract/paths.h"
#include "steps/common/own-file.h"
#include "steps/common/unit.h"

#include <pwd.h>

#define RULES "/etc/firstboot/metadata-guard.nft"
#define UNIT "firstboot-metadata-guard.service"
#define TABLE "firstboot_metadata"
#define COMMAND_USEC (30 * USEC_PER_SEC)

/* Where clouds have the service: AWS, Azure, GCP and OCI; Azure's wire server; Alibaba; then AWS,
 * GCP and OCI by IPv6. Their name servers have the same addresses, at port 53. What has no socket
 * of this machine's (forwarded for a container) has no user either. */
static const char rules_begin[] =
                "# Written by firstboot from metadata.root_only.\n"
                "table inet " TABLE "\n"
                "delete table inet " TABLE "\n"
                "table inet " TABLE " {\n"
                "        chain services {\n"
                "                tcp dport 53 accept\n"
                "                ip daddr { 169.254.169.254, 168.63.129.16, 100.100.100.200 } meta l4proto tcp reject with tcp reset\n"
                "                ip6 daddr { fd00:ec2::254, fd20:ce::254, fd00:c1::a9fe:a9fe } meta l4proto tcp reject with tcp reset\n"
                "        }\n"
                "        chain forward {\n"
                "                type filter hook forward priority filter; policy accept;\n"
                "                jump services\n"
                "        }\n"
                "        chain output {\n"
                "                type filter hook output priority filter; policy accept;\n"
                "                meta skuid { 0";
static const char rules_end[] = " } accept\n"
                                "                jump services\n"
                                "        }\n"
                                "}\n";

bool metadata_guard_is_wanted(json_object *config) {
        _cleanup_free_ char *path = fb_path(RULES);

        return json_get_bool(json_get(config, "metadata"), "root_only", false) ||
               (path && access(path, F_OK) >= 0);
}

/* The rules with the users that may ask besides root. */
static int make_rules(StepContext *c, json_object *users, char **ret) {
        _cleanup_strv_free_ char **l = NULL;
        size_t n = json_array_length(users);
        int r;

        r = strv_extend(&l, rules_begin);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++) {
                const char *name = json_object_get_string(json_object_array_get_idx(users, i));
                const struct passwd *p = getpwnam(name);

                if (!p)
                        return step_fail(c, "host.metadata",
                                        "metadata.users names %s, and there is no such user", name);
                r = strv_extendf(&l, ", %u", p->pw_uid);
                if (r < 0)
                        return r;
        }
        r = strv_extend(&l, rules_end);
        if (r < 0)
                return r;

        *ret = strv_join(l, "");
        return *ret ? 0 : -ENOMEM;
}

static int nft(StepContext *c, char *const argv[]) {
        _cleanup_free_ char *last = NULL, *why = NULL;
        int r = step_command(argv, COMMAND_USEC, &last);

        if (r == -ENOENT)
                return step_fail(c, "host.metadata",
                                "metadata.root_only needs nft, which is not installed");
        if (r == 0)
                return 0;
        why = step_command_failure("nft", r, last);
        return step_fail(c, "host.metadata", "%s", strempty(why));
}

/* For the boots to come, and for when the distribution's firewall flushes all tables. */
static int keep(StepContext *c, sd_bus *bus) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_free_ char *result = NULL;
        int r;

        r = sd_bus_call_method(bus, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER, "EnableUnitFiles",
                        &error, NULL, "asbb", 1, UNIT, 0, 1);
        if (r < 0)
                return step_fail_later(c, "host.metadata", "%s not enabled: %s", UNIT,
                                error.message ? error.message : strerror(-r));
        r = unit_job(bus, "RestartUnit", UNIT, COMMAND_USEC, &result);
        if (r < 0)
                return step_fail_later(c, "host.metadata", "%s did not start: %s", UNIT,
                                unit_job_words(r, result));
        return 0;
}

static int take_away(StepContext *c, sd_bus *bus, const char *path) {
        _cleanup_free_ char *result = NULL;
        int r;

        r = nft(c, ARGV("nft", "table inet " TABLE "; delete table inet " TABLE));
        if (r < 0)
                return r;
        (void) sd_bus_call_method(bus, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER, "DisableUnitFiles",
                        NULL, NULL, "asb", 1, UNIT, 0);
        (void) unit_job(bus, "StopUnit", UNIT, COMMAND_USEC, &result);
        if (unlink(path) < 0 && errno != ENOENT)
                return step_fail(c, "host.metadata", "%s not removed: %s", RULES, strerror(errno));
        return 0;
}

int metadata_guard_apply(StepContext *c, sd_bus *bus) {
        json_object *settings = json_get(c->config, "metadata");
        _cleanup_free_ char *path = fb_path(RULES), *rules = NULL;
        int r;

        if (!path)
                return -ENOMEM;
        if (!json_get_bool(settings, "root_only", false))
                return take_away(c, bus, path);

        r = make_rules(c, json_get(settings, "users"), &rules);
        if (r < 0)
                return r;
        r = own_file_put(RULES, rules, 0644, true);
        if (r < 0)
                return step_fail_later(
                                c, "host.metadata", "%s not written: %s", RULES, strerror(-r));
        r = keep(c, bus);
        if (r < 0)
                return r;
        /* Once more by ourselves: that the unit was started is not yet the proof. */
        return nft(c, ARGV("nft", "-f", path));
}
