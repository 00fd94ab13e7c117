/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A NoCloud seed. The user's user-data goes in untouched; what we need of our own (the ssh keys,
 * root's login with them) is vendor-data, which everything in user-data overrides. */

#include "boot/seed.h"
#include "boot/qemu.h"

#include "shared/file-util.h"
#include "shared/json-strv.h"
#include "shared/log.h"

#define INPUT_MAX (4 * 1024 * 1024) /* bytes of user-data and the like */

static int to_text(const char *head, json_object *o, char **ret) {
        char *text = strf("%s%s\n", head,
                        json_object_to_json_string_ext(o,
                                        JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));

        if (!text)
                return -ENOMEM;
        *ret = text;
        return 0;
}

int seed_meta_data(const SeedOptions *o, char **ret) {
        _cleanup_json_ json_object *m = json_object_new_object();

        if (json_set_fields(m, JSON_STRING("instance-id", o->instance_id),
                            JSON_STRING("local-hostname", o->hostname)) < 0)
                return -ENOMEM;
        if (strv_length(o->keys) > 0 && json_set(m, "public-keys", json_from_strv(o->keys)) < 0)
                return -ENOMEM;
        return to_text("", m, ret);
}

static int add_hosts(json_object *v, const char *hosts) {
        json_object *files, *file;
        int r;

        r = json_add_array(v, "write_files", &files);
        if (r < 0)
                return r;
        r = json_append_object(files, &file);
        if (r < 0)
                return r;
        return json_set_fields(file, JSON_STRING("path", "/etc/hosts"), JSON_BOOL("append", true),
                        JSON_STRING("content", hosts));
}

/* The journal of a guest whose systemd takes no unit from a credential (qemu.c): from the middle of
 * its boot on, and then all of it. Where the unit is there already, nothing. */
static const char journal_command[] =
                "port=/dev/virtio-ports/" VM_JOURNAL_PORT "; [ -e $port ] || exit 0; "
                "systemctl cat imgbuild-journal.service >/dev/null 2>&1 || exec systemd-run --quiet --no-block --unit=imgbuild-journal "
                "--property=DefaultDependencies=no sh -c \"exec journalctl --follow --lines=all --boot --output=export >$port\"";

static int add_journal(json_object *v) {
        json_object *list;
        int r;

        r = json_add_array(v, "bootcmd", &list);
        if (r < 0)
                return r;
        return json_append(list, json_from_strv(ARGV("sh", "-c", (char *) journal_command)));
}

int seed_vendor_data(const SeedOptions *o, char **ret) {
        _cleanup_json_ json_object *v = json_object_new_object();

        if (!v || add_journal(v) < 0)
                return -ENOMEM;
        if (strv_length(o->keys) > 0 &&
                        (json_set_fields(v, JSON_BOOL("disable_root", false)) < 0 ||
                                        json_set(v, "ssh_authorized_keys",
                                                        json_from_strv(o->keys)) < 0))
                return -ENOMEM;
        if (o->hosts && add_hosts(v, o->hosts) < 0)
                return -ENOMEM;
        return to_text("#cloud-config\n", v, ret);
}

/* One line of a file of public keys; empty ones and comments are none. */
static int add_key(const char *path, const char *line, char ***keys) {
        const char *key = line + strspn(line, " \t");
        size_t n = strlen(key);

        while (n > 0 && strchr(" \t\r", key[n - 1]))
                n--;
        if (n == 0 || *key == '#')
                return 0;

        if (!startswith(key, "ssh-") && !startswith(key, "ecdsa-") && !startswith(key, "sk-")) {
                log_error("%s is no public ssh key: a line begins with '%.20s'", path, key);
                return -EINVAL;
        }
        return strv_push(keys, strndup(key, n)) < 0 ? log_oom() : 0;
}

int seed_read_keys(const char *path, char ***keys) {
        _cleanup_free_ char *text = NULL;
        _cleanup_strv_free_ char **lines = NULL;
        size_t before = strv_length(*keys);
        int r;

        r = read_file(path, INPUT_MAX, &text, NULL);
        if (r < 0)
                return log_error_errno(r, "Cannot read the ssh key %s", path);
        if (strstr(text, "PRIVATE KEY-----")) {
                log_error("%s is a private key; give the public one, %s.pub", path, path);
                return -EINVAL;
        }
        lines = strv_split(text, "\n");
        if (!lines)
                return log_oom();
        STRV_FOREACH (line, lines) {
                r = add_key(path, *line, keys);
                if (r < 0)
                        return r;
        }
        if (strv_length(*keys) == before) {
                log_error("%s holds no ssh key", path);
                return -EINVAL;
        }
        return 0;
}

/* One of the seed's files: the user's, or ours. */
static int put(const char *folder, const char *name, const char *source, const char *text) {
        _cleanup_free_ char *path = path_join(folder, name), *copy = NULL;
        size_t size = source ? 0 : strlen(text);
        int r;

        if (!path)
                return log_oom();
        if (source) {
                r = read_file(source, INPUT_MAX, &copy, &size);
                if (r < 0)
                        return log_error_errno(r, "Cannot read %s", source);
        }
        r = write_file_atomic(path, source ? copy : text, size, 0600);
        return r < 0 ? log_error_errno(r, "Cannot write the seed's %s", name) : 0;
}

static int put_all(const char *folder, const SeedOptions *o) {
        _cleanup_free_ char *meta = NULL, *vendor = NULL;
        int r;

        if (seed_meta_data(o, &meta) < 0 || seed_vendor_data(o, &vendor) < 0)
                return log_oom();

        r = put(folder, "user-data", o->user_data, "#cloud-config\n{}\n");
        if (r < 0)
                return r;
        r = put(folder, "meta-data", o->meta_data, meta);
        if (r < 0)
                return r;
        r = put(folder, "vendor-data", NULL, vendor);
        if (r < 0)
                return r;
        if (!o->network_config && !o->network)
                return 0;
        return put(folder, "network-config", o->network_config, o->network);
}

int seed_write(Tools *tools, const char *folder, const SeedOptions *o) {
        const SandboxBind bind = { .source = folder, .target = VM_FOLDER, .writable = true };
        _cleanup_strv_free_ char **argv = NULL;
        int r;

        r = put_all(folder, o);
        if (r < 0)
                return r;

        if (strv_extend_many(&argv, "cloud-localds", "--vendor-data", VM_FOLDER "/vendor-data",
                            NULL) < 0)
                return log_oom();
        if ((o->network_config || o->network) &&
                        strv_extend_many(&argv, "--network-config", VM_FOLDER "/network-config",
                                        NULL) < 0)
                return log_oom();
        if (strv_extend_many(&argv, VM_FOLDER "/seed.img", VM_FOLDER "/user-data",
                            VM_FOLDER "/meta-data", NULL) < 0)
                return log_oom();
        return tools_run(tools, &bind, 1, NULL, NULL, argv);
}
