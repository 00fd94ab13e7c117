/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tls-probe.h"
#include "file-util.h"
#include "strv.h"

#include <curl/curl.h>
#include <sys/socket.h>
#include <sys/time.h>

#define TIMEOUT_MS 5000L

/* ExtendedRequest, message 1, OID 1.3.6.1.4.1.1466.20037 (RFC 4511, 4.14). */
static const unsigned char starttls_request[] = {
                0x30,
                0x1d,
                0x02,
                0x01,
                0x01,
                0x77,
                0x18,
                0x80,
                0x16,
                '1',
                '.',
                '3',
                '.',
                '6',
                '.',
                '1',
                '.',
                '4',
                '.',
                '1',
                '.',
                '1',
                '4',
                '6',
                '6',
                '.',
                '2',
                '0',
                '0',
                '3',
                '7',
};

/* curl hands over each socket right after it was made and before connect(): we connect it
 * ourselves, so that the LDAP exchange can go first, and tell curl that it is connected. */
typedef struct Probe {
        bool starttls;
        char error[160];
} Probe;

static curl_socket_t open_socket(
                void *userdata, curlsocktype purpose, struct curl_sockaddr *address) {
        struct timeval limit = {.tv_sec = TIMEOUT_MS / 1000};
        Probe *p = userdata;
        unsigned char reply[256];

        (void) purpose;
        int fd = socket(address->family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return CURL_SOCKET_BAD;
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
        if (connect(fd, &address->addr, address->addrlen) < 0) {
                snprintf(p->error, sizeof(p->error), "%s: %s",
                                errno == EINPROGRESS || errno == EAGAIN ? "timeout" : "unreachable",
                                errno == EINPROGRESS ? "no answer to the connection"
                                                     : strerror(errno));
                close(fd);
                return CURL_SOCKET_BAD;
        }
        if (p->starttls) {
                ssize_t n = -1;

                if (write_all(fd, starttls_request, sizeof(starttls_request)) >= 0)
                        n = recv(fd, reply, sizeof(reply), 0);
                /* An ExtendedResponse (0x78) whose resultCode, ENUMERATED of length 1, is 0
                 * (success). */
                unsigned char *code = n > 0 ? memmem(reply, (size_t) n, "\x0a\x01", 2) : NULL;
                if (!code || code + 2 >= reply + n || code[2] != 0) {
                        snprintf(p->error, sizeof(p->error), "protocol: the server %s StartTLS",
                                        n < 0 ? "did not answer" : "refused");
                        close(fd);
                        return CURL_SOCKET_BAD;
                }
        }
        return fd;
}

static int socket_is_connected(void *userdata, curl_socket_t fd, curlsocktype purpose) {
        (void) userdata;
        (void) fd;
        (void) purpose;
        return CURL_SOCKOPT_ALREADY_CONNECTED;
}

static const char *kind_of(CURLcode code) {
        switch (code) {
        case CURLE_OPERATION_TIMEDOUT:
                return "timeout";
        case CURLE_PEER_FAILED_VERIFICATION:
        case CURLE_SSL_ISSUER_ERROR:
                return "certificate";
        case CURLE_SSL_CACERT_BADFILE:
                return "ca-file";
        case CURLE_COULDNT_RESOLVE_HOST:
        case CURLE_COULDNT_CONNECT:
                return "unreachable";
        default:
                return "protocol";
        }
}

int tls_probe(const char *host, const char *port, const char *ca_file, bool starttls) {
        _cleanup_free_ char *url = strf("https://%s:%s/", host, port);
        char error[CURL_ERROR_SIZE] = "";
        Probe p = {.starttls = starttls};
        CURL *c = curl_easy_init();

        if (!c || !url)
                return 1;
        curl_easy_setopt(c, CURLOPT_URL, url);
        curl_easy_setopt(c, CURLOPT_PROXY, "");
        curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(c, CURLOPT_CONNECT_ONLY, 1L);
        curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, TIMEOUT_MS);
        curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, TIMEOUT_MS);
        curl_easy_setopt(c, CURLOPT_ERRORBUFFER, error);
        curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, open_socket);
        curl_easy_setopt(c, CURLOPT_OPENSOCKETDATA, &p);
        curl_easy_setopt(c, CURLOPT_SOCKOPTFUNCTION, socket_is_connected);
        if (!isempty(ca_file))
                curl_easy_setopt(c, CURLOPT_CAINFO, ca_file);

        CURLcode code = curl_easy_perform(c);
        if (code == CURLE_OK)
                printf("ok: certificate of %s is good\n", host);
        else if (p.error[0])
                printf("%s\n", p.error);
        else
                printf("%s: %s\n", kind_of(code),
                                isempty(error) ? curl_easy_strerror(code) : error);
        curl_easy_cleanup(c);
        return code == CURLE_OK ? 0 : 1;
}
