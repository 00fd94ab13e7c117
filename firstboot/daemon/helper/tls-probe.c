/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A connection to an LDAP server up to the end of the TLS handshake, and what stands in its way. */

#include "daemon/helper/tls-probe.h"
#include "shared/file-util.h"

#include <errno.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>

#define TIMEOUT_SEC 5
#define SILENT TLS_PROBE_SILENT

/* ExtendedRequest, message 1, OID 1.3.6.1.4.1.1466.20037 (RFC 4511, 4.14). */
static const unsigned char starttls_request[] = "\x30\x1d\x02\x01\x01\x77\x18\x80\x16"
                                                "1.3.6.1.4.1.1466.20037";

DEFINE_CLEANUP(SSL_CTX *, SSL_CTX_free);
DEFINE_CLEANUP(SSL *, SSL_free);

static const char *give(const char **ret_text, const char *kind, const char *text) {
        *ret_text = text;
        return kind;
}

/* A connected socket whose calls end after the time limit, or negative errno. */
static int connect_to(const char *host, const char *port) {
        struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list = NULL;
        struct timeval limit = { .tv_sec = TIMEOUT_SEC };
        int r = -EHOSTUNREACH;

        if (getaddrinfo(host, port, &hints, &list) != 0)
                return -ENXIO;
        for (struct addrinfo *a = list; a; a = a->ai_next) {
                _cleanup_close_ int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

                if (fd < 0)
                        continue;
                setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
                setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
                if (connect(fd, a->ai_addr, a->ai_addrlen) >= 0) {
                        r = TAKE_FD(fd);
                        break;
                }
                r = errno == EINPROGRESS ? -ETIMEDOUT : -errno;
        }
        freeaddrinfo(list);
        return r;
}

static bool say_starttls(int fd) {
        unsigned char reply[256];
        ssize_t n = -1;

        errno = 0;
        if (write_all(fd, starttls_request, sizeof(starttls_request) - 1) >= 0)
                n = recv(fd, reply, sizeof(reply), 0);
        /* An ExtendedResponse whose resultCode, ENUMERATED of length 1, is 0 (success). */
        unsigned char *code = n > 0 ? memmem(reply, (size_t) n, "\x0a\x01", 2) : NULL;
        return code && code + 2 < reply + n && code[2] == 0;
}

/* The handshake, with the server's certificate checked for the host. */
static const char *shake_hands(SSL_CTX *context, int fd, const char *host, const char **ret_text) {
        _cleanup_(SSL_freep) SSL *ssl = SSL_new(context);
        const char *reason;
        long verdict;
        bool silent;

        if (!ssl || !SSL_set_fd(ssl, fd) || !SSL_set_tlsext_host_name(ssl, host))
                return give(ret_text, "protocol", "OpenSSL cannot be used");
        /* An address is compared with the addresses in the certificate, a name with its names. */
        if (!X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) && !SSL_set1_host(ssl, host))
                return give(ret_text, "protocol", "OpenSSL cannot be used");

        ERR_clear_error();
        errno = 0;
        if (SSL_connect(ssl) == 1)
                return give(ret_text, "ok", "the certificate is good");

        silent = errno == EAGAIN;
        verdict = SSL_get_verify_result(ssl);
        reason = ERR_reason_error_string(ERR_peek_last_error());
        if (verdict != X509_V_OK)
                return give(ret_text, "certificate", X509_verify_cert_error_string(verdict));
        if (silent)
                return give(ret_text, "timeout", SILENT);
        return give(ret_text, "protocol", reason ? reason : "the TLS handshake was cut off");
}

const char *tls_probe(const char *host, const char *port, const char *ca_file, bool starttls,
                const char **ret_text) {
        _cleanup_(SSL_CTX_freep) SSL_CTX *context = SSL_CTX_new(TLS_client_method());
        _cleanup_close_ int fd = -EBADF;

        if (!context)
                return give(ret_text, "protocol", "OpenSSL cannot be used");
        if (isempty(ca_file) ? !SSL_CTX_set_default_verify_paths(context)
                             : !SSL_CTX_load_verify_locations(context, ca_file, NULL))
                return give(ret_text, "ca-file", ERR_reason_error_string(ERR_peek_last_error()));
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);

        fd = connect_to(host, port);
        if (fd == -ETIMEDOUT)
                return give(ret_text, "timeout", "no answer to the connection");
        if (fd < 0)
                return give(ret_text, "unreachable",
                                fd == -ENXIO ? "the name cannot be resolved" : strerror(-fd));
        if (starttls && !say_starttls(fd))
                return errno == EAGAIN ? give(ret_text, "timeout", SILENT)
                                       : give(ret_text, "protocol",
                                                         "the server does not agree to StartTLS");
        return shake_hands(context, fd, host, ret_text);
}
