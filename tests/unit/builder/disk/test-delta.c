/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Small raw disks, what changed between them, and the one again from the other. What comes from a
 * stranger is made with a right checksum: that is no protection. */

#include "disk/delta-zstd.h"
#include "disk/delta.h"
#include "disk/export.h"
#include "qcow2-fixture.h"

#define BLOCKS 600u
#define SIZE ((size_t) BLOCKS * DELTA_BLOCK)

static unsigned char disk[SIZE + DELTA_BLOCK];

/* Noise of its own for each seed. */
static void put_noise(size_t offset, size_t size, uint64_t seed) {
        for (size_t i = 0; i < size; i++) {
                seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
                disk[offset + i] = (unsigned char) (seed >> 56);
        }
}

/* An empty disk with an MBR, of a build of that number. */
static void begin_disk(unsigned char build) {
        memset(disk, 0, sizeof(disk));
        disk[440] = build;
        disk[450] = 0x83;
        disk[455] = 8;
        disk[458] = 8;
        disk[510] = 0x55;
        disk[511] = 0xaa;
}

static void save(const char *path, size_t size) {
        assert_int_equal(write_file_atomic(path, disk, size, 0644), 0);
}

/* The old disk; and the new one, where 200 blocks moved, 5 are others, 100 differ by one byte that
 * came in between, and its end is no whole block. */
static void put_disks(void) {
        begin_disk(1);
        put_noise(10 * DELTA_BLOCK, 200 * DELTA_BLOCK, 1);
        put_noise(300 * DELTA_BLOCK, 100 * DELTA_BLOCK, 2);
        save("old.raw", SIZE);

        begin_disk(2);
        put_noise(15 * DELTA_BLOCK, 200 * DELTA_BLOCK, 1);
        put_noise(10 * DELTA_BLOCK, 5 * DELTA_BLOCK, 3);
        put_noise(300 * DELTA_BLOCK + 1, 100 * DELTA_BLOCK, 2);
        put_noise(SIZE, 512, 4);
        save("new.raw", SIZE + 512);
        assert_int_equal(mkdir("out", 0755), 0);
}

static uint64_t make(const char *old, const char *new) {
        DeltaFigures figures = {};

        assert_int_equal(delta_make(old, new, "delta", &figures), 0);
        return figures.size;
}

/* What comes of it: 0 or negative errno; the new disk, where there is one, is out/disk. */
static int apply(const char *delta, const char *old) {
        _cleanup_image_draft_ ImageDraft draft = { .fd = -EBADF };
        _cleanup_delta_ Delta *d = NULL;
        int r;

        r = delta_open(delta, &d);
        if (r < 0)
                return r;
        r = delta_apply(d, old, "out", &draft);
        return r < 0 ? r : image_draft_put(&draft, "out", "out/disk", NULL);
}

static void assert_same(const char *a, const char *b) {
        Digest one, other;

        assert_int_equal(digest_file(a, one, NULL), 0);
        assert_int_equal(digest_file(b, other, NULL), 0);
        assert_string_equal(one, other);
}

static void assert_logged(Fixture *f, const char *message) {
        assert_true(was_logged(f, message));
}

static void assert_nothing_left(void) {
        assert_int_equal(rmdir("out"), 0);
        assert_int_equal(mkdir("out", 0755), 0);
}

static void the_new_disk_comes_again(void **state _unused_) {
        put_disks();
        (void) make("old.raw", "new.raw");
        assert_int_equal(apply("delta", "old.raw"), 0);
        assert_same("out/disk", "new.raw");
}

/* 5 blocks of noise and what is left of a sixth are new; what moved or shifted is not. */
static void a_delta_has_what_is_new_and_little_more(void **state _unused_) {
        put_disks();
        assert_in_range(make("old.raw", "new.raw"), 5 * DELTA_BLOCK, 7 * DELTA_BLOCK);
        assert_in_range(make("old.raw", "old.raw"), 1, 1000);
}

