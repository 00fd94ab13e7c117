/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot/link.h"

#include "boot/qemu.h"
#include "shared/file-util.h"
#include "shared/json-util.h"

#include "argv-fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

static void a_link_is_read(void **state _unused_) {
        _cleanup_vm_config_ VmConfig c = {};
        const char *problem;

        assert_int_equal(vm_add_link(&c, "lab=10.1.0.1/24,mac=02:AB:00:00:00:01", &problem), 0);
        assert_int_equal(vm_add_link(&c, "other", &problem), 0);
        assert_int_equal(c.n_links, 2);
        assert_string_equal(c.links[0].name, "lab");
        assert_string_equal(c.links[0].address, "10.1.0.1/24");
        assert_string_equal(c.links[0].mac, "02:ab:00:00:00:01");
        assert_null(c.links[1].address);
}

static void bad_links_are_refused(void **state _unused_) {
        static const char *const bad[] = {
                "",
                "=10.0.0.1/24",
                "../lab",
                ".lab",
                "a/b",
                "a b",
                "a123456789012345678901234567890123",
                "lab=",
                "lab=10.0.0.1",
                "lab=10.0.0.1/31",
                "lab=10.0.0.1/7",
                "lab=10.0.0.1/2x",
                "lab=10.0.0/24",
                "lab=10.0.0.1/24/8",
                "lab=::1/24",
                "lab,mac=",
                "lab,mac=01:00:00:00:00:01",
                "lab,mac=00:00:00:00:00:00",
                "lab,mac=02:00:00:00:00:1",
                "lab,mac=02:00:00:00:00:0g",
                "lab,mac=02-00-00-00-00-01",
                "lab,mtu=9000",
        };

        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                _cleanup_vm_config_ VmConfig c = {};
                const char *problem = NULL;

                if (vm_add_link(&c, bad[i], &problem) != -EINVAL)
                        fail_msg("accepted: '%s'", bad[i]);
                assert_non_null(problem);
                assert_int_equal(c.n_links, 0);
        }
}

static void a_machine_has_one_card_on_a_link_and_four_in_all(void **state _unused_) {
        _cleanup_vm_config_ VmConfig c = {};
        const char *problem;

        assert_int_equal(vm_add_link(&c, "a", &problem), 0);
        assert_int_equal(vm_add_link(&c, "a=10.0.0.1/8", &problem), -EINVAL);
        assert_int_equal(vm_add_link(&c, "b", &problem), 0);
        assert_int_equal(vm_add_link(&c, "c", &problem), 0);
        assert_int_equal(vm_add_link(&c, "d", &problem), 0);
        assert_int_equal(vm_add_link(&c, "e", &problem), -EINVAL);
}

static void settle(const char *text, const char *instance, char mac[static VM_MAC_SIZE]) {
        _cleanup_vm_config_ VmConfig c = {};
        const char *problem;

        assert_int_equal(vm_add_link(&c, text, &problem), 0);
        assert_int_equal(link_settle_mac(c.links, instance), 0);
        memcpy(mac, c.links[0].mac, VM_MAC_SIZE);
}

static void a_mac_follows_from_link_and_address(void **state _unused_) {
        char a[VM_MAC_SIZE], again[VM_MAC_SIZE], b[VM_MAC_SIZE], other[VM_MAC_SIZE];

        settle("lab=10.0.0.1/24", "i-1", a);
        settle("lab=10.0.0.1/24", "i-2", again);
        settle("lab=10.0.0.2/24", "i-1", b);
        settle("gym=10.0.0.1/24", "i-1", other);
        assert_string_equal(a, again);
        assert_string_not_equal(a, b);
        assert_string_not_equal(a, other);
        assert_non_null(startswith(a, "02:"));
        assert_int_equal(strlen(a), 17);
}

static void without_an_address_instances_differ(void **state _unused_) {
        char a[VM_MAC_SIZE], b[VM_MAC_SIZE];

        settle("lab", "i-1", a);
        settle("lab", "i-2", b);
        assert_string_not_equal(a, b);
}

static void a_mac_that_was_given_stays(void **state _unused_) {
        char mac[VM_MAC_SIZE];

        settle("lab,mac=02:00:00:00:00:09", "i-1", mac);
        assert_string_equal(mac, "02:00:00:00:00:09");
}

static void qemu_gets_a_card_for_each_link(void **state _unused_) {
        _cleanup_vm_config_ VmConfig c = { .cpus = 1, .memory = 1 << 30, .console = "c" };
        _cleanup_strv_free_ char **argv = NULL;
        const char *problem;

        assert_int_equal(vm_add_link(&c, "a,mac=02:00:00:00:00:01", &problem), 0);
        assert_int_equal(vm_add_link(&c, "b,mac=02:00:00:00:00:02", &problem), 0);
        assert_int_equal(vm_argv(&c, &argv), 0);
        assert_true(has(argv, "-device",
                        "virtio-net-pci,netdev=link1,romfile=,addr=0x1b,mac=02:00:00:00:00:02,host_mtu=9000"));
        assert_true(has(argv, "-netdev",
                        "dgram,id=link0,local.type=unix,local.path=/run/vm/link0-qemu.sock,"
                        "remote.type=unix,remote.path=/run/vm/link0.sock"));
}

