/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* cloud-init's runcmd and user scripts run last, beside the steps: vgcreate there and ours here
 * would compete for the same disks. Which of them comes first is not left to luck: where user data
 * has a command that makes volumes, cloud-init's end is waited for. */

#include "steps/scratch/user-data.h"
#include "contract/paths.h"
#include "shared/duration.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "steps/common/mount-table.h"
#include "steps/common/system-disks.h"
#include "steps/common/unit.h"

#define USER_DATA_MAX (16 * 1024 * 1024)
#define PAUSE_USEC (250 * USEC_PER_MSEC)
#define INSTANCE "/var/lib/cloud/instance"

/* A word is a command's name: what separates words in YAML, JSON and shell ends it. */
static const char word_characters[] =
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

static bool makes_volumes(const char *word) {
        char *const *commands = ARGV("vgcreate", "vgextend", "pvcreate", "lvcreate", "mdadm",
                        "mkfs", "mke2fs", "zpool", "wipefs", "parted", "sfdisk", "sgdisk");

        return strv_contains(commands, word) || (startswith(word, "mkfs.") && word[5] != '\0');
}

/* *ret stays NULL where no line has such a command. Comments do not count. */
static int find_command(char *text, char **ret) {
        char *save = NULL;

        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                char *p = line + strspn(line, " \t");

                if (*p == '#')
                        continue;
                for (size_t n; *p; p += n > 0 || *p == '\0' ? n : 1) {
                        _cleanup_free_ char *word = NULL;

                        /* The "\n" of a string in quotes. */
                        p += *p == '\\' && p[1] != '\0' ? 2 : 0;
                        n = strspn(p, word_characters);
                        word = strndup(p, n);
                        if (!word)
                                return -ENOMEM;
                        if (!makes_volumes(word))
                                continue;
                        *ret = TAKE_PTR(word);
                        return 0;
                }
        }
        return 0;
}

/* The first line that waits for the node to be ready. */
static int find_wait(char *text, char **ret) {
        char *save = NULL;

        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                const char *p = line + strspn(line, " \t"), *ctl = strstr(p, "firstbootctl");

                if (*p == '#' || !(strstr(p, "node-ready.target") || strstr(p, PATH_READY) ||
                                                 (ctl && strstr(ctl, "--wait"))))
                        continue;
                *ret = strdup(p);
                return *ret ? 0 : -ENOMEM;
        }
        return 0;
}

typedef int (*Finder)(char *text, char **ret);

static int look_into(const char *name, Finder find, char **ret) {
        _cleanup_free_ char *path = fb_path(name), *text = NULL;

        if (!path)
                return -ENOMEM;
        if (*ret || read_file(path, USER_DATA_MAX, &text, NULL) < 0)
                return 0;
        return find(text, ret);
}

static int look_into_folder(const char *folder, Finder find, char **ret) {
        _cleanup_strv_free_ char **names = NULL;

        if (fb_list(folder, &names) < 0)
                return 0;
        STRV_FOREACH (name, names) {
                _cleanup_free_ char *path = path_join(folder, *name);
                int r = path ? look_into(path, find, ret) : -ENOMEM;

                if (r < 0)
                        return r;
        }
        return 0;
}

static int look(Finder find, char **ret) {
        char *const *files = ARGV(INSTANCE "/cloud-config.txt", INSTANCE "/vendor-cloud-config.txt",
                        INSTANCE "/vendor2-cloud-config.txt");
        char *const *folders = ARGV(INSTANCE "/scripts", "/var/lib/cloud/scripts/per-boot",
                        "/var/lib/cloud/scripts/per-instance", "/var/lib/cloud/scripts/per-once");
        _cleanup_free_ char *running = fb_path(PATH_CLOUD_INIT_DATA), *command = NULL;
        int r;

        if (!running)
                return -ENOMEM;
        *ret = NULL;
        /* What an earlier boot left behind is not run by a cloud-init that is switched off. */
        if (access(running, F_OK) < 0)
                return 0;
        STRV_FOREACH (file, files) {
                r = look_into(*file, find, &command);
                if (r < 0)
                        return r;
        }
        STRV_FOREACH (folder, folders) {
                r = look_into_folder(*folder, find, &command);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(command);
        return 0;
}

int user_data_find(char **ret) {
        return look(find_command, ret);
}

/* cloud-init writes its result at its very end; where it was killed before, systemd knows. */
static bool is_over(sd_bus *bus) {
        _cleanup_free_ char *path = fb_path(PATH_CLOUD_INIT_RESULT), *state = NULL;

        if (path && access(path, F_OK) >= 0)
                return true;
        return bus && unit_active_state(bus, "cloud-final.service", &state) >= 0 &&
               (streq(state, "active") || streq(state, "failed"));
}

int user_data_wait(StepContext *c, const char *command, uint64_t timeout_usec) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_free_ char *knot = NULL;
        char limit[FORMAT_DURATION_MAX];

        (void) unit_bus(&bus);
        if (is_over(bus))
                return 0;
        if (look(find_wait, &knot) < 0)
                return log_oom();
        log_info("User data has %s: the disks are left alone until cloud-init has run it.",
                        command);
        if (knot)
                log_warning("User data waits for the node (\"%.100s\"), and the node for user data: take one of the two out of it, or wait in a unit of its own.",
                                knot);

        for (uint64_t waited = 0; waited < timeout_usec; waited += PAUSE_USEC) {
                usleep(PAUSE_USEC);
                if (is_over(bus))
                        return 0;
        }
        return step_fail_later(c, "scratch.user-data",
                        "cloud-init has not finished within %s, and its user data has %s%s; "
                        "the disks were not touched",
                        format_duration(limit, timeout_usec), command,
                        knot ? " and waits for the node to be ready, which waits for it" : "");
}

static DiskFacts *facts_of(const Disks *disks, DiskFacts *facts, const char *name) {
        for (size_t i = 0; i < disks->n; i++)
                if (streq(disks->items[i].name, name))
                        return &facts[i];
        return NULL;
}

static bool all_local(const Disks *disks, DiskFacts *facts, char *const *names) {
        STRV_FOREACH (name, names)
                if (!facts_of(disks, facts, *name))
                        return false;
        return true;
}

int user_data_adopt(const Disks *disks, const char *where, DiskFacts *facts) {
        _cleanup_mount_table_ MountTable table = {};
        _cleanup_free_ char *source = NULL;

        if (mount_table_read(&table) < 0 || !mounted_at(where, &source))
                return 0;
        for (size_t i = 0; i < table.n; i++) {
                const Mount *m = &table.items[i];
                _cleanup_strv_free_ char **names = NULL;

                if (!streq(m->where, where) || disks_below(m->major, m->minor, &names) < 0 ||
                                !all_local(disks, facts, names))
                        continue;
                STRV_FOREACH (name, names) {
                        DiskFacts *f = facts_of(disks, facts, *name);
                        char *device = strdup(source);

                        if (!device)
                                return -ENOMEM;
                        free(f->labelled);
                        f->labelled = device;
                }
        }
        return 0;
}
