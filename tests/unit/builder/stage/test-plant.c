/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What an archive says is made as it says, and a hostile one leaves the folder alone. Archives are
 * made by python, for tar would not make most of these. */

#include "stage/plant.h"

#include "shared/file-util.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <cmocka.h>

static char top[64];
static char *archive, *out;
static Planted planted;

static int setup(void **state _unused_) {
        snprintf(top, sizeof(top), "/tmp/test-plant.XXXXXX");
        assert_non_null(mkdtemp(top));
        archive = path_join(top, "archive");
        out = path_join(top, "out");
        assert_int_equal(mkdir(out, 0755), 0);
        planted = (Planted) {};
        return 0;
}

static int teardown(void **state _unused_) {
        free(archive);
        free(out);
        return rm_rf(top);
}

/* `body` adds entries: add(name, type, size/content, link, **pax). */
static void make_archive(const char *body) {
        static const char head[] =
                        "import io, os, sys, tarfile\n"
                        "t = tarfile.open(sys.argv[1], 'w', format=tarfile.PAX_FORMAT, encoding='utf-8', errors='surrogateescape')\n"
                        "def add(name, type=tarfile.REGTYPE, content=b'', link='', mode=0o644, device=(0, 0), **pax):\n"
                        "    m = tarfile.TarInfo(name); m.type = type; m.size = len(content); m.linkname = link; m.mode = mode\n"
                        "    m.uid, m.gid = os.getuid(), os.getgid(); m.mtime = 1000000000\n"
                        "    m.devmajor, m.devminor = device\n"
                        "    m.pax_headers = {k.replace('__', '.'): v for k, v in pax.items()}\n"
                        "    t.addfile(m, io.BytesIO(content))\n"
                        "DIR, LINK, HARD, CHR, FIFO = tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE\n";
        _cleanup_free_ char *script = strf("%s%s\nt.close()\n", head, body), *output = NULL;
        int status = -1;

        assert_int_equal(spawn_capture(NULL, ARGV("python3", "-c", script, archive), &output,
                                         &status),
                        0);
        if (status != 0)
                print_message("%s", output);
        assert_int_equal(status, 0);
}

static int plant(uint64_t packed, char **ret_why) {
        _cleanup_close_ int fd = open(archive, O_RDONLY | O_CLOEXEC);

        assert_true(fd >= 0);
        return plant_tree(fd, out, packed, &planted, ret_why);
}

static void assert_refused(const char *body, const char *why_text) {
        _cleanup_free_ char *why = NULL;

        make_archive(body);
        assert_int_equal(plant(1 << 20, &why), -EBADMSG);
        if (!why || !strstr(why, why_text))
                fail_msg("\"%s\" is not about \"%s\"", strempty(why), why_text);
}

static struct stat stat_of(const char *name) {
        _cleanup_free_ char *path = path_join(out, name);
        struct stat st;

        assert_int_equal(lstat(path, &st), 0);
        return st;
}

static void entries_are_as_they_say(void **state _unused_) {
        _cleanup_free_ char *why = NULL, *file = path_join(out, "d/file"),
                            *odd = path_join(out, "d/\xff\n");
        char value[16] = "";

        make_archive("add('./', DIR, mode=0o755)\n"
                     "add('./d', DIR, mode=0o555)\n"
                     "add('./d/file', content=b'text', mode=0o4711, SCHILY__xattr__user__x='y', mtime='1000000000.5')\n"
                     "add('./d/hard', HARD, link='./d/file')\n"
                     "add('./d/link', LINK, link='/etc/shadow')\n"
                     "add('./d/pipe', FIFO)\n"
                     "add('./d/\\udcff\\n', content=b'odd', hdrcharset='BINARY')");
        assert_int_equal(plant(1 << 20, &why), 0);
        assert_int_equal(stat_of("d").st_mode, S_IFDIR | 0555);
        assert_int_equal(stat_of("d").st_mtim.tv_sec, 1000000000); /* although files came into it */
        assert_int_equal(stat_of("d/file").st_mode, S_IFREG | 04711);
        assert_int_equal(stat_of("d/file").st_mtim.tv_nsec, 500000000);
        assert_int_equal(stat_of("d/hard").st_ino, stat_of("d/file").st_ino);
        assert_int_equal(stat_of("d/link").st_mode & S_IFMT, S_IFLNK);
        assert_int_equal(stat_of("d/pipe").st_mode & S_IFMT, S_IFIFO);
        assert_int_equal(access(odd, F_OK), 0);
        if (getxattr(file, "user.x", value, sizeof(value)) < 0)
                assert_int_equal(errno, EOPNOTSUPP);
        else
                assert_string_equal(value, "y");
        assert_int_equal(planted.bytes, 7);
}

static void names_that_lead_out_are_refused(void **state _unused_) {
        assert_refused("add('../x')", "leads out");
        assert_refused("add('/x')", "leads out");
        assert_refused("add('a/../../x')", "leads out");
        assert_refused("add('a//x')", "leads out");
}

