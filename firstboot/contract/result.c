/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The result files of steps: where an attempt leaves its verdict, and how firstbootd takes it once
 * the unit has ended. Whoever wrote what lies there: no link is followed, no pipe waited for, and
 * only a plain file of our own user's is read. */

#include "contract/result.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/folder.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>

#define RESULT_MAX (256 * 1024)
#define ID_BYTES 16
#define ID_DIGITS (2 * ID_BYTES)

static bool id_is_valid(const char *id) {
        return strlen(id) == ID_DIGITS && strspn(id, "0123456789abcdef") == ID_DIGITS;
}

/* "" where the step has none. */
static void attempt_id(const char *step, char ret[ID_DIGITS + 1]) {
        _cleanup_free_ char *path = fb_pathf("%s/%s.attempt", PATH_RUN_RESULTS, step), *id = NULL;

        ret[0] = '\0';
        if (path && read_line_file(path, &id) >= 0 && id_is_valid(id))
                memcpy(ret, id, ID_DIGITS + 1);
}

/* The name of the attempt's verdict in its folder. NULL on out of memory. */
static char *result_name(const char *step) {
        char id[ID_DIGITS + 1];

        attempt_id(step, id);
        return strf("%s%s%s.json", step, id[0] ? "." : "", id);
}

char *result_path(const char *step) {
        _cleanup_free_ char *name = result_name(step);

        return name ? fb_pathf("%s/%s", PATH_RUN_RESULTS, name) : NULL;
}

bool result_exists(const char *step) {
        _cleanup_free_ char *path = result_path(step);
        struct stat st;

        return path && lstat(path, &st) >= 0;
}

static int open_folder(DIR **ret) {
        _cleanup_free_ char *path = fb_path(PATH_RUN_RESULTS);
        int fd;

        if (!path)
                return -ENOMEM;
        fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? -errno : folder_from_fd(fd, ret);
}

/* Whether it is a file of the step's; step names have no dots. */
static bool belongs(const char *name, const char *step) {
        const char *rest = startswith(name, step);

        return rest && *rest == '.';
}

