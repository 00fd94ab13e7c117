/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What lies ready before QEMU starts. The image itself is only ever read: the machine writes to an
 * overlay, which is gone afterwards, or with --state stays and is there at the next boot, like a
 * real machine's disks. */

#include "boot/internal.h"
#include "store/store.h"
#include "sandbox/open-inside.h"
#include "shared/file-util.h"
#include "shared/size.h"
#include "inspect/inspect.h"
#include "boot/link.h"
#include "boot/seed.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>

static int open_state(Boot *b) {
        int r;

        r = mkdir_p(b->o->state, 0700);
        if (r < 0)
                return log_error_errno(r,
                                "Cannot make the state folder %s (choose another with --state)",
                                b->o->state);
        b->folder = realpath(b->o->state, NULL);
        if (!b->folder)
                return log_error_errno(-errno, "Cannot use the state folder %s", b->o->state);
        b->state_lock = open(b->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (b->state_lock < 0 || flock(b->state_lock, LOCK_EX | LOCK_NB) < 0) {
                r = -errno;
                if (r == -EWOULDBLOCK)
                        log_error("%s is in use by another boot: end that, or give this one a folder of its own (--state)",
                                        b->folder);
                else
                        log_error_errno(r, "Cannot lock the state folder %s", b->folder);
                return r == -EWOULDBLOCK ? -EBUSY : r;
        }
        return 0;
}

static char *folder_of(const char *path) {
        const char *slash = strrchr(path, '/');

        return slash == path ? strdup("/") : strndup(path, (size_t) (slash - path));
}

static int open_log(const Boot *b, const char *name, int *ret_fd) {
        int fd = inside_create_output(b->logs, name, 0644);

        if (fd < 0)
                return log_error_errno(fd, "Cannot write %s/%s", b->logs, name);
        *ret_fd = fd;
        return 0;
}

/* --save: under their plain names. */
static int name_saved_logs(Boot *b) {
        int r;

        r = mkdir_p(b->o->save, 0755);
        if (r < 0)
                return log_error_errno(r, "Cannot make %s", b->o->save);

        b->logs = realpath(b->o->save, NULL);
        b->console_name = strdup("console.log");
        b->journal_name = strdup("journal.export");
        if (b->logs) {
                b->readable = path_join(b->logs, "journal.log");
                b->result = path_join(b->logs, "boot.json");
        }
        return 0;
}

/* Beside the store's other logs: TIME-boot-console.log … */
static int name_logs(Boot *b) {
        _cleanup_free_ char *log = NULL;
        const char *name;
        int stem;

        if (store_log_path(b->ctx->store, "boot", &log) < 0)
                return log_oom();

        name = path_basename(log);
        stem = (int) (strlen(name) - strlen(".log"));
        b->logs = folder_of(log);
        b->console_name = strf("%.*s-console.log", stem, name);
        b->journal_name = strf("%.*s-journal.export", stem, name);
        if (b->logs)
                b->readable = strf("%s/%.*s-journal.log", b->logs, stem, name);
        return 0;
}

/* Console and journal are written by QEMU where they are to stay, so that they are there however
 * all this ends. */
static int prepare_logs(Boot *b) {
        int r;

        r = b->o->save ? name_saved_logs(b) : name_logs(b);
        if (r < 0)
                return r;
        if (!b->logs || !b->console_name || !b->journal_name || !b->readable)
                return log_oom();
        b->console = path_join(b->logs, b->console_name);
        b->journal = path_join(b->logs, b->journal_name);
        if (!b->console || !b->journal)
                return log_oom();
        r = open_log(b, b->console_name, &b->console_fd);
        if (r < 0 || b->o->no_journal)
                return r;
        return open_log(b, b->journal_name, &b->journal_fd);
}

static int tool(Boot *b, char *const argv[]) {
        const SandboxBind binds[] = {
                { .source = b->folder, .target = VM_FOLDER, .writable = true },
                { .source = b->image_folder, .target = VM_IMAGE_FOLDER },
        };

        return tools_run(b->tools, binds, ELEMENTSOF(binds), NULL, NULL, argv);
}

static bool there(const Boot *b, const char *name) {
        _cleanup_free_ char *path = path_join(b->folder, name);

        return path && access(path, F_OK) >= 0;
}

static int prepare_root(Boot *b) {
        _cleanup_free_ char *image = realpath(b->o->image, NULL), *backing = NULL;
        char size[32];

        if (!image)
                return log_error_errno(-errno, "Cannot read %s", b->o->image);
        snprintf(size, sizeof(size), "%llu", (unsigned long long) b->o->disk_size);
        b->image_folder = folder_of(image);
        if (!b->image_folder)
                return log_oom();
        if (there(b, "root.qcow2")) {
                if (b->o->disk_size == 0)
                        return 0;
                return tool(b, ARGV("qemu-img", "resize", "-q", "-f", "qcow2",
                                               VM_FOLDER "/root.qcow2", size));
        }

        backing = path_join(VM_IMAGE_FOLDER, path_basename(image));
        if (!backing)
                return log_oom();
        return tool(b, ARGV("qemu-img", "create", "-q", "-f", "qcow2", "-F", b->format, "-b",
                                       backing, VM_FOLDER "/root.qcow2",
                                       b->o->disk_size > 0 ? size : NULL));
}

static int prepare_firmware(Boot *b) {
        if (b->vm.firmware == VM_BIOS || there(b, "vars.fd"))
                return 0;

        return tool(b, ARGV("cp", "/usr/share/OVMF/OVMF_VARS_4M.fd", VM_FOLDER "/vars.fd"));
}

/* A new file gets the size; one of an earlier boot has to have it. */
static int prepare_nvme_disk(Boot *b, size_t i) {
        _cleanup_free_ char *path = strf("%s/nvme%zu.raw", b->folder, i);
        uint64_t size = b->vm.nvme[i].size;
        char there[FORMAT_BYTES_MAX], wanted[FORMAT_BYTES_MAX];
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        if (!path)
                return log_oom();
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0 || fstat(fd, &st) < 0)
                return log_error_errno(-errno, "Cannot make %s", path);

        if (st.st_size == 0 && ftruncate(fd, (off_t) size) < 0)
                return log_error_errno(
                                -errno, "Cannot give %s %s", path, format_bytes(wanted, size));
        if (st.st_size != 0 && (uint64_t) st.st_size != size) {
                log_error("%s of an earlier boot has %s (%lld bytes), not %s (%llu): remove it, or give its size with --nvme",
                                path, format_bytes(there, (uint64_t) st.st_size),
                                (long long) st.st_size, format_bytes(wanted, size),
                                (unsigned long long) size);
                return -EINVAL;
        }
        return 0;
}

