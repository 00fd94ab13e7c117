/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs a fuzz target over its corpus without a fuzzer, as a test like others. */

#include "shared/file-util.h"

#include <dirent.h>
#include <fcntl.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(void) {
        const char *top = getenv("TOP");
        _cleanup_free_ char *corpus = path_join(top ? top : ".", "tests/fuzz/corpus/" CORPUS);
        _cleanup_free_ char *real = corpus ? realpath(corpus, NULL) : NULL;
        DIR *d = real ? opendir(real) : NULL;
        unsigned n = 0;

        if (!d) {
                printf("not ok - there is no corpus %s\n", corpus);
                return 1;
        }
        for (struct dirent *e; (e = readdir(d));) {
                _cleanup_free_ char *path = path_join(real, e->d_name), *data = NULL;
                size_t size;

                if (*e->d_name == '.')
                        continue;
                if (!path || read_file(path, 1024 * 1024, &data, &size) < 0) {
                        printf("not ok - %s cannot be read\n", e->d_name);
                        return 1;
                }
                LLVMFuzzerTestOneInput((const uint8_t *) data, size);
                n++;
        }
        closedir(d);
        printf(n > 0 ? "ok - corpus " CORPUS "\n" : "not ok - corpus " CORPUS " is empty\n");
        return n > 0 ? 0 : 1;
}