static void a_larger_disk_takes_several_pieces(void **state _unused_) {
        const size_t many = 2 * (size_t) DELTA_DATA_MAX * DELTA_BLOCK + 5 * DELTA_BLOCK;
        _cleanup_free_ unsigned char *large = malloc(many);

        put_disks();
        for (size_t i = 0; i < many; i++)
                large[i] = (unsigned char) (i >> 12 ^ i >> 20 ^ (i & 0xfff));
        memcpy(large, disk, 512);
        assert_int_equal(write_file_atomic("large.raw", large, many, 0644), 0);
        (void) make("old.raw", "large.raw");
        assert_int_equal(apply("delta", "old.raw"), 0);
        assert_same("out/disk", "large.raw");
        (void) make("large.raw", "new.raw");
        assert_int_equal(apply("delta", "large.raw"), 0);
        assert_same("out/disk", "new.raw");
}

/* The guest's disk counts, not the file that it is in. */
static void the_old_image_may_be_in_either_format(void **state _unused_) {
        _cleanup_close_ int fd = make_image("old.qcow2", 0, 1),
                            other = make_image("other.qcow2", 3, 5);

        put_disks();
        (void) make("old.qcow2", "new.raw");
        assert_int_equal(apply("delta", "old.qcow2"), 0);
        assert_same("out/disk", "new.raw");
        assert_int_equal(unlink("out/disk"), 0);
        assert_int_equal(apply("delta", "other.qcow2"), 0);
        assert_same("out/disk", "new.raw");
}

static void an_image_of_a_third_format_is_refused(void **state) {
        DeltaFigures figures;

        put_disks();
        put_file("old.vmdk", "KDMV and more");
        assert_int_equal(delta_make("old.vmdk", "new.raw", "delta", &figures), -EINVAL);
        assert_logged(*state, "convert it with 'imgbuild export");
        assert_int_equal(access("delta", F_OK), -1);
}

static void another_old_image_is_refused_before_it_is_read(void **state) {
        put_disks();
        (void) make("old.raw", "new.raw");
        assert_int_equal(apply("delta", "new.raw"), -EINVAL);
        assert_logged(*state, "it has another size");

        begin_disk(3);
        save("other.raw", SIZE);
        assert_int_equal(apply("delta", "other.raw"), -EINVAL);
        assert_logged(*state, "of another build");
        assert_nothing_left();
}

static void an_old_image_that_was_booted_is_refused(void **state) {
        _cleanup_close_ int fd = -EBADF;

        put_disks();
        (void) make("old.raw", "new.raw");
        fd = open("old.raw", O_RDWR | O_CLOEXEC);
        put(fd, "x", 1, SIZE - 1);
        assert_int_equal(apply("delta", "old.raw"), -EINVAL);
        assert_logged(*state, "booted and changed");
        assert_nothing_left();
}

/* Of a delta of some kilobytes every byte, by one of its bits. */
static void a_delta_with_a_flipped_bit_is_refused(void **state _unused_) {
        size_t size;

        put_disks();
        size = make("old.raw", "new.raw");
        _cleanup_close_ int fd = open("delta", O_RDWR | O_CLOEXEC);
        for (size_t i = 0; i < size; i += i < 1000 || i + 100 > size ? 1 : 37) {
                char byte, flipped;
                Delta *d = NULL;

                assert_int_equal(pread(fd, &byte, 1, (off_t) i), 1);
                flipped = (char) (byte ^ 1 << i % 8);
                put(fd, &flipped, 1, i);
                assert_int_equal(delta_open("delta", &d), -EINVAL);
                put(fd, &byte, 1, i);
        }
        assert_int_equal(apply("delta", "old.raw"), 0);
}

static void a_delta_that_is_cut_is_refused(void **state _unused_) {
        size_t size;

        put_disks();
        size = make("old.raw", "new.raw");
        for (size_t left = size - 1; left > 0; left -= MIN(left, (size_t) 97)) {
                Delta *d = NULL;

                assert_int_equal(truncate("delta", (off_t) left), 0);
                assert_int_equal(delta_open("delta", &d), -EINVAL);
        }
}