static int prepare_nvme(Boot *b) {
        for (size_t i = 0; i < b->vm.n_nvme; i++) {
                int r = prepare_nvme_disk(b, i);

                if (r < 0)
                        return r;
        }
        return 0;
}

#define INSTANCE_ID "instance-id"

/* The instance's identity goes with its disks: the same state folder is the same instance to
 * cloud-init. */
static int instance_id(Boot *b) {
        _cleanup_free_ char *path = path_join(b->folder, INSTANCE_ID), *id = NULL;
        unsigned char bytes[8];
        int r;

        if (!path)
                return -ENOMEM;
        if (inside_read_output(b->folder, INSTANCE_ID, 256, &id, NULL) >= 0)
                id[strcspn(id, "\n")] = '\0';
        if (!isempty(id)) {
                b->instance = TAKE_PTR(id);
                return 0;
        }
        if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
                return -errno;
        free(id);
        id = strf("i-%02x%02x%02x%02x%02x%02x%02x%02x", bytes[0], bytes[1], bytes[2], bytes[3],
                        bytes[4], bytes[5], bytes[6], bytes[7]);
        if (!id)
                return -ENOMEM;
        r = write_file_atomic(path, id, strlen(id), 0600);
        if (r < 0)
                return r;
        b->instance = TAKE_PTR(id);
        return 0;
}

static int prepare_instance(Boot *b) {
        int r;

        r = instance_id(b);
        return r < 0 ? log_error_errno(r, "Cannot write the instance's id") : 0;
}

static int prepare_links(Boot *b) {
        for (size_t i = 0; i < b->vm.n_links; i++)
                if (link_settle_mac(b->vm.links + i, b->instance) < 0)
                        return log_oom();
        return 0;
}