static void links_are_not_followed(void **state _unused_) {
        _cleanup_free_ char *aside = path_join(top, "x");

        assert_refused("add('a', LINK, link='..')\nadd('a/x')", "a/x");
        assert_int_equal(access(aside, F_OK), -1);
}

static void a_file_over_a_link_is_refused(void **state _unused_) {
        _cleanup_free_ char *aside = path_join(top, "x");

        assert_refused("add('a', LINK, link='../x')\nadd('a', content=b'1')", "a: File exists");
        assert_int_equal(access(aside, F_OK), -1);
}

static void hard_links_stay_inside(void **state _unused_) {
        assert_refused("add('a', HARD, link='/etc/passwd')", "hard link");
        assert_refused("add('b', HARD, link='../../etc/passwd')", "hard link");
        assert_refused("add('c', LINK, link='/etc')\nadd('d', HARD, link='c/passwd')", "d: ");
        assert_refused("add('e', HARD, link='nowhere')", "e: ");
}

static void overlayfs_own_marks_are_left_out(void **state _unused_) {
        _cleanup_free_ char *why = NULL, *d = path_join(out, "d"), *w = path_join(out, "d/w");

        make_archive("add('d', DIR, mode=0o755, SCHILY__xattr__trusted__overlay__redirect='/etc', SCHILY__xattr__user__overlay__opaque='y', SCHILY__xattr__trusted__SGI_ACL_FILE='x')\n"
                     "add('d/w', CHR)");
        assert_int_equal(plant(1 << 20, &why), 0);
        assert_int_equal(planted.whiteouts, 1);
        assert_int_equal(access(w, F_OK), -1);
        assert_true(lgetxattr(d, "user.overlay.opaque", NULL, 0) < 0);
        assert_true(lgetxattr(d, "trusted.overlay.redirect", NULL, 0) < 0);
        assert_true(lgetxattr(d, "trusted.SGI_ACL_FILE", NULL, 0) < 0);
}

/* Whatever the archive of a layer says, it shows its own files alone. */
static void a_layer_brings_no_marks_but_its_own(void **state _unused_) {
        static const char *const bodies[] = {
                "add('d', DIR, SCHILY__xattr__trusted__overlay__redirect='/etc')",
                "add('f', content=b'x', SCHILY__xattr__trusted__overlay__metacopy='')",
                "add('d', DIR, SCHILY__xattr__user__overlay__opaque='y')",
                "add('d', DIR, SCHILY__xattr__trusted__overlay__opaque='x')",
                "add('f', content=b'x', SCHILY__xattr__trusted__overlay__opaque='y')",
                "add('disk', CHR, device=(1, 3))",
                "add('w', CHR)\nadd('w', content=b'x')",
        };

        for (size_t i = 0; i < ELEMENTSOF(bodies); i++) {
                const LayerRoom room = { .folder = out, .packed = 1 << 20 };
                _cleanup_free_ char *why = NULL;
                _cleanup_close_ int fd = -EBADF;

                make_archive(bodies[i]);
                fd = open(archive, O_RDONLY | O_CLOEXEC);
                assert_true(fd >= 0);
                assert_int_equal(rm_rf(out), 0);
                assert_int_equal(mkdir(out, 0755), 0);
                if (plant_layer(fd, &room, &planted, &why) != -EBADMSG || !why)
                        fail_msg("%s", bodies[i]);
        }
}

static void a_bomb_is_refused(void **state _unused_) {
        assert_refused("for i in range(3):\n    add('big%d' % i, content=bytes(100 << 20))",
                        "fill the disk");
}

static void a_hole_that_no_disk_has_room_for_is_refused(void **state _unused_) {
        assert_refused("add('x', content=b'0\\n'.ljust(512, b'\\0'), GNU__sparse__major='1', GNU__sparse__minor='0',"
                       " GNU__sparse__name='x', GNU__sparse__realsize=str(1 << 42))",
                        "no image has room");
}

static void an_archive_that_ends_too_early_is_told(void **state _unused_) {
        _cleanup_free_ char *why = NULL;

        make_archive("add('a', content=bytes(100000))");
        assert_int_equal(truncate(archive, 50000), 0);
        assert_int_equal(plant(1 << 20, &why), -EPIPE);
        assert_non_null(why);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(entries_are_as_they_say),
                TEST(names_that_lead_out_are_refused),
                TEST(links_are_not_followed),
                TEST(a_file_over_a_link_is_refused),
                TEST(hard_links_stay_inside),
                TEST(overlayfs_own_marks_are_left_out),
                TEST(a_layer_brings_no_marks_but_its_own),
                TEST(a_bomb_is_refused),
                TEST(a_hole_that_no_disk_has_room_for_is_refused),
                TEST(an_archive_that_ends_too_early_is_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