static void what_is_no_delta_is_refused(void **state) {
        Delta *d = NULL;

        put_disks();
        assert_int_equal(delta_open("new.raw", &d), -EINVAL);
        assert_logged(*state, "is no delta");
        assert_int_equal(delta_open("out", &d), -EINVAL);
        assert_int_equal(mkfifo("pipe", 0600), 0);
        assert_int_equal(delta_open("pipe", &d), -EINVAL);
}

/* --- of a stranger who knows the format ------------------------------------------------------- */

typedef struct Hostile {
        FILE *f;
        DeltaZstd *zstd;
        Hash *hash;
} Hostile;

static void hostile_put(Hostile *x, const void *data, size_t size) {
        if (size == 0)
                return;
        assert_int_equal(fwrite(data, 1, size, x->f), size);
        hash_bytes(x->hash, data, size);
}

/* A delta of the old disk whose header says what it likes of the new one. */
static Hostile hostile_begin(uint64_t new_size) {
        DeltaHeader h = { .format = "raw" };
        _cleanup_image_reader_ ImageReader *old = NULL;
        _cleanup_free_ char *text = NULL;
        Hostile x = { .f = fopen("hostile", "we") };

        assert_int_equal(hash_new(&x.hash), 0);
        assert_int_equal(delta_zstd_new(&x.zstd), 0);
        assert_int_equal(image_reader_open("old.raw", "raw", &old), 0);
        h.old.size = image_reader_size(old);
        assert_int_equal(image_reader_digest(old, UINT64_MAX, h.old.sha256), 0);
        assert_int_equal(image_reader_digest(old, DELTA_BEGINNING, h.old.beginning), 0);
        h.new = h.old;
        h.new.size = new_size;
        strcpy(h.file, h.old.sha256);
        text = delta_header_format(&h);
        hostile_put(&x, text, strlen(text));
        return x;
}

static void hostile_piece(Hostile *x, const DeltaPiece *p, const void *data, size_t data_size) {
        _cleanup_free_ uint8_t *control = NULL, *packed = NULL, *packed_data = NULL;
        size_t size, packed_size, packed_data_size = 0;
        DeltaPieceHeader h;

        assert_int_equal(delta_piece_format(p, &control, &size), 0);
        assert_int_equal(delta_pack(x->zstd, NULL, 0, control, size, &packed, &packed_size), 0);
        if (data)
                assert_int_equal(delta_pack(x->zstd, NULL, 0, data, data_size, &packed_data,
                                                 &packed_data_size),
                                0);
        h = (DeltaPieceHeader) { htole32((uint32_t) packed_size), htole32((uint32_t) size),
                htole32((uint32_t) packed_data_size), htole32((uint32_t) p->data_blocks) };
        hostile_put(x, &h, sizeof(h));
        hostile_put(x, packed, packed_size);
        hostile_put(x, packed_data, packed_data_size);
}

static void hostile_end(Hostile *x) {
        Digest digest;

        hash_end(x->hash, digest);
        fprintf(x->f, "%s\n", digest);
        fclose(x->f);
        hash_free(x->hash);
        delta_zstd_free(x->zstd);
}

static void what_comes_out_is_held_against_what_is_promised(void **state) {
        _cleanup_delta_piece_ DeltaPiece p = {};
        Hostile x;

        put_disks();
        x = hostile_begin(SIZE);
        assert_int_equal(delta_piece_add(&p, (DeltaOp) { DELTA_OLD, 0, BLOCKS - 1 }), 0);
        assert_int_equal(delta_piece_add(&p, (DeltaOp) { DELTA_ZERO, 0, 1 }), 0);
        hostile_piece(&x, &p, NULL, 0);
        hostile_end(&x);
        assert_int_equal(apply("hostile", "old.raw"), 0); /* its last block is zeros */
        assert_int_equal(unlink("out/disk"), 0);

        delta_piece_done(&p);
        x = hostile_begin(SIZE);
        assert_int_equal(delta_piece_add(&p, (DeltaOp) { DELTA_OLD, 1, BLOCKS - 1 }), 0);
        assert_int_equal(delta_piece_add(&p, (DeltaOp) { DELTA_OLD, 0, 1 }), 0);
        hostile_piece(&x, &p, NULL, 0);
        hostile_end(&x);
        assert_int_equal(apply("hostile", "old.raw"), -EIO);
        assert_logged(*state, "does not make of old.raw what it says");
        assert_nothing_left();
}