/* The names of the step's verdicts but for `except` (may be NULL). An absent folder has none. */
static int list_verdicts(const char *step, const char *except, char ***ret) {
        _cleanup_closedir_ DIR *d = NULL;
        _cleanup_strv_free_ char **l = NULL;
        int r;

        r = open_folder(&d);
        if (r < 0 && r != -ENOENT)
                return r;

        while (d) {
                const char *name = folder_next_name(d);

                if (!name)
                        break;
                if (!belongs(name, step) || !endswith(name, ".json") || streq_ptr(name, except))
                        continue;
                r = strv_extend(&l, name);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(l);
        return 0;
}

/* Removes all files of the step's, whatever they are. Returns the first error. */
static int clear(const char *step) {
        _cleanup_closedir_ DIR *d = NULL;
        int r, result = 0;

        r = open_folder(&d);
        if (r < 0)
                return r == -ENOENT ? 0 : r;

        FOLDER_FOREACH (name, d) {
                _cleanup_free_ char *path = NULL;

                if (!belongs(name, step))
                        continue;
                path = fb_pathf("%s/%s", PATH_RUN_RESULTS, name);
                r = path ? rm_rf(path) : -ENOMEM;
                if (r < 0 && result == 0)
                        result = r;
        }
        return result;
}

static int new_id(char ret[ID_DIGITS + 2]) {
        unsigned char bytes[ID_BYTES];

        ssize_t n = getrandom(bytes, sizeof(bytes), 0);
        if (n != sizeof(bytes))
                return n < 0 ? -errno : -EIO;
        for (size_t i = 0; i < ID_BYTES; i++)
                sprintf(ret + 2 * i, "%02x", bytes[i]);
        ret[ID_DIGITS] = '\n';
        ret[ID_DIGITS + 1] = '\0';
        return 0;
}

int result_begin(const char *step, char ***ret_left_over) {
        _cleanup_free_ char *folder = fb_path(PATH_RUN_RESULTS),
                            *path = fb_pathf("%s/%s.attempt", PATH_RUN_RESULTS, step);
        _cleanup_strv_free_ char **names = NULL;
        char id[ID_DIGITS + 2];
        int r;

        if (!folder || !path)
                return -ENOMEM;
        r = mkdir_p(folder, 0700);
        if (r < 0)
                return r;
        r = list_verdicts(step, NULL, &names);
        if (r < 0)
                return r;
        r = clear(step);
        if (r < 0)
                return r;
        r = new_id(id);
        if (r < 0)
                return r;
        r = write_file_atomic(path, id, strlen(id), 0600);
        if (r < 0)
                return r;

        *ret_left_over = TAKE_PTR(names);
        return 0;
}

void result_discard(const char *step) {
        (void) clear(step);
}

bool result_is_left_over(const char *step) {
        _cleanup_strv_free_ char **names = NULL;

        return list_verdicts(step, NULL, &names) >= 0 && names;
}

/* What keeps the file from being read, or NULL. */
static const char *wrong_file(const struct stat *st) {
        if (S_ISLNK(st->st_mode))
                return "is a symbolic link";
        if (!S_ISREG(st->st_mode))
                return "is no plain file";
        if (st->st_uid != geteuid())
                return "belongs to another user";
        if (st->st_nlink > 1)
                return "has another name elsewhere (a hard link)";
        return NULL;
}

/* The text of a verdict. -EPERM with *ret_wrong where it is no such file as we read. */
static int read_verdict(int dir_fd, const char *name, const char **ret_wrong, char **ret,
                size_t *ret_size) {
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        /* Looked at before: to open a device may do something. And after: what was opened
         * counts. */
        if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        *ret_wrong = wrong_file(&st);
        if (*ret_wrong)
                return -EPERM;
        fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        *ret_wrong = wrong_file(&st);
        return *ret_wrong ? -EPERM : read_fd(fd, RESULT_MAX, ret, ret_size);
}

static const char *read_verdict_at(
                int dir_fd, const char *name, json_object **ret, char **ret_message) {
        _cleanup_free_ char *text = NULL;
        const char *wrong = NULL;
        size_t size;
        int r;

        r = dir_fd < 0 ? dir_fd : read_verdict(dir_fd, name, &wrong, &text, &size);
        if (r == -ENOENT)
                return NULL;
        if (r == 0)
                return result_parse(text, size, ret, ret_message);

        if (r == -EFBIG)
                *ret_message = strf("its verdict is larger than the %d KiB that it may have",
                                RESULT_MAX / 1024);
        else
                *ret_message = strf("its verdict cannot be read: %s %s", name,
                                wrong ? wrong : strerror(-r));
        return "step.verdict-unreadable";
}

/* As result_take(), for one file. */
static const char *read_one(const char *name, json_object **ret, char **ret_message) {
        _cleanup_closedir_ DIR *d = NULL;
        int r = open_folder(&d);

        return read_verdict_at(r < 0 ? r : dirfd(d), name, ret, ret_message);
}

const char *result_read(
                const char *folder, const char *name, json_object **ret, char **ret_message) {
        _cleanup_close_ int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        return read_verdict_at(fd < 0 ? -errno : fd, name, ret, ret_message);
}

char *result_words(json_object *verdict) {
        const char *status = json_get_string(verdict, "status"),
                   *code = json_get_string(verdict, "code"),
                   *message = json_get_string(verdict, "message");

        return strf("\"%s\"%s%s%s%s%s", strempty(status), code ? " [" : "", strempty(code),
                        code ? "]" : "", message ? ": " : "", strempty(message));
}

/* What is in the step's name and not the attempt's. */
static const char *tell_others(char *const *names, char **ret_message) {
        _cleanup_free_ char *list = strv_join(names, ", "), *wrong = NULL, *words = NULL;
        _cleanup_json_ json_object *o = NULL;

        (void) read_one(names[0], &o, &wrong);
        words = o ? result_words(o) : NULL;
        *ret_message = strf("a verdict in its name is not of this attempt: %s%s%s%s",
                        strempty(list), words ? " (" : "", strempty(words), words ? ")" : "");
        return "step.verdict-stale";
}

const char *result_take(const char *step, json_object **ret, char **ret_message) {
        _cleanup_free_ char *name = result_name(step), *message = NULL;
        _cleanup_strv_free_ char **others = NULL;
        _cleanup_json_ json_object *own = NULL;
        const char *code;
        int r;

        r = name ? list_verdicts(step, name, &others) : -ENOMEM;
        if (r < 0) {
                *ret_message = strf("its verdict cannot be read: %s: %s", PATH_RUN_RESULTS,
                                strerror(-r));
                return "step.verdict-unreadable";
        }
        code = read_one(name, &own, &message);
        /* A failure that the step itself tells of is the better reason. */
        if (!code && others && !streq_ptr(json_get_string(own, "status"), "failed"))
                code = tell_others(others, &message);
        result_discard(step);

        *ret_message = TAKE_PTR(message);
        *ret = TAKE_PTR(own);
        return code;
}
