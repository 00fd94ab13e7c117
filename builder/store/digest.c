/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Of bytes, of labelled fields, of files and of whole folders. What is hashed, and in which order,
 * is in every lock and store there is: it never changes. */

#include "store/digest.h"
#include "shared/folder.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <sys/stat.h>

#define BUFFER_SIZE (256 * 1024)
#define BLOCK_BYTES 512 /* of st_blocks: stat(3type) */

struct Hash {
        EVP_MD_CTX *md;
        bool failed; /* one bad update spoils the whole: hash_end() then gives no valid digest */
};

static int hash_new_of(const EVP_MD *kind, Hash **ret) {
        _cleanup_hash_free_ Hash *h = calloc(1, sizeof(*h));

        if (!h)
                return -ENOMEM;
        h->md = EVP_MD_CTX_new();
        if (!h->md || EVP_DigestInit_ex(h->md, kind, NULL) != 1)
                return -ENOMEM;
        *ret = TAKE_PTR(h);
        return 0;
}

int hash_new(Hash **ret) {
        return hash_new_of(EVP_sha256(), ret);
}

Hash *hash_free(Hash *h) {
        if (!h)
                return NULL;
        EVP_MD_CTX_free(h->md);
        free(h);
        return NULL;
}

void hash_bytes(Hash *h, const void *data, size_t size) {
        if (EVP_DigestUpdate(h->md, data, size) != 1)
                h->failed = true;
}

void hash_field(Hash *h, const char *label, const char *value) {
        char head[128];
        int n = snprintf(head, sizeof(head), "%s %zd\n", label,
                        value ? (ssize_t) strlen(value) : (ssize_t) -1);

        hash_bytes(h, head, (size_t) n);
        if (value)
                hash_bytes(h, value, strlen(value));
}

void hash_strv(Hash *h, const char *label, char *const *l) {
        char count[32];

        snprintf(count, sizeof(count), "%zu", strv_length(l));
        hash_field(h, label, count);
        STRV_FOREACH (s, l)
                hash_field(h, "-", *s);
}

static void hash_hex(Hash *h, size_t digits, char *ret) {
        unsigned char raw[EVP_MAX_MD_SIZE];
        unsigned n = 0;

        if (EVP_DigestFinal_ex(h->md, raw, &n) != 1 || n != digits / 2 || h->failed) {
                ret[0] = '\0';
                return;
        }
        for (unsigned i = 0; i < n; i++)
                snprintf(ret + 2 * i, 3, "%02x", raw[i]);
}

void hash_end(Hash *h, Digest ret) {
        hash_hex(h, DIGEST_HEX, ret);
}

bool digest_valid(const char *s) {
        return s && strlen(s) == DIGEST_HEX && strspn(s, "0123456789abcdef") == DIGEST_HEX;
}

static int hash_finish(Hash *h, Digest ret) {
        Digest digest;

        hash_end(h, digest);
        if (!digest_valid(digest))
                return -EIO;
        memcpy(ret, digest, sizeof(Digest));
        return 0;
}

static bool has_holes(int fd) {
        struct stat st;

        return fstat(fd, &st) >= 0 && S_ISREG(st.st_mode) &&
               (uint64_t) st.st_blocks * BLOCK_BYTES < (uint64_t) st.st_size;
}

/* The hole at the file's position, up to the next data or the end, without reading it: the kernel
 * would make a page for each of its pages, which takes longer than hashing them. */
static int hash_hole(Hash *h, int fd, char *buffer, uint64_t *size) {
        off_t at = lseek(fd, 0, SEEK_CUR), data;

        if (at < 0)
                return -errno;
        data = lseek(fd, at, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
                data = lseek(fd, 0, SEEK_END);
        if (data <= at) /* or nobody says where holes are */
                return 0;

        memset(buffer, 0, BUFFER_SIZE);
        for (off_t left = data - at; left > 0; left -= MIN(left, BUFFER_SIZE)) {
                if (interrupt_signal())
                        return -ECANCELED;
                hash_bytes(h, buffer, (size_t) MIN(left, BUFFER_SIZE));
        }
        *size += (uint64_t) (data - at);
        return 0;
}

/* All from the file's position on. */
static int hash_fd(Hash *h, int fd, uint64_t *ret_size) {
        _cleanup_free_ char *buffer = malloc(BUFFER_SIZE);
        bool holes = has_holes(fd);
        uint64_t size = 0;
        int r;

        if (!buffer)
                return -ENOMEM;
        for (;;) {
                ssize_t n;

                if (holes) {
                        r = hash_hole(h, fd, buffer, &size);
                        if (r < 0)
                                return r;
                }
                n = read(fd, buffer, BUFFER_SIZE);
                if (interrupt_signal())
                        return -ECANCELED;
                if (n < 0) {
                        if (errno == EINTR)
                                continue;
                        return -errno;
                }
                if (n == 0)
                        break;
                hash_bytes(h, buffer, (size_t) n);
                size += (size_t) n;
        }
        *ret_size = size;
        return 0;
}

int digest_fd(int fd, Digest ret, uint64_t *ret_size) {
        _cleanup_hash_free_ Hash *h = NULL;
        uint64_t size;
        int r;

        r = hash_new(&h);
        if (r < 0)
                return r;
        r = hash_fd(h, fd, &size);
        if (r < 0)
                return r;
        r = hash_finish(h, ret);
        if (r < 0)
                return r;
        if (ret_size)
                *ret_size = size;
        return 0;
}

int digest_file(const char *path, Digest ret, uint64_t *ret_size) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

        return fd < 0 ? -errno : digest_fd(fd, ret, ret_size);
}

int digest_file_sha512(const char *path, char ret[static DIGEST_SHA512_HEX + 1]) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        _cleanup_hash_free_ Hash *h = NULL;
        uint64_t size;
        int r;

        if (fd < 0)
                return -errno;
        r = hash_new_of(EVP_sha512(), &h);
        if (r < 0)
                return r;
        r = hash_fd(h, fd, &size);
        if (r < 0)
                return r;
        hash_hex(h, DIGEST_SHA512_HEX, ret);
        return *ret ? 0 : -EIO;
}

static int hash_link(Hash *h, int folder, const char *name, const char *path) {
        char target[4096];
        ssize_t n = readlinkat(folder, name, target, sizeof(target) - 1);

        if (n < 0)
                return -errno;
        target[n] = '\0';
        hash_field(h, "link", path);
        hash_field(h, "to", target);
        return 0;
}

/* A folder counts too: git does not carry empty ones, but somebody who made one below files/ wants
 * it. */
static int hash_entry(int folder, const char *name, const char *path, void *userdata) {
        Hash *h = userdata;
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        Digest digest;
        int r;

        if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        if (S_ISLNK(st.st_mode))
                return hash_link(h, folder, name, path);

        fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
        if (fd < 0)
                return -errno;
        if (S_ISDIR(st.st_mode)) {
                hash_field(h, "folder", path);
                return folder_each(TAKE_FD(fd), path, hash_entry, h);
        }
        if (!S_ISREG(st.st_mode))
                return -EINVAL;

        r = digest_fd(fd, digest, NULL);
        if (r < 0)
                return r;
        hash_field(h, st.st_mode & 0100 ? "program" : "file", path);
        hash_field(h, "sha256", digest);
        return 0;
}

int digest_tree(const char *path, Digest ret) {
        _cleanup_hash_free_ Hash *h = NULL;
        int r, fd;

        r = hash_new(&h);
        if (r < 0)
                return r;
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        r = folder_each(fd, NULL, hash_entry, h);
        if (r < 0)
                return r;
        return hash_finish(h, ret);
}