static void pieces_are_the_whole_disk_and_no_more(void **state _unused_) {
        _cleanup_delta_piece_ DeltaPiece p = {};
        Hostile x;

        put_disks();
        assert_int_equal(delta_piece_add(&p, (DeltaOp) { DELTA_OLD, 0, BLOCKS - 1 }), 0);
        x = hostile_begin(SIZE);
        hostile_piece(&x, &p, NULL, 0);
        hostile_end(&x);
        assert_int_equal(apply("hostile", "old.raw"), -EINVAL);

        x = hostile_begin(SIZE);
        hostile_piece(&x, &p, NULL, 0);
        hostile_piece(&x, &p, NULL, 0);
        hostile_end(&x);
        assert_int_equal(apply("hostile", "old.raw"), -EINVAL);
        assert_nothing_left();
}

/* Some kilobytes that would be 16 TiB. */
static void a_bomb_of_copies_is_refused_before_anything_is_written(void **state) {
        const uint64_t blocks = DELTA_DISK_MAX / DELTA_BLOCK;
        uint64_t left = blocks;
        Hostile x;

        put_disks();
        x = hostile_begin(DELTA_DISK_MAX);
        while (left > 0) {
                DeltaPiece p = {};

                for (unsigned i = 0; i < 1000000 && left > 0; i++) {
                        uint64_t n = MIN(left, (uint64_t) BLOCKS);

                        assert_int_equal(delta_piece_add(&p, (DeltaOp) { DELTA_OLD, 0, n }), 0);
                        left -= n;
                }
                hostile_piece(&x, &p, NULL, 0);
                delta_piece_done(&p);
        }
        hostile_end(&x);
        assert_int_equal(apply("hostile", "old.raw"), -ENOSPC);
        assert_logged(*state, "No space for the new disk");
        assert_nothing_left();
}

/* More, and less, than the piece says there is. */
static void a_frame_holds_what_its_piece_says(void **state _unused_) {
        static const size_t sizes[] = { 0, DELTA_BLOCK, 3 * DELTA_BLOCK, sizeof(disk) };

        put_disks();
        for (size_t i = 0; i < ELEMENTSOF(sizes); i++) {
                _cleanup_delta_piece_ DeltaPiece p = {};
                Hostile x = hostile_begin(2 * DELTA_BLOCK);

                assert_int_equal(delta_piece_add(&p, (DeltaOp) { DELTA_DATA, 0, 2 }), 0);
                hostile_piece(&x, &p, disk, sizes[i]);
                hostile_end(&x);
                assert_int_equal(apply("hostile", "old.raw"), -EIO);
                assert_nothing_left();
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
                TEST(the_new_disk_comes_again),
                TEST(a_delta_has_what_is_new_and_little_more),
                TEST(a_larger_disk_takes_several_pieces),
                TEST(the_old_image_may_be_in_either_format),
                TEST(an_image_of_a_third_format_is_refused),
                TEST(another_old_image_is_refused_before_it_is_read),
                TEST(an_old_image_that_was_booted_is_refused),
                TEST(a_delta_with_a_flipped_bit_is_refused),
                TEST(a_delta_that_is_cut_is_refused),
                TEST(what_is_no_delta_is_refused),
                TEST(what_comes_out_is_held_against_what_is_promised),
                TEST(pieces_are_the_whole_disk_and_no_more),
                TEST(a_bomb_of_copies_is_refused_before_anything_is_written),
                TEST(a_frame_holds_what_its_piece_says),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
