/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Services are switched through systemd; what counts is the kernel's rules. A service may run and
 * let everything in (ufw that nobody enabled, Debian's nftables.conf as it comes), and rules may
 * stay that no service of these made (netfilter-persistent of a cloud's image). */

#include "steps/host/firewall.h"
#include "contract/paths.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "steps/common/unit.h"

#define UNIT_USEC (60 * USEC_PER_SEC)
#define LIST_USEC (20 * USEC_PER_SEC)

static bool same(json_object *a, json_object *b, const char *key) {
        const char *x = json_get_string(a, key), *y = json_get_string(b, key);

        return x && y && streq(x, y);
}

/* One thing that a rule does or asks; the verdict among them. */
static bool is_drop(json_object *e) {
        const char *target = json_get_string(json_get(e, "xt"), "name");

        return json_object_object_get_ex(e, "drop", NULL) ||
               json_object_object_get_ex(e, "reject", NULL) ||
               (target && (streq(target, "DROP") || streq(target, "REJECT")));
}

/* It only looks on: every packet passes it. */
static bool is_idle(json_object *e) {
        return json_object_object_get_ex(e, "counter", NULL) ||
               json_object_object_get_ex(e, "log", NULL);
}

static Filtering filtering_of_chain(json_object *items, json_object *chain, unsigned depth);

/* The chain that a verdict jumps to, in the table of the rule; NULL: it does not. */
static json_object *target_of(json_object *items, json_object *rule, json_object *e) {
        json_object *jump = json_get(e, "jump") ? json_get(e, "jump") : json_get(e, "goto");
        const char *name = json_get_string(jump, "target");

        for (size_t i = 0; name && i < json_object_array_length(items); i++) {
                json_object *chain = json_get(json_object_array_get_idx(items, i), "chain");
                const char *is = json_get_string(chain, "name");

                if (is && streq(is, name) && same(chain, rule, "family") &&
                                same(chain, rule, "table"))
                        return chain;
        }
        return NULL;
}

/* A verdict behind a condition is about some packets, whatever it is. */
static Filtering filtering_of_rule(json_object *items, json_object *rule, unsigned depth) {
        json_object *list = json_get(rule, "expr");
        bool condition = false;

        for (size_t i = 0; list && i < json_object_array_length(list); i++) {
                json_object *e = json_object_array_get_idx(list, i),
                            *to = target_of(items, rule, e);
                Filtering f = is_drop(e) ? FILTERING_ALL
                              : to       ? filtering_of_chain(items, to, depth + 1)
                                         : FILTERING_NONE;

                if (f > FILTERING_NONE)
                        return condition ? FILTERING_SOME : f;
                condition = condition || !is_idle(e);
        }
        return FILTERING_NONE;
}

static Filtering filtering_of_chain(json_object *items, json_object *chain, unsigned depth) {
        const char *policy = json_get_string(chain, "policy"),
                   *name = json_get_string(chain, "name");
        Filtering most = policy && streq(policy, "drop") ? FILTERING_ALL : FILTERING_NONE;

        if (depth > 16) /* as the kernel has it */
                return FILTERING_NONE;
        for (size_t i = 0; name && i < json_object_array_length(items); i++) {
                json_object *rule = json_get(json_object_array_get_idx(items, i), "rule");
                const char *in = json_get_string(rule, "chain");

                if (!in || !streq(in, name) || !same(chain, rule, "family") ||
                                !same(chain, rule, "table"))
                        continue;
                most = MAX(most, filtering_of_rule(items, rule, depth));
        }
        return most;
}

Filtering filtering_of(json_object *ruleset) {
        json_object *items = json_get(ruleset, "nftables");
        Filtering most = FILTERING_NONE;

        if (!json_object_is_type(items, json_type_array))
                return FILTERING_UNKNOWN;
        for (size_t i = 0; i < json_object_array_length(items); i++) {
                json_object *chain = json_get(json_object_array_get_idx(items, i), "chain");
                const char *hook = json_get_string(chain, "hook"),
                           *family = json_get_string(chain, "family");

                /* What bridges and single devices filter is not a firewall of this machine's. */
                if (!hook || !streq(hook, "input") || !family ||
                                !(streq(family, "inet") || streq(family, "ip") ||
                                                streq(family, "ip6")))
                        continue;
                most = MAX(most, filtering_of_chain(items, chain, 0));
        }
        return most;
}

static Filtering ask_kernel(void) {
        SpawnOptions o = { .timeout_usec = LIST_USEC };
        _cleanup_free_ char *output = NULL;
        _cleanup_json_ json_object *ruleset = NULL;
        JsonError error;
        int status;

        /* nft shows the rules of iptables too, unless they are of the kernel's old interface. */
        if (spawn_capture(&o, ARGV("nft", "-j", "list", "ruleset"), &output, &status) < 0 ||
                        status != 0 || json_parse(output, strlen(output), &error, &ruleset) < 0) {
                log_info("The kernel's packet filter cannot be looked at (nft -j list ruleset).");
                return FILTERING_UNKNOWN;
        }
        return filtering_of(ruleset);
}

static int judge(StepContext *c, bool on, const char *unit) {
        Filtering f = ask_kernel();

        if (on && f == FILTERING_NONE)
                return step_fail(c, "host.firewall-open",
                                "%s runs, but no rule of the kernel keeps any packet out", unit);
        if (!on && f == FILTERING_ALL)
                return step_degrade(c, "host.firewall-left",
                                "host.firewall is \"off\", but the kernel still drops what no rule lets in");
        return 0;
}

static bool unit_file_exists(const char *unit) {
        static const char *const folders[] = { "/etc/systemd/system", "/usr/lib/systemd/system",
                "/lib/systemd/system" };

        for (size_t i = 0; i < ELEMENTSOF(folders); i++) {
                _cleanup_free_ char *path = fb_pathf("%s/%s", folders[i], unit);
                if (path && access(path, F_OK) >= 0)
                        return true;
        }
        return false;
}

/* Enabling and starting are two things; both are done through systemd, and both are idempotent. */
static int switch_unit(StepContext *c, sd_bus *bus, const char *unit, bool on) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_free_ char *result = NULL;
        int r;

        if (on)
                r = sd_bus_call_method(bus, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER,
                                "EnableUnitFiles", &error, NULL, "asbb", 1, unit, 0, 1);
        else
                r = sd_bus_call_method(bus, SYSTEMD, SYSTEMD_PATH, SYSTEMD_MANAGER,
                                "DisableUnitFiles", &error, NULL, "asb", 1, unit, 0);
        if (r < 0)
                return step_fail_later(c, "host.firewall", "%s was not %s: %s", unit,
                                on ? "enabled" : "disabled",
                                error.message ? error.message : strerror(-r));

        r = unit_job(bus, on ? "StartUnit" : "StopUnit", unit, UNIT_USEC, &result);
        if (r < 0 && !(r == -ENOENT && !on))
                return step_fail_later(c, "host.firewall", "%s did not %s: %s", unit,
                                on ? "start" : "stop", unit_job_words(r, result));
        return 0;
}

int switch_firewall(StepContext *c, sd_bus *bus, bool on) {
        static const char *const units[] = { "firewalld.service", "ufw.service",
                "nftables.service" };

        for (size_t i = 0; i < ELEMENTSOF(units); i++) {
                if (!unit_file_exists(units[i]))
                        continue;
                int r = switch_unit(c, bus, units[i], on);
                if (r < 0)
                        return r;
                if (on)
                        return judge(c, on, units[i]);
        }
        if (!on)
                return judge(c, on, NULL);
        return step_fail(c, "host.firewall",
                        "host.firewall is \"on\", but none of firewalld, ufw and nftables is installed");
}
