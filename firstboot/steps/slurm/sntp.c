/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One packet there and one back; seconds are enough for munge's five minutes. */

#include "steps/slurm/sntp.h"

#include <netdb.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>

#define TRIES 3
#define ANSWER_MS 1000
#define EPOCH_1970 INT64_C(2208988800) /* in NTP's seconds since 1900 */

int sntp_parse(const unsigned char answer[SNTP_SIZE], const unsigned char question[8],
                int64_t *ret_seconds) {
        unsigned leap = answer[0] >> 6, mode = answer[0] & 7, stratum = answer[1];
        int64_t seconds = 0;

        /* Leap 3: not synchronised. Mode 4: server. Stratum 0: a refusal. The originate timestamp
         * is the question's. */
        if (leap == 3 || mode != 4 || stratum == 0 || stratum > 15 ||
                        memcmp(answer + 24, question, 8) != 0)
                return -EBADMSG;
        for (size_t i = 40; i < 44; i++)
                seconds = seconds << 8 | answer[i];
        if (seconds == 0)
                return -EBADMSG;
        if (seconds < EPOCH_1970) /* the era that begins in 2036 */
                seconds += INT64_C(1) << 32;
        *ret_seconds = seconds - EPOCH_1970;
        return 0;
}

static int ask(int fd, int64_t *ret_seconds) {
        unsigned char packet[SNTP_SIZE] = { 0x23 }, question[8]; /* version 4, client */
        struct pollfd p = { .fd = fd, .events = POLLIN };

        if (getrandom(question, sizeof(question), GRND_NONBLOCK) != sizeof(question))
                return -EAGAIN;
        memcpy(packet + 40, question, sizeof(question));
        if (send(fd, packet, sizeof(packet), 0) < 0)
                return -errno;
        if (poll(&p, 1, ANSWER_MS) <= 0)
                return -ETIMEDOUT;
        ssize_t n = recv(fd, packet, sizeof(packet), MSG_DONTWAIT);
        if (n < 0)
                return -errno;
        return n < SNTP_SIZE ? -EBADMSG : sntp_parse(packet, question, ret_seconds);
}

/* A socket that talks to the host's NTP port. */
static int connect_to(const char *host) {
        struct addrinfo hints = { .ai_socktype = SOCK_DGRAM }, *list = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r = 0;

        if (getaddrinfo(host, "123", &hints, &list) != 0)
                return -EHOSTUNREACH;
        fd = socket(list->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || connect(fd, list->ai_addr, list->ai_addrlen) < 0)
                r = -errno;
        freeaddrinfo(list);
        return r < 0 ? r : TAKE_FD(fd);
}

int sntp_offset(const char *host, int64_t *ret_seconds) {
        _cleanup_close_ int fd = -EBADF;
        int64_t seconds;
        int r = -ETIMEDOUT;

        fd = connect_to(host);
        if (fd < 0)
                return fd;
        for (unsigned i = 0; i < TRIES; i++) {
                r = ask(fd, &seconds);
                if (r < 0)
                        continue;
                *ret_seconds = seconds - (int64_t) time(NULL);
                return 0;
        }
        return r;
}
