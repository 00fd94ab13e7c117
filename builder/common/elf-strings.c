/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The section is found by ELF's own table, so the file must be one that can be sought in. */

#include "common/elf-strings.h"
#include "shared/file-util.h"

#include <elf.h>

#define SECTION_MAX (256u * 1024 * 1024) /* bytes */

static int read_section(int fd, const Elf64_Shdr *s, char **ret) {
        _cleanup_free_ char *data = NULL;
        int r;

        if (s->sh_type == SHT_NOBITS || s->sh_size > SECTION_MAX)
                return -EBADMSG;
        data = malloc(s->sh_size + 1);
        if (!data)
                return -ENOMEM;
        r = read_all_at(fd, data, s->sh_size, s->sh_offset);
        if (r < 0)
                return r;
        data[s->sh_size] = '\0';
        *ret = TAKE_PTR(data);
        return 0;
}

static int find_section(int fd, const char *name, Elf64_Shdr *ret) {
        _cleanup_free_ Elf64_Shdr *table = NULL;
        _cleanup_free_ char *names = NULL;
        Elf64_Ehdr h;
        int r;

        r = read_all_at(fd, &h, sizeof(h), 0);
        if (r < 0)
                return r;
        if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 ||
                        h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_shentsize != sizeof(Elf64_Shdr) ||
                        h.e_shstrndx >= h.e_shnum)
                return -EBADMSG;

        table = calloc(h.e_shnum, sizeof(*table));
        if (!table)
                return -ENOMEM;
        r = read_all_at(fd, table, h.e_shnum * sizeof(*table), h.e_shoff);
        if (r < 0)
                return r;
        r = read_section(fd, table + h.e_shstrndx, &names);
        if (r < 0)
                return r;

        for (size_t i = 0; i < h.e_shnum; i++)
                if (table[i].sh_name < table[h.e_shstrndx].sh_size &&
                                streq(names + table[i].sh_name, name)) {
                        *ret = table[i];
                        return 0;
                }
        return -ENOENT;
}

int elf_section_strings(int fd, const char *section, size_t min,
                int (*fn)(const char *s, void *userdata), void *userdata) {
        _cleanup_free_ char *data = NULL;
        Elf64_Shdr s;
        int r;

        r = find_section(fd, section, &s);
        if (r < 0)
                return r;
        r = read_section(fd, &s, &data);
        if (r < 0)
                return r;

        for (size_t i = 0, start = 0; i <= s.sh_size; i++) {
                if (i < s.sh_size && data[i] >= ' ' && data[i] <= '~')
                        continue;
                if (i - start >= min) {
                        data[i] = '\0';
                        r = fn(data + start, userdata);
                        if (r != 0)
                                return r;
                }
                start = i + 1;
        }
        return 0;
}
