/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Archives come out as tar --no-same-owner --preserve-permissions puts them, and a stranger's
 * archive does not come out of its folder. Each is made by the host's tar, or by python where tar
 * would not make such a thing. */

#include "stage/unpack.h"

#include "shared/file-util.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <cmocka.h>

static char path[64];
static char *source, *archive, *out, *peer;

static int setup(void **state _unused_) {
        snprintf(path, sizeof(path), "/tmp/test-unpack.XXXXXX");
        assert_non_null(mkdtemp(path));
        source = path_join(path, "source");
        archive = path_join(path, "archive");
        out = path_join(path, "out");
        peer = path_join(path, "peer");
        assert_int_equal(mkdir(source, 0755), 0);
        assert_int_equal(mkdir(out, 0755), 0);
        assert_int_equal(mkdir(peer, 0755), 0);
        umask(022);
        return 0;
}

static int teardown(void **state _unused_) {
        assert_int_equal(chdir("/"), 0);
        free(source);
        free(archive);
        free(out);
        free(peer);
        return rm_rf(path);
}

/* Runs a shell script with the folders as $1 (source) and $2 (archive). */
static void sh(const char *script) {
        _cleanup_free_ char *output = NULL;
        int status = -1;

        assert_int_equal(spawn_capture(NULL, ARGV("/bin/sh", "-ec", script, "sh", source, archive),
                                         &output, &status),
                        0);
        if (status != 0)
                print_message("%s", output);
        assert_int_equal(status, 0);
}

/* Everything that a copy into an image takes from a folder: names, types, modes, link targets and
 * contents; and owners. */
static char *listing(const char *folder) {
        static const char script[] =
                        "cd \"$1\" && find . -mindepth 1 -printf '%P %y %m %u %g %l\\n' | sort && "
                        "find . -type f -print0 | sort -z | xargs -0r sha256sum";
        char *text = NULL;
        int status = -1;

        assert_int_equal(spawn_capture(NULL, ARGV("/bin/sh", "-ec", script, "sh", folder), &text,
                                         &status),
                        0);
        assert_int_equal(status, 0);
        return text;
}

static void as_tar_does(unsigned strip) {
        _cleanup_free_ char *why = NULL, *ours = NULL, *theirs = NULL, *output = NULL,
                            *option = strf("--strip-components=%u", strip);
        int status = -1;

        assert_int_equal(spawn_capture(NULL,
                                         ARGV("tar", "--extract", "--no-same-owner",
                                                         "--preserve-permissions", option, "-C",
                                                         peer, "-f", archive),
                                         &output, &status),
                        0);
        assert_int_equal(status, 0);
        assert_int_equal(unpack_archive(archive, out, strip, &why), 0);
        assert_null(why);
        ours = listing(out);
        theirs = listing(peer);
        assert_true(strlen(theirs) > 0);
        assert_string_equal(ours, theirs);
}

static void fill(void) {
        sh("cd \"$1\"; mkdir -p top/bin top/lib top/closed/deep 'top/with space'\n"
           "echo program >top/bin/program; chmod 4755 top/bin/program\n"
           "echo group >top/bin/group; chmod 2750 top/bin/group\n"
           "echo secret >top/closed/deep/secret; chmod 0600 top/closed/deep/secret\n"
           "ln top/bin/program top/bin/hard; ln -s ../bin/program top/lib/link\n"
           "ln -s /etc/passwd top/lib/absolute; ln -s nowhere top/lib/dangling\n"
           "echo x >'top/with space/ümläut'; : >top/empty; chmod 1777 'top/with space'\n"
           "truncate -s 1M top/sparse; echo end >>top/sparse\n"
           "head -c 300000 /dev/urandom >top/large; chmod 0555 top/closed top/closed/deep");
}

static void modes_links_and_contents_are_tars(void **state _unused_) {
        fill();
        sh("tar --owner=1234 --group=4321 -C \"$1\" -cf \"$2\" top");
        as_tar_does(0);
}

