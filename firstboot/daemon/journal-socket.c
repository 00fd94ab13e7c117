/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* journald's native protocol: a datagram of lines KEY=VALUE. A value of several lines comes after
 * its length instead. */

#include "daemon/journal-socket.h"
#include "shared/file-util.h"

#include <endian.h>
#include <sys/socket.h>
#include <sys/un.h>

#define JOURNAL_SOCKET "/run/systemd/journal/socket"
/* What is longer has its end cut off: a datagram has to fit into the socket's buffer. */
#define VALUE_MAX 16384

static void put_field(FILE *f, const JournalField *x) {
        const char *value = strempty(x->value);
        size_t size = strnlen(value, VALUE_MAX);
        uint64_t little = htole64(size);

        fputs(x->key, f);
        if (memchr(value, '\n', size)) {
                fputc('\n', f);
                fwrite(&little, sizeof(little), 1, f);
        } else
                fputc('=', f);
        fwrite(value, 1, size, f);
        fputc('\n', f);
}

/* NULL on out of memory; the caller frees it. */
static char *make_datagram(const JournalField *fields, size_t n, size_t *ret_size) {
        char *text = NULL;
        FILE *f = open_memstream(&text, ret_size);

        if (!f)
                return NULL;
        for (size_t i = 0; i < n; i++)
                put_field(f, &fields[i]);
        if (fclose(f) == 0)
                return text;
        free(text);
        return NULL;
}

int journal_socket_send(const JournalField *fields, size_t n) {
        const struct sockaddr_un to = { .sun_family = AF_UNIX, .sun_path = JOURNAL_SOCKET };
        _cleanup_free_ char *datagram = NULL;
        _cleanup_close_ int fd = -EBADF;
        size_t size = 0;

        datagram = make_datagram(fields, n, &size);
        if (!datagram)
                return -ENOMEM;
        fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        if (sendto(fd, datagram, size, MSG_NOSIGNAL, (const struct sockaddr *) &to, sizeof(to)) < 0)
                return -errno;
        return 0;
}
