/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a --link asks for, the address that its card gets, and what the guest is told about it. */

#include "boot/link.h"

#include "shared/json-util.h"
#include "shared/strv.h"
#include "store/digest.h"

#include <arpa/inet.h>
#include <ctype.h>

/* A folder's name, and part of a message. */
static bool name_valid(const char *name, size_t length) {
        if (length == 0 || length > VM_LINK_NAME_MAX)
                return false;
        for (size_t i = 0; i < length; i++)
                if (!isalnum((unsigned char) name[i]) && !(i > 0 && strchr("-_.", name[i])))
                        return false;
        return true;
}

static bool address_valid(const char *text) {
        _cleanup_strv_free_ char **parts = strv_split(text, "/");
        struct in_addr address;

        if (strv_length(parts) != 2 || inet_pton(AF_INET, parts[0], &address) != 1)
                return false;

        size_t digits = strspn(parts[1], "0123456789");
        unsigned long prefix = strtoul(parts[1], NULL, 10);

        return digits <= 2 && !parts[1][digits] && prefix >= 8 && prefix <= 30;
}

/* Six octets, of one machine: neither a group's nor all zeroes. */
static bool parse_mac(const char *text, VmLink *l) {
        size_t n = strlen("52:54:00:12:34:56");

        if (strlen(text) != n || streq(text, "00:00:00:00:00:00"))
                return false;
        for (size_t i = 0; i < n; i++)
                if (i % 3 == 2 ? text[i] != ':' : !isxdigit((unsigned char) text[i]))
                        return false;
        if (strchr("13579bdfBDF", text[1]))
                return false;

        for (size_t i = 0; i <= n; i++)
                l->mac[i] = (char) tolower((unsigned char) text[i]);
        return true;
}

/* "NAME[=IPV4/PREFIX]" */
static int take_name(VmLink *l, const char *text, const char **ret_problem) {
        const char *equals = strchr(text, '=');
        size_t length = equals ? (size_t) (equals - text) : strlen(text);

        if (!name_valid(text, length)) {
                *ret_problem = "a name of letters, digits, '-', '_' and '.', such as lab=10.1.0.1/24";
                return -EINVAL;
        }
        if (equals && !address_valid(equals + 1)) {
                *ret_problem = "an address with its prefix from 8 to 30, such as lab=10.1.0.1/24";
                return -EINVAL;
        }

        l->name = strndup(text, length);
        l->address = equals ? strdup(equals + 1) : NULL;
        return l->name && (!equals || l->address) ? 0 : -ENOMEM;
}

static void vm_link_done(VmLink *l) {
        free(l->name);
        free(l->address);
        *l = (VmLink) {};
}

void vm_links_done(VmConfig *c) {
        for (size_t i = 0; i < c->n_links; i++)
                vm_link_done(c->links + i);
        c->n_links = 0;
}

int vm_add_link(VmConfig *c, const char *text, const char **ret_problem) {
        _cleanup_(vm_link_done) VmLink l = {};
        _cleanup_strv_free_ char **parts = strv_split(text, ",");
        int r;

        if (c->n_links == VM_LINK_MAX) {
                *ret_problem = "at most 4 links";
                return -EINVAL;
        }

        r = take_name(&l, parts && parts[0] ? parts[0] : "", ret_problem);
        if (r < 0)
                return r;
        for (size_t i = 1; parts[i]; i++) {
                const char *mac = startswith(parts[i], "mac=");

                if (!mac || !parse_mac(mac, &l)) {
                        *ret_problem = "after the comma a MAC address of one machine, such as mac=02:00:00:00:00:01";
                        return -EINVAL;
                }
        }
        for (size_t i = 0; i < c->n_links; i++)
                if (streq(c->links[i].name, l.name)) {
                        *ret_problem = "one card on each link";
                        return -EINVAL;
                }

        c->links[c->n_links++] = l;
        l = (VmLink) {};
        return 0;
}

int link_settle_mac(VmLink *l, const char *instance) {
        _cleanup_hash_free_ Hash *h = NULL;
        Digest d;
        int r;

        if (l->mac[0])
                return 0;

        r = hash_new(&h);
        if (r < 0)
                return r;
        hash_field(h, "link", l->name);
        hash_field(h, l->address ? "address" : "instance", l->address ? l->address : instance);
        hash_end(h, d);

        /* 02: locally administered, one machine's. */
        snprintf(l->mac, sizeof(l->mac), "02:%.2s:%.2s:%.2s:%.2s:%.2s", d, d + 2, d + 4, d + 6,
                        d + 8);
        return 0;
}

static int add_card(json_object *cards, const char *name, const char *mac, json_object **ret) {
        json_object *match;
        int r;

        r = json_add_object(cards, name, ret);
        if (r < 0)
                return r;
        r = json_add_object(*ret, "match", &match);
        return r < 0 ? r : json_set_string(match, "macaddress", mac);
}

/* A card without an address keeps nobody waiting for it. */
static int add_link(json_object *cards, const VmLink *l, size_t i) {
        json_object *card, *addresses;
        char name[32];
        int r;

        snprintf(name, sizeof(name), "link%zu", i);
        r = add_card(cards, name, l->mac, &card);
        if (r < 0)
                return r;
        r = json_set_int(card, "mtu", LINK_MTU);
        if (r < 0)
                return r;
        if (!l->address)
                return json_set_fields(card, JSON_BOOL("optional", true));

        r = json_add_array(card, "addresses", &addresses);
        return r < 0 ? r : json_append(addresses, json_object_new_string(l->address));
}

int link_network_config(const VmConfig *c, char **ret) {
        _cleanup_json_ json_object *o = json_object_new_object();
        json_object *cards, *user;
        int r;

        if (json_set_int(o, "version", 2) < 0 || json_add_object(o, "ethernets", &cards) < 0 ||
                        add_card(cards, "user", VM_USER_MAC, &user) < 0 ||
                        json_set_fields(user, JSON_BOOL("dhcp4", true)) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < c->n_links; i++) {
                r = add_link(cards, c->links + i, i);
                if (r < 0)
                        return r;
        }

        *ret = strf("%s\n",
                        json_object_to_json_string_ext(o,
                                        JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
        return *ret ? 0 : -ENOMEM;
}