static void the_guest_is_told_its_cards(void **state _unused_) {
        _cleanup_vm_config_ VmConfig c = {};
        _cleanup_free_ char *text = NULL;
        _cleanup_json_ json_object *o = NULL;
        const char *problem;
        JsonError error;

        assert_int_equal(vm_add_link(&c, "a=10.1.0.7/16,mac=02:00:00:00:00:01", &problem), 0);
        assert_int_equal(vm_add_link(&c, "b,mac=02:00:00:00:00:02", &problem), 0);
        assert_int_equal(link_network_config(&c, &text), 0);
        assert_int_equal(json_parse(text, strlen(text), &error, &o), 0);

        json_object *cards = json_get(o, "ethernets"), *a = json_get(cards, "link0"),
                    *b = json_get(cards, "link1");
        assert_int_equal(json_get_int(o, "version", 0), 2);
        assert_true(json_get_bool(json_get(cards, "user"), "dhcp4", false));
        assert_string_equal(json_object_get_string(
                                            json_object_array_get_idx(json_get(a, "addresses"), 0)),
                        "10.1.0.7/16");
        assert_int_equal(json_get_int(a, "mtu", 0), 9000);
        assert_null(json_get(a, "optional"));
        assert_null(json_get(b, "addresses"));
        assert_true(json_get_bool(b, "optional", false));
}

/* Three machines on one link, each with the test in QEMU's place. */
#define MACHINES 3
typedef struct Lab {
        char folder[sizeof("/tmp/test-link-XXXXXX")];
        VmLink links[MACHINES];
        char *vm[MACHINES];
        int qemu[MACHINES];
        pid_t ports[MACHINES];
} Lab;

static struct sockaddr_un address_of(const char *folder, const char *name) {
        struct sockaddr_un a = { .sun_family = AF_UNIX };

        snprintf(a.sun_path, sizeof(a.sun_path), "%s/%s", folder, name);
        return a;
}

static int lab_setup(void **state) {
        Lab *l = calloc(1, sizeof(*l));
        struct sockaddr_un a;

        strcpy(l->folder, "/tmp/test-link-XXXXXX");
        assert_non_null(mkdtemp(l->folder));
        for (size_t i = 0; i < MACHINES; i++) {
                l->links[i] = (VmLink) { .name = (char *) "lab", .folder = l->folder };
                snprintf(l->links[i].mac, VM_MAC_SIZE, "02:00:00:00:00:0%u", (unsigned) i % 10);
                l->vm[i] = strf("%s/vm%zu", l->folder, i);
                assert_int_equal(mkdir(l->vm[i], 0700), 0);
                l->qemu[i] = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
                a = address_of(l->vm[i], "link0-qemu.sock");
                assert_int_equal(bind(l->qemu[i], (struct sockaddr *) &a, sizeof(a)), 0);
                assert_int_equal(link_start(l->links + i, l->vm[i], 0, &l->ports[i]), 0);
        }
        *state = l;
        return 0;
}

static int lab_teardown(void **state) {
        Lab *l = *state;

        for (size_t i = 0; i < MACHINES; i++) {
                link_stop(l->links + i, l->ports[i]);
                close(l->qemu[i]);
                free(l->vm[i]);
        }
        assert_int_equal(rm_rf(l->folder), 0);
        free(l);
        return 0;
}

static void send_frame(Lab *l, size_t from, const char to[static 6], size_t size) {
        struct sockaddr_un a = address_of(l->vm[from], "link0.sock");
        char frame[9014] = {};

        memcpy(frame, to, 6);
        assert_int_equal(sendto(l->qemu[from], frame, size, 0, (struct sockaddr *) &a, sizeof(a)),
                        size);
}

/* Bytes of the next frame; 0: none within 200 ms, or 5 s where one is expected. */
static size_t receive(Lab *l, size_t at, bool expected) {
        struct pollfd fd = { .fd = l->qemu[at], .events = POLLIN };
        char frame[65536];
        ssize_t n;

        if (poll(&fd, 1, expected ? 5000 : 200) == 0)
                return 0;
        n = recv(l->qemu[at], frame, sizeof(frame), 0);
        return n < 0 ? 0 : (size_t) n;
}

static void a_frame_goes_to_its_address_alone(void **state) {
        Lab *l = *state;

        send_frame(l, 0, "\x02\0\0\0\0\x02", 9014);
        assert_int_equal(receive(l, 2, true), 9014);
        assert_int_equal(receive(l, 1, false), 0);
        assert_int_equal(receive(l, 0, false), 0);
}

static void a_broadcast_goes_to_all_others(void **state) {
        Lab *l = *state;

        send_frame(l, 1, "\xff\xff\xff\xff\xff\xff", 60);
        assert_int_equal(receive(l, 0, true), 60);
        assert_int_equal(receive(l, 2, true), 60);
        assert_int_equal(receive(l, 1, false), 0);
}

