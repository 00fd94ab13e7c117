/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* polkit is asked without waiting: a password may have to be typed, and steps go on meanwhile. */

#include "daemon/authorize.h"

#include <sys/types.h>

#define POLKIT_USEC (120 * USEC_PER_SEC)

/* Each question keeps a message in memory until it is answered; anybody may ask. */
#define PENDING_MAX 16

typedef struct Pending {
        Authorizer *authorizer;
        sd_bus_message *message;
        const char *action;
        authorized_t then;
        void *userdata;
} Pending;

static void pending_destroy(void *userdata) {
        Pending *p = userdata;

        p->authorizer->pending--;
        sd_bus_message_unref(p->message);
        free(p);
}

static void pending_freep(Pending **p) {
        if (*p)
                pending_destroy(*p);
}

static bool is_authorized(sd_bus_message *answer) {
        int authorized = 0, challenge = 0;

        if (sd_bus_message_is_method_error(answer, NULL) ||
                        sd_bus_message_enter_container(answer, 'r', "bba{ss}") < 0 ||
                        sd_bus_message_read(answer, "bb", &authorized, &challenge) < 0)
                return false;
        return authorized;
}

static int on_polkit(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        const Pending *p = userdata;
        int r;

        (void) ret_error;
        if (!is_authorized(m))
                return sd_bus_reply_method_errorf(p->message, SD_BUS_ERROR_ACCESS_DENIED,
                                "Only root, and whom polkit lets (%s), may do this.", p->action);
        r = p->then(p->message, p->userdata);
        return r < 0 ? sd_bus_reply_method_errno(p->message, r, NULL) : r;
}

/* polkit's CheckAuthorization() for who sent m, with questions to the user allowed. */
static int new_polkit_call(sd_bus_message *m, const char *action, sd_bus_message **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r;

        r = sd_bus_message_new_method_call(sd_bus_message_get_bus(m), &call,
                        "org.freedesktop.PolicyKit1", "/org/freedesktop/PolicyKit1/Authority",
                        "org.freedesktop.PolicyKit1.Authority", "CheckAuthorization");
        if (r < 0)
                return r;
        r = sd_bus_message_append(call, "(sa{sv})sa{ss}us", "system-bus-name", 1, "name", "s",
                        sd_bus_message_get_sender(m), action, 0, 1u, "");
        if (r < 0)
                return r;

        *ret = TAKE_PTR(call);
        return 0;
}

static int ask_polkit(Authorizer *a, sd_bus_message *m, const char *action, authorized_t then,
                void *userdata) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        _cleanup_(pending_freep) Pending *p = NULL;
        sd_bus_slot *slot;
        int r;

        if (a->pending >= PENDING_MAX)
                return sd_bus_reply_method_errorf(m, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                "Too many wait for polkit's answer; try again later.");
        r = new_polkit_call(m, action, &call);
        if (r < 0)
                return r;
        p = calloc(1, sizeof(*p));
        if (!p)
                return -ENOMEM;
        *p = (Pending) { a, sd_bus_message_ref(m), action, then, userdata };
        a->pending++;

        r = sd_bus_call_async(sd_bus_message_get_bus(m), &slot, call, on_polkit, p, POLKIT_USEC);
        if (r < 0)
                return r;
        /* The slot belongs to the bus from here on, and the request to the slot. */
        (void) sd_bus_slot_set_destroy_callback(slot, pending_destroy);
        (void) sd_bus_slot_set_floating(slot, true);
        sd_bus_slot_unref(slot);
        TAKE_PTR(p);
        return 1;
}

int authorize(Authorizer *a, sd_bus_message *m, const char *action, authorized_t then,
                void *userdata) {
        _cleanup_(sd_bus_creds_unrefp) sd_bus_creds *creds = NULL;
        uid_t uid;
        int r;

        r = sd_bus_query_sender_creds(m, SD_BUS_CREDS_EUID, &creds);
        if (r < 0)
                return r;
        r = sd_bus_creds_get_euid(creds, &uid);
        if (r < 0)
                return r;
        return uid == 0 || uid == geteuid() ? then(m, userdata)
                                            : ask_polkit(a, m, action, then, userdata);
}
