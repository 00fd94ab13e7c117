/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Python environments of a lock: made, searched, sorted, freed, and read from its file. */

#include "lock/python.h"
#include "lock/read.h"
#include "store/digest.h"

static char *copy(const char *from, bool *failed) {
        char *s = from ? strdup(from) : NULL;

        *failed = *failed || (from && !s);
        return s;
}

int lock_add_environment(Lock *l, const char *path, const char *request, const char *target,
                LockedEnvironment **ret) {
        LockedEnvironment *more =
                        reallocarray(l->environments, l->n_environments + 1, sizeof(*more));
        LockedEnvironment *e;
        bool failed = false;

        if (!more)
                return -ENOMEM;
        l->environments = more;
        e = more + l->n_environments++;
        *e = (LockedEnvironment) {
                .path = copy(path, &failed),
                .request = copy(request, &failed),
                .target = copy(target, &failed),
        };
        if (failed)
                return -ENOMEM;
        *ret = e;
        return 0;
}

int locked_environment_add(LockedEnvironment *e, const LockedWheel *wheel) {
        LockedWheel *more = reallocarray(e->wheels, e->n_wheels + 1, sizeof(*more));
        bool failed = false;

        if (!more)
                return -ENOMEM;
        e->wheels = more;
        more[e->n_wheels++] = (LockedWheel) {
                .name = copy(wheel->name, &failed),
                .version = copy(wheel->version, &failed),
                .file = copy(wheel->file, &failed),
                .licence = copy(wheel->licence, &failed),
                .role = copy(wheel->role, &failed),
                .sha256 = copy(wheel->sha256, &failed),
                .size = wheel->size,
        };
        return failed ? -ENOMEM : 0;
}

const LockedEnvironment *lock_find_environment(const Lock *l, const char *path) {
        for (size_t i = 0; l && i < l->n_environments; i++)
                if (streq(l->environments[i].path, path))
                        return l->environments + i;
        return NULL;
}

bool lock_knows_wheel(const Lock *l, const char *name) {
        for (size_t i = 0; l && i < l->n_environments; i++)
                for (size_t k = 0; k < l->environments[i].n_wheels; k++)
                        if (streq(l->environments[i].wheels[k].name, name))
                                return true;
        return false;
}

static int compare_wheel(const void *a, const void *b) {
        const LockedWheel *x = a, *y = b;
        int r = (x->role != NULL) - (y->role != NULL);

        return r != 0 ? r : strcmp(x->name, y->name);
}

static int compare_environment(const void *a, const void *b) {
        return strcmp(((const LockedEnvironment *) a)->path, ((const LockedEnvironment *) b)->path);
}

void lock_sort_environments(Lock *l) {
        if (l->n_environments > 1)
                qsort(l->environments, l->n_environments, sizeof(*l->environments),
                                compare_environment);
        for (size_t i = 0; i < l->n_environments; i++) {
                LockedEnvironment *e = l->environments + i;

                if (e->n_wheels > 1)
                        qsort(e->wheels, e->n_wheels, sizeof(*e->wheels), compare_wheel);
        }
}

static void environment_done(LockedEnvironment *e) {
        for (size_t i = 0; i < e->n_wheels; i++) {
                LockedWheel *w = e->wheels + i;

                free(w->name);
                free(w->version);
                free(w->file);
                free(w->licence);
                free(w->role);
                free(w->sha256);
        }
        free(e->wheels);
        free(e->path);
        free(e->request);
        free(e->target);
}

void lock_free_environments(Lock *l) {
        for (size_t i = 0; i < l->n_environments; i++)
                environment_done(l->environments + i);
        free(l->environments);
}

static const Field environment_fields[] = {
        { "environment", lock_environment_valid, false, "a folder below /opt" },
        { "request", digest_valid, false, DIGEST_WANTED },
        { "target", lock_name_valid, false, "what the wheels are for" },
};

static const Field wheel_fields[] = {
        { "name", lock_name_valid, false, "a package's name" },
        { "version", lock_pep440_valid, false, "a version" },
        { "file", lock_wheel_valid, false, "a wheel's file name" },
        { "licence", lock_line_valid, true, "one line" },
        { "role", lock_role_valid, true, "\"installer\"" },
        { "size", NULL, false, "a number of bytes" },
        { "sha256", digest_valid, false, DIGEST_WANTED },
};

static int read_wheel(Reader *r, json_object *o, const char *where, LockedEnvironment *e) {
        const char *s[ELEMENTSOF(wheel_fields)];
        uint64_t size = 0;

        if (!lock_read_fields(r, o, where, wheel_fields, ELEMENTSOF(wheel_fields), s, &size))
                return 0;
        if (!wheel_is_of(s[2], s[0]))
                lock_bad(r, where, "\"%s\" is no wheel of \"%s\"", s[2], s[0]);
        for (size_t i = 0; i < e->n_wheels; i++)
                if (streq(e->wheels[i].name, s[0]) && !e->wheels[i].role == !s[4])
                        lock_bad(r, where, "wheel \"%s\" is listed twice", s[0]);
        return locked_environment_add(e, &(LockedWheel) {
                                                         .name = (char *) s[0],
                                                         .version = (char *) s[1],
                                                         .file = (char *) s[2],
                                                         .licence = (char *) s[3],
                                                         .role = (char *) s[4],
                                                         .sha256 = (char *) s[5],
                                                         .size = size,
                                         });
}

static int read_environment(Reader *r, json_object *o, const char *where, Lock *l) {
        _cleanup_json_ json_object *plain = json_object_new_object();
        const char *s[ELEMENTSOF(environment_fields)];
        LockedEnvironment *e;
        json_object *a;
        size_t n;

        if (!plain)
                return -ENOMEM;
        a = lock_read_array(r, o, where, "wheels", &n);
        if (!json_object_is_type(o, json_type_object))
                return 0;
        json_object_object_foreach (o, key, value) /* all but the list */
                if (!streq(key, "wheels") && json_set(plain, key, json_object_get(value)) < 0)
                        return -ENOMEM;
        if (!lock_read_fields(r, plain, where, environment_fields, ELEMENTSOF(environment_fields),
                            s, NULL))
                return 0;
        if (lock_find_environment(l, s[0]))
                lock_bad(r, where, "there are two environments \"%s\"", s[0]);
        if (lock_add_environment(l, s[0], s[1], s[2], &e) < 0)
                return -ENOMEM;

        for (size_t i = 0; i < n; i++) {
                char here[128];

                snprintf(here, sizeof(here), "%s.wheels[%zu]", where, i);
                if (read_wheel(r, json_object_array_get_idx(a, i), here, e) < 0)
                        return -ENOMEM;
        }
        return 0;
}

int lock_read_environments(Reader *r, json_object *root, Lock *l) {
        json_object *a;
        size_t n;

        if (!json_get(root, "python"))
                return 0;
        a = lock_read_array(r, root, "$", "python", &n);
        for (size_t i = 0; i < n; i++) {
                char where[64];
                int added;

                snprintf(where, sizeof(where), "$.python[%zu]", i);
                added = read_environment(r, json_object_array_get_idx(a, i), where, l);
                if (added < 0)
                        return added;
        }
        return 0;
}