static void a_frame_for_an_address_that_nobody_is_named_by_goes_to_all(void **state) {
        Lab *l = *state;

        send_frame(l, 1, "\x06\0\0\0\0\x55", 60);
        assert_int_equal(receive(l, 0, true), 60);
        assert_int_equal(receive(l, 2, true), 60);
}

static void one_address_is_on_a_link_once(void **state) {
        Lab *l = *state;
        pid_t port;

        assert_int_equal(link_start(l->links, l->vm[1], 1, &port), -EADDRINUSE);
}

static void a_killed_machine_is_forgotten_and_may_come_back(void **state) {
        Lab *l = *state;
        _cleanup_free_ char *path = strf("%s/lab/%s", l->folder, l->links[2].mac);

        kill(l->ports[2], SIGKILL);
        assert_int_equal(waitpid(l->ports[2], NULL, 0), l->ports[2]);
        assert_int_equal(access(path, F_OK), 0);
        send_frame(l, 0, "\xff\xff\xff\xff\xff\xff", 60);
        assert_int_equal(receive(l, 1, true), 60);
        for (int i = 0; i < 100 && access(path, F_OK) == 0; i++)
                usleep(10000);
        assert_int_not_equal(access(path, F_OK), 0);

        assert_int_equal(link_start(l->links + 2, l->vm[2], 0, &l->ports[2]), 0);
        send_frame(l, 0, "\x02\0\0\0\0\x02", 60);
        assert_int_equal(receive(l, 2, true), 60);
}

static void a_socket_of_qemus_that_is_a_link_gets_nothing(void **state) {
        Lab *l = *state;
        _cleanup_free_ char *own = strf("%s/link0-qemu.sock", l->vm[2]),
                            *other = strf("%s/other.sock", l->folder);
        struct sockaddr_un a = address_of(l->folder, "other.sock");
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        assert_int_equal(bind(fd, (struct sockaddr *) &a, sizeof(a)), 0);
        assert_int_equal(unlink(own), 0);
        assert_int_equal(symlink(other, own), 0);
        send_frame(l, 0, "\x02\0\0\0\0\x02", 60);
        assert_int_equal(poll(&(struct pollfd) { .fd = fd, .events = POLLIN }, 1, 300), 0);
        close(fd);
}

/* Of a state folder that a stranger made: a link named as a machine, and a socket that is none. */
static void sockets_of_the_host_get_nothing(void **state) {
        Lab *l = *state;
        static const char *const names[] = { "other.sock", "notify" };
        _cleanup_free_ char *other = strf("%s/other.sock", l->folder),
                            *link = strf("%s/lab/02:00:00:00:00:77", l->folder),
                            *lab = strf("%s/lab", l->folder);
        struct sockaddr_un a[] = { address_of(l->folder, names[0]), address_of(lab, names[1]) };
        struct pollfd fds[2];

        for (size_t i = 0; i < 2; i++) {
                fds[i] = (struct pollfd) { .fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0),
                        .events = POLLIN };
                assert_int_equal(bind(fds[i].fd, (struct sockaddr *) (a + i), sizeof(*a)), 0);
        }
        assert_int_equal(symlink(other, link), 0);
        send_frame(l, 0, "\x02\0\0\0\0\x77", 60);
        send_frame(l, 0, "\xff\xff\xff\xff\xff\xff", 60);
        assert_int_equal(receive(l, 1, true), 60);
        assert_int_equal(poll(fds, 2, 300), 0);
        close(fds[0].fd);
        close(fds[1].fd);
}

static void a_link_in_place_of_the_folder_is_refused(void **state) {
        Lab *l = *state;
        _cleanup_free_ char *path = strf("%s/away", l->folder), *to = strf("%s/lab", l->folder);
        VmLink away = l->links[0];
        pid_t port;

        away.name = (char *) "away";
        strcpy(away.mac, "02:00:00:00:00:66");
        assert_int_equal(symlink(to, path), 0);
        assert_true(link_start(&away, l->vm[0], 1, &port) < 0);
}

#define lab_test(f) cmocka_unit_test_setup_teardown(f, lab_setup, lab_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_link_is_read),
                cmocka_unit_test(bad_links_are_refused),
                cmocka_unit_test(a_machine_has_one_card_on_a_link_and_four_in_all),
                cmocka_unit_test(a_mac_follows_from_link_and_address),
                cmocka_unit_test(without_an_address_instances_differ),
                cmocka_unit_test(a_mac_that_was_given_stays),
                cmocka_unit_test(qemu_gets_a_card_for_each_link),
                cmocka_unit_test(the_guest_is_told_its_cards),
                lab_test(a_frame_goes_to_its_address_alone),
                lab_test(a_broadcast_goes_to_all_others),
                lab_test(a_frame_for_an_address_that_nobody_is_named_by_goes_to_all),
                lab_test(one_address_is_on_a_link_once),
                lab_test(a_socket_of_qemus_that_is_a_link_gets_nothing),
                lab_test(sockets_of_the_host_get_nothing),
                lab_test(a_link_in_place_of_the_folder_is_refused),
                lab_test(a_killed_machine_is_forgotten_and_may_come_back),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