static int prepare_seed(Boot *b) {
        _cleanup_free_ char *network = NULL;
        SeedOptions seed = {
                .user_data = b->o->user_data,
                .meta_data = b->o->meta_data,
                .network_config = b->o->network_config,
                .keys = b->keys,
                .instance_id = b->instance,
                .hostname = b->o->hostname ? b->o->hostname : "node",
                .hosts = b->o->hosts,
        };

        if (b->o->no_seed)
                return 0;
        if (b->vm.n_links > 0 && link_network_config(&b->vm, &network) < 0)
                return log_oom();
        seed.network = network;
        b->vm.seed = true;
        return seed_write(b->tools, b->folder, &seed);
}

/* A port that is free now, for whoever said 0. */
int boot_free_port(uint16_t *ret) {
        struct sockaddr_in address = { .sin_family = AF_INET,
                .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t size = sizeof(address);
        _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0 || bind(fd, (struct sockaddr *) &address, size) < 0 ||
                        getsockname(fd, (struct sockaddr *) &address, &size) < 0)
                return -errno;
        *ret = ntohs(address.sin_port);
        return 0;
}

static int prepare_forwards(Boot *b) {
        const char *problem;
        bool ssh = false;
        int r;

        for (size_t i = 0; i < b->vm.n_forwards; i++)
                ssh = ssh || b->vm.forwards[i].guest == 22;
        if (!ssh && (b->o->command || b->o->keep || b->o->error_shell) &&
                        vm_add_forward(&b->vm, "0:22", &problem) < 0) {
                log_error("No forward is left for ssh: %s", problem);
                return -EINVAL;
        }
        for (size_t i = 0; i < b->vm.n_forwards; i++) {
                VmForward *f = b->vm.forwards + i;

                if (f->host == 0) {
                        r = boot_free_port(&f->host);
                        if (r < 0)
                                return log_error_errno(r, "Cannot find a free port on 127.0.0.1");
                }
                if (f->guest == 22 && b->ssh_port == 0)
                        b->ssh_port = f->host;
        }
        return 0;
}

/* Disks, firmware variables, seed: in the state folder where there is one. */
static int open_folder(Boot *b) {
        int r;

        if (b->o->state)
                return open_state(b);

        r = store_scratch(b->ctx->store, "boot", &b->folder);
        if (r < 0)
                return log_error_errno(r, "Cannot make room for the overlay");
        return 0;
}

/* The console serves where there is no ssh. */
static int prepare_key(Boot *b) {
        bool wanted = b->o->command || (b->o->error_shell && program_find("ssh-keygen", NULL));

        return wanted ? boot_ssh_key(b) : 0;
}

int boot_prepare(Boot *b) {
        static int (*const steps[])(Boot *b) = {
                open_folder,
                prepare_logs,
                prepare_forwards,
                prepare_key,
                prepare_root,
                prepare_firmware,
                prepare_nvme,
                prepare_instance,
                prepare_links,
                prepare_seed,
        };
        const char *format;
        int r;

        r = image_format_log(b->o->image, &format);
        if (r < 0)
                return r;
        b->format = strdup(format);
        b->keys = strv_copy(b->o->keys);
        if (!b->format || (b->o->keys && !b->keys))
                return log_oom();

        for (size_t i = 0; i < ELEMENTSOF(steps); i++) {
                r = steps[i](b);
                if (r < 0)
                        return r;
        }

        b->vm.console = b->console_name;
        b->vm.journal = b->o->no_journal ? NULL : b->journal_name;
        b->vm.console_socket = b->o->error_shell;
        b->vm.console_login = b->o->error_shell && !b->o->no_journal;
        if (b->keys && b->keys[0])
                b->vm.root_key = b->keys[strv_length(b->keys) - 1];
        return 0;
}

void boot_done(Boot *b) {
        if (!b->o->state && b->folder)
                (void) rm_rf(b->folder);
        if (b->watch.readable)
                fclose(b->watch.readable);
        boot_watch_done(&b->watch);
        safe_close(b->state_lock);
        safe_close(b->console_fd);
        safe_close(b->journal_fd);
        free(b->format);
        free(b->folder);
        free(b->image_folder);
        free(b->logs);
        free(b->console);
        free(b->journal);
        free(b->readable);
        free(b->result);
        free(b->console_name);
        free(b->journal_name);
        free(b->key);
        free(b->no_kvm);
        free(b->instance);
        strv_free(b->keys);
        /* vm's strings are the options' */
}
