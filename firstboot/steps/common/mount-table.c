/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Readers of the kernel's two tables of mounts: mountinfo knows device numbers, mounts is what
 * getmntent() reads. */

#include "steps/common/mount-table.h"
#include "contract/paths.h"

#include <limits.h>
#include <mntent.h>

void mount_table_done(MountTable *t) {
        for (size_t i = 0; i < t->n; i++) {
                free(t->items[i].where);
                free(t->items[i].type);
                free(t->items[i].device);
        }
        free(t->items);
        *t = (MountTable) {};
}

/* One line, "36 35 98:0 /mnt1 /mnt2 rw,noatime … - ext3 /dev/root rw" (proc_pid_mountinfo(5)). */
static int add_line(MountTable *t, const char *line) {
        char where[PATH_MAX], type[64] = "", device[PATH_MAX] = "";
        const char *dash = strstr(line, " - ");
        unsigned id, parent, major, minor;

        if (sscanf(line, "%u %u %u:%u %*s %4095s", &id, &parent, &major, &minor, where) != 5)
                return 0;
        if (!dash || sscanf(dash, " - %63s %4095s", type, device) != 2)
                type[0] = device[0] = '\0';

        Mount *grown = reallocarray(t->items, t->n + 1, sizeof(Mount));
        if (!grown)
                return -ENOMEM;
        t->items = grown;
        Mount *m = &t->items[t->n++];
        *m = (Mount) { major, minor, strdup(where), strdup(type), strdup(device), id, parent };
        return m->where && m->type && m->device ? 0 : -ENOMEM;
}

int mount_table_read(MountTable *ret) {
        _cleanup_mount_table_ MountTable t = {};
        _cleanup_free_ char *path = fb_path("/proc/self/mountinfo"), *line = NULL;
        _cleanup_fclose_ FILE *f = NULL;
        size_t size = 0;
        int r;

        if (!path)
                return -ENOMEM;
        f = fopen(path, "re");
        if (!f)
                return -errno;

        while (getline(&line, &size, f) > 0) {
                r = add_line(&t, line);
                if (r < 0)
                        return r;
        }
        *ret = t;
        t = (MountTable) {};
        return 0;
}

bool mounted_at(const char *where, char **ret_source) {
        _cleanup_free_ char *path = fb_path("/proc/self/mounts"), *source = NULL;
        struct mntent *e;
        bool found = false;
        FILE *f = path ? setmntent(path, "re") : NULL;

        if (!f)
                return false;
        while ((e = getmntent(f)))
                if (streq(e->mnt_dir, where)) {
                        free(source);
                        source = strdup(e->mnt_fsname);
                        found = source != NULL;
                }
        endmntent(f);

        if (found && ret_source)
                *ret_source = TAKE_PTR(source);
        return found;
}

/* Whether looking a path up leads through this mount point. */
static bool leads_through(const char *path, const char *where) {
        const char *rest = streq(where, "/") ? "/" : startswith(path, where);

        return rest && (*rest == '/' || *rest == '\0');
}

/* The mount that a path lies in, as the kernel walks: from the root, at each mount into the first
 * of its own that the path leads to. */
static const Mount *walk(const MountTable *t, const char *path) {
        const Mount *at = NULL;

        for (size_t i = 0; i < t->n && !at; i++)
                if (streq(t->items[i].where, "/"))
                        at = &t->items[i];

        for (size_t steps = 0; at && steps < t->n; steps++) {
                const Mount *next = NULL;

                for (size_t i = 0; i < t->n; i++) {
                        const Mount *m = &t->items[i];

                        if (m != at && m->parent == at->id && leads_through(path, m->where) &&
                                        (!next || strlen(m->where) < strlen(next->where)))
                                next = m;
                }
                if (!next)
                        break;
                at = next;
        }
        return at;
}

bool mount_is_hidden(const char *where) {
        _cleanup_mount_table_ MountTable t = {};
        const Mount *seen;

        if (mount_table_read(&t) < 0)
                return false;
        seen = walk(&t, where);
        for (size_t i = 0; seen && i < t.n; i++)
                if (streq(t.items[i].where, where))
                        return !streq(seen->where, where);
        return false;
}
