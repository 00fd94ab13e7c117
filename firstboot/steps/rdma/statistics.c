/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One socket for all questions, each of which the kernel has answered when it is sent. Whoever
 * answers otherwise is not asked again, and the files are what is left. */

#include "steps/rdma/statistics.h"

#include <libmnl/libmnl.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <sys/time.h>

/* What the kernel puts into one message of a list at most, and more than it answers else. */
#define BUFFER_SIZE (32 * 1024)

void statistics_done(Statistics *s) {
        if (s->buffer)
                safe_close(s->fd);
        for (size_t i = 0; i < s->n_devices; i++)
                free(s->devices[i].name);
        free(s->devices);
        free(s->items);
        free(s->buffer);
        *s = (Statistics) { .fd = -EBADF };
}

/* The callbacks' errno is what mnl_cb_run() fails with. */
static int refuse(int error) {
        errno = error;
        return MNL_CB_ERROR;
}

typedef struct Attributes {
        const struct nlattr *index, *name, *counters, *value;
} Attributes;

/* Only what is asked for is looked at: later kernels tell more. */
static int gather(const struct nlattr *a, void *data) {
        Attributes *found = data;

        switch (mnl_attr_get_type(a)) {
        case RDMA_NLDEV_ATTR_DEV_INDEX:
                found->index = a;
                return mnl_attr_validate(a, MNL_TYPE_U32) < 0 ? refuse(EBADMSG) : MNL_CB_OK;
        case RDMA_NLDEV_ATTR_DEV_NAME:
        case RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME:
                found->name = a;
                return mnl_attr_validate(a, MNL_TYPE_NUL_STRING) < 0 ? refuse(EBADMSG) : MNL_CB_OK;
        case RDMA_NLDEV_ATTR_STAT_HWCOUNTERS:
                found->counters = a;
                return MNL_CB_OK;
        case RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE:
                found->value = a;
                return mnl_attr_validate(a, MNL_TYPE_U64) < 0 ? refuse(EBADMSG) : MNL_CB_OK;
        default:
                return MNL_CB_OK;
        }
}

static int add_device(const struct nlmsghdr *message, void *data) {
        Attributes found = {};
        Statistics *s = data;

        if (mnl_attr_parse(message, 0, gather, &found) < 0)
                return MNL_CB_ERROR;
        if (!found.index || !found.name)
                return refuse(EBADMSG);
        StatisticsDevice *grown =
                        reallocarray(s->devices, s->n_devices + 1, sizeof(StatisticsDevice));
        if (!grown)
                return refuse(ENOMEM);
        s->devices = grown;
        char *name = strdup(mnl_attr_get_str(found.name));
        if (!name)
                return refuse(ENOMEM);
        s->devices[s->n_devices++] =
                        (StatisticsDevice) { .name = name, .index = mnl_attr_get_u32(found.index) };
        return MNL_CB_OK;
}

static int add_counter(const struct nlattr *entry, void *data) {
        Attributes found = {};
        Statistics *s = data;

        if (mnl_attr_parse_nested(entry, gather, &found) < 0)
                return MNL_CB_ERROR;
        if (!found.name || !found.value)
                return refuse(EBADMSG);
        if (s->n == s->room) {
                size_t room = s->room ? s->room * 2 : 64;
                Statistic *grown = reallocarray(s->items, room, sizeof(Statistic));

                if (!grown)
                        return refuse(ENOMEM);
                s->items = grown;
                s->room = room;
        }
        s->items[s->n++] = (Statistic) { .name = mnl_attr_get_str(found.name),
                .value = mnl_attr_get_u64(found.value) };
        return MNL_CB_OK;
}

static int add_counters(const struct nlmsghdr *message, void *data) {
        Attributes found = {};

        if (mnl_attr_parse(message, 0, gather, &found) < 0)
                return MNL_CB_ERROR;
        if (!found.counters)
                return refuse(EBADMSG);
        return mnl_attr_parse_nested(found.counters, add_counter, data) < 0 ? MNL_CB_ERROR
                                                                            : MNL_CB_STOP;
}

static struct nlmsghdr *question(Statistics *s, unsigned command, unsigned flags) {
        struct nlmsghdr *message = mnl_nlmsg_put_header(s->buffer);

        message->nlmsg_type = (uint16_t) RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command);
        message->nlmsg_flags = (uint16_t) (NLM_F_REQUEST | flags);
        message->nlmsg_seq = ++s->sequence;
        return message;
}

/* Asks, and gives every message of the answer to add, which ends it by MNL_CB_STOP. */
static int ask(Statistics *s, const struct nlmsghdr *message, mnl_cb_t add) {
        uint16_t type = message->nlmsg_type;
        int r;

        if (send(s->fd, message, message->nlmsg_len, MSG_NOSIGNAL) < 0)
                return -errno;
        do {
                ssize_t n = recv(s->fd, s->buffer, BUFFER_SIZE, MSG_TRUNC);
                const struct nlmsghdr *first = s->buffer;

                if (n < 0)
                        return errno == EAGAIN ? -ETIMEDOUT : -errno;
                if (n > BUFFER_SIZE || !mnl_nlmsg_ok(first, (int) n) ||
                                (first->nlmsg_type >= NLMSG_MIN_TYPE && first->nlmsg_type != type))
                        return -EBADMSG;
                r = mnl_cb_run(s->buffer, (size_t) n, s->sequence, 0, add, s);
        } while (r == MNL_CB_OK);
        return r < 0 ? -errno : 0;
}

int statistics_open_fd(int fd, Statistics *ret) {
        _cleanup_(statistics_done) Statistics s = { .fd = fd, .buffer = malloc(BUFFER_SIZE) };
        const struct timeval patience = { .tv_sec = 1 };
        int r;

        if (!s.buffer) {
                safe_close(fd);
                return -ENOMEM;
        }
        if (setsockopt(s.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0)
                return -errno;
        r = ask(&s, question(&s, RDMA_NLDEV_CMD_GET, NLM_F_DUMP), add_device);
        if (r < 0)
                return r;
        *ret = s;
        s = (Statistics) { .fd = -EBADF };
        return 0;
}

int statistics_open(Statistics *ret) {
        /* Of the kernel alone: connected, nobody else's messages come in. */
        const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
        int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);

        if (fd < 0)
                return -errno;
        if (connect(fd, (const struct sockaddr *) &kernel, sizeof(kernel)) < 0) {
                int error = errno;

                safe_close(fd);
                return -error;
        }
        return statistics_open_fd(fd, ret);
}

int statistics_of_port(Statistics *s, const char *device, uint32_t port, const Statistic **ret,
                size_t *ret_n) {
        int r;

        if (s->fd < 0)
                return -ENOTCONN;
        s->n = 0;
        for (size_t i = 0; i < s->n_devices; i++) {
                if (strcmp(s->devices[i].name, device) != 0)
                        continue;
                struct nlmsghdr *message = question(s, RDMA_NLDEV_CMD_STAT_GET, 0);

                mnl_attr_put_u32(message, RDMA_NLDEV_ATTR_DEV_INDEX, s->devices[i].index);
                mnl_attr_put_u32(message, RDMA_NLDEV_ATTR_PORT_INDEX, port);
                r = ask(s, message, add_counters);
                /* An answer that is none, or comes late, would be taken for the next one's. */
                if (r == -EBADMSG || r == -EPROTO || r == -ETIMEDOUT)
                        s->fd = safe_close(s->fd);
                if (r < 0)
                        return r == -EPROTO ? -EBADMSG : r;
                *ret = s->items;
                *ret_n = s->n;
                return 0;
        }
        return -ENODEV;
}