static void leading_folders_are_stripped(void **state _unused_) {
        fill();
        sh("tar -C \"$1\" -czf \"$2\" top");
        as_tar_does(1);
}

static void a_dot_counts_as_a_folder(void **state _unused_) {
        fill();
        sh("tar -C \"$1\" -cJf \"$2\" ./top");
        as_tar_does(2);
}

static void what_is_stripped_whole_is_left_out(void **state _unused_) {
        fill();
        sh("echo readme >\"$1/README\"; cd \"$1\"; rm top/bin/hard; tar -cf \"$2\" README top");
        as_tar_does(2);
}

static void names_are_utf_8_in_pax_archives_too(void **state _unused_) {
        fill();
        sh("tar --format=pax --sparse -C \"$1\" -cf \"$2\" top");
        as_tar_does(0);
}

static void absolute_names_land_inside(void **state _unused_) {
        sh("python3 - \"$2\" <<'E'\n"
           "import io, sys, tarfile\n"
           "t = tarfile.open(sys.argv[1], 'w')\n"
           "i = tarfile.TarInfo('/opt/file'); i.size = 2; t.addfile(i, io.BytesIO(b'x\\n'))\n"
           "t.close()\nE");
        as_tar_does(0);
}

static void every_compression_is_known(void **state _unused_) {
        static const char *const options[] = { "-z", "-j", "-J", "--zstd", "" };

        fill();
        for (size_t i = 0; i < ELEMENTSOF(options); i++) {
                _cleanup_free_ char *why = NULL, *file = path_join(out, "top/large"),
                                    *script = strf("tar -C \"$1\" %s -cf \"$2\" top", options[i]);

                sh(script);
                assert_int_equal(rm_rf(out), 0);
                assert_int_equal(mkdir(out, 0755), 0);
                assert_int_equal(unpack_archive(archive, out, 0, &why), 0);
                assert_int_equal(access(file, F_OK), 0);
        }
}

static void refused(const char *reason) {
        _cleanup_free_ char *why = NULL;

        assert_int_equal(unpack_archive(archive, out, 0, &why), -EBADMSG);
        assert_non_null(why);
        if (!strstr(why, reason))
                print_message("%s\n", why);
        assert_non_null(strstr(why, reason));
}

/* `members` adds TarInfo's to t. */
static void make(const char *members) {
        _cleanup_free_ char *script =
                        strf("python3 - \"$2\" <<'E'\n"
                             "import io, sys, tarfile\n"
                             "t = tarfile.open(sys.argv[1], 'w')\n"
                             "def add(name, kind=tarfile.REGTYPE, to=''):\n"
                             "    i = tarfile.TarInfo(name); i.type = kind; i.linkname = to\n"
                             "    i.size = 2 if kind == tarfile.REGTYPE else 0\n"
                             "    t.addfile(i, io.BytesIO(b'x\\n'))\n"
                             "%s\nt.close()\nE",
                                        members);

        sh(script);
}

static void dots_do_not_lead_out(void **state _unused_) {
        _cleanup_free_ char *outside = path_join(path, "outside");

        make("add('../outside')");
        refused("'..'");
        make("add('a/../../outside')");
        refused("'..'");
        assert_int_equal(access(outside, F_OK), -1);
}

static void links_do_not_lead_out(void **state _unused_) {
        _cleanup_free_ char *outside = path_join(path, "outside");

        make("add('way', tarfile.SYMTYPE, '..'); add('way/outside')");
        refused("way");
        assert_int_equal(access(outside, F_OK), -1);
}

static void devices_and_pipes_are_refused(void **state _unused_) {
        _cleanup_free_ char *device = path_join(out, "disk");

        make("add('disk', tarfile.BLKTYPE)");
        refused("neither file, folder nor link");
        make("add('disk', tarfile.FIFOTYPE)");
        refused("neither file, folder nor link");
        assert_int_equal(access(device, F_OK), -1);
}

