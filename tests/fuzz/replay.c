/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs a fuzz target without a fuzzer, as a test like others: over its corpus, and over some
 * thousand inputs that are made of it by chance, the same ones each time. tests/fuzz/run looks
 * further. */

#include "shared/file-util.h"
#include "shared/time-util.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>

#define RUNS 4000
#define RUNS_USEC (2 * USEC_PER_SEC) /* a slow machine makes fewer */
#define INPUT_MAX 4096

typedef struct Input {
        uint8_t *data;
        size_t size;
} Input;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static Input *corpus, current;
static size_t n_corpus;
static char finding[256]; /* where the input that found something is left */
static uint64_t chance = UINT64_C(0x9e3779b97f4a7c15);

/* splitmix64: below n. */
static size_t below(size_t n) {
        uint64_t z = chance += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        return (size_t) ((z ^ z >> 31) % n);
}

static void change_byte(Input *i) {
        static const uint8_t telling[] = { 0, 1, 0x7f, 0x80, 0xff, ' ', '\n', '"', '{', '}', '[',
                ']', ',', ';', ':', '=', '-', '0', '9', '\\' };

        if (i->size > 0)
                i->data[below(i->size)] = telling[below(sizeof(telling))];
}

static void flip_bit(Input *i) {
        if (i->size > 0)
                i->data[below(i->size)] ^= (uint8_t) (1u << below(8));
}

static void cut(Input *i) {
        size_t at, n;

        if (i->size == 0)
                return;
        at = below(i->size);
        n = 1 + below(MIN(i->size - at, (size_t) 64));
        memmove(i->data + at, i->data + at + n, i->size - at - n);
        i->size -= n;
}

/* A piece of any input of the corpus goes in between. */
static void graft(Input *i) {
        const Input *from = &corpus[below(n_corpus)];
        size_t at = below(i->size + 1), start, n;

        if (from->size == 0)
                return;
        start = below(from->size);
        n = 1 + below(MIN(from->size - start, (size_t) 128));
        n = MIN(n, INPUT_MAX - i->size);
        memmove(i->data + at + n, i->data + at, i->size - at);
        memcpy(i->data + at, from->data + start, n);
        i->size += n;
}

static void (*const changes[])(Input *i) = { change_byte, flip_bit, cut, graft };

/* A copy that is just as long as the input: the sanitizers see who reads beyond. */
static void run(const uint8_t *data, size_t size) {
        uint8_t *copy = malloc(size);

        if (size > 0)
                memcpy(copy, data, size);
        LLVMFuzzerTestOneInput(copy, size);
        free(copy);
}

/* The finding's input is left where it can be looked at. */
static void on_finding(int sig) {
        static const char text[] =
                        "not ok - corpus " CORPUS ", changed by chance; the input is left in ";
        int fd = open(finding, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        (void) !write(fd, current.data, current.size);
        (void) !write(STDOUT_FILENO, text, sizeof(text) - 1);
        (void) !write(STDOUT_FILENO, finding, strlen(finding));
        (void) !write(STDOUT_FILENO, "\n", 1);
        signal(sig, SIG_DFL);
        raise(sig);
}

static unsigned run_by_chance(void) {
        uint64_t end = now_usec() + RUNS_USEC;
        unsigned n = 0;

        signal(SIGABRT, on_finding);
        for (; n < RUNS && now_usec() < end; n++) {
                const Input *from = &corpus[below(n_corpus)];

                current.size = MIN(from->size, (size_t) INPUT_MAX);
                memcpy(current.data, from->data, current.size);
                for (size_t k = 1 + below(6); k > 0; k--)
                        changes[below(ELEMENTSOF(changes))](&current);
                run(current.data, current.size);
        }
        signal(SIGABRT, SIG_DFL);
        return n;
}

static int by_name(const struct dirent **a, const struct dirent **b) {
        return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_visible(const struct dirent *e) {
        return e->d_name[0] != '.';
}

/* In the order of their names, so that chance is the same everywhere. */
static bool read_corpus(const char *folder) {
        struct dirent **names = NULL;
        int n = scandir(folder, &names, is_visible, by_name);
        bool good = n > 0;

        corpus = calloc((size_t) MAX(n, 1), sizeof(*corpus));
        for (int i = 0; i < n; i++) {
                _cleanup_free_ char *path = path_join(folder, names[i]->d_name), *data = NULL;

                if (!corpus || !path || read_file(path, 1024 * 1024, &data, &corpus[i].size) < 0)
                        good = false;
                else
                        corpus[i].data = (uint8_t *) TAKE_PTR(data);
                free(names[i]);
        }
        free(names);
        n_corpus = (size_t) MAX(n, 0);
        return good;
}

int main(void) {
        const char *top = getenv("TOP"), *build = getenv("BUILD");
        _cleanup_free_ char *folder = path_join(top ? top : ".", "tests/fuzz/corpus/" CORPUS);
        _cleanup_free_ char *real = folder ? realpath(folder, NULL) : NULL;
        unsigned n;

        if (!real || !read_corpus(real)) {
                printf("not ok - the corpus " CORPUS " is not there, empty, or cannot be read\n");
                return 1;
        }
        for (size_t i = 0; i < n_corpus; i++)
                run(corpus[i].data, corpus[i].size);
        printf("ok - corpus " CORPUS "\n");
        fflush(stdout);

        snprintf(finding, sizeof(finding), "%s/" CORPUS ".finding", build ? build : "build");
        current.data = malloc(INPUT_MAX + 128);
        n = current.data ? run_by_chance() : 0;
        printf("%s - %u inputs made of corpus " CORPUS " by chance\n", n > 0 ? "ok" : "not ok", n);

        for (size_t i = 0; i < n_corpus; i++)
                free(corpus[i].data);
        free(corpus);
        free(current.data);
        return n > 0 ? 0 : 1;
}