static void hard_links_do_not_lead_out(void **state _unused_) {
        _cleanup_free_ char *outside = path_join(path, "outside"), *inside = path_join(out, "way");

        assert_int_equal(write_file_atomic(outside, "secret", 6, 0600), 0);
        make("add('way', tarfile.LNKTYPE, '../outside')");
        refused("way");
        make("add('l', tarfile.SYMTYPE, '..'); add('way', tarfile.LNKTYPE, 'l/outside')");
        refused("way");
        assert_int_equal(access(inside, F_OK), -1);
}

static void a_link_is_not_written_through(void **state _unused_) {
        _cleanup_free_ char *outside = path_join(path, "outside"), *text = NULL;

        assert_int_equal(write_file_atomic(outside, "mine", 4, 0600), 0);
        make("add('f', tarfile.SYMTYPE, '../outside'); add('f')");
        {
                _cleanup_free_ char *why = NULL;
                (void) unpack_archive(archive, out, 0, &why);
        }
        assert_int_equal(read_file(outside, 100, &text, NULL), 0);
        assert_string_equal(text, "mine");
}

static void a_bomb_is_refused(void **state _unused_) {
        sh("cd \"$1\"; truncate -s 300M bomb; tar --zstd -cf \"$2\" bomb; rm bomb");
        refused("decompression bomb");
}

static void a_bomb_of_empty_files_is_refused(void **state _unused_) {
        sh("python3 - \"$2\" <<'E'\n"
           "import subprocess, sys, tarfile\n"
           "z = subprocess.Popen(['zstd', '-qfo', sys.argv[1]], stdin=subprocess.PIPE)\n"
           "b = tarfile.TarInfo('f').tobuf() * 1000\n"
           "for _ in range(66): z.stdin.write(b)\n"
           "z.stdin.close(); sys.exit(z.wait())\n"
           "E");
        refused("decompression bomb");
}

static void what_is_only_large_is_no_bomb(void **state _unused_) {
        _cleanup_free_ char *why = NULL;

        sh("cd \"$1\"; truncate -s 300M large\n"
           "head -c 3000000 /dev/urandom >noise; tar --zstd -cf \"$2\" noise large; rm large");
        assert_int_equal(unpack_archive(archive, out, 0, &why), 0);
}

static void a_sparse_file_takes_no_room(void **state _unused_) {
        _cleanup_free_ char *why = NULL, *file = path_join(out, "sparse");
        struct stat st;

        sh("cd \"$1\"; truncate -s 10G sparse; tar --sparse -czf \"$2\" sparse");
        assert_int_equal(unpack_archive(archive, out, 0, &why), 0);
        assert_int_equal(stat(file, &st), 0);
        assert_int_equal(st.st_size, 10LL << 30);
        assert_true(st.st_blocks * 512 < 1 << 20);
}

static void a_damaged_archive_is_said_so(void **state _unused_) {
        fill();
        sh("tar -C \"$1\" -czf - top | head -c 100000 >\"$2\"");
        refused("");
        sh("echo 'This is no archive.' >\"$2\"");
        refused("");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(modes_links_and_contents_are_tars),
                TEST(leading_folders_are_stripped),
                TEST(a_dot_counts_as_a_folder),
                TEST(what_is_stripped_whole_is_left_out),
                TEST(names_are_utf_8_in_pax_archives_too),
                TEST(absolute_names_land_inside),
                TEST(every_compression_is_known),
                TEST(dots_do_not_lead_out),
                TEST(links_do_not_lead_out),
                TEST(devices_and_pipes_are_refused),
                TEST(hard_links_do_not_lead_out),
                TEST(a_link_is_not_written_through),
                TEST(a_bomb_is_refused),
                TEST(a_bomb_of_empty_files_is_refused),
                TEST(what_is_only_large_is_no_bomb),
                TEST(a_sparse_file_takes_no_room),
                TEST(a_damaged_archive_is_said_so),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
