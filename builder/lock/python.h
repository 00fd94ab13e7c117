/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Wheels for Python environments: what they are for, and what the host's pip says of them. pip
 * finds and chooses, on this host and for the image's Python; the store fetches. */

#include "lock/resolution.h"

/* What wheels must run on. */
typedef struct PythonTarget {
        char *name;    /* "cpython-3.13.5-glibc-2.41-x86_64" */
        char *version; /* "3.13.5" */
        char *minor;   /* "3.13" */
        char *machine; /* "x86_64" */
        unsigned libc; /* the 41 of glibc 2.41 */
} PythonTarget;

/* Of this program of the image ("python3.12"), from the packages that the image has by `l`, and
 * those that its base had before, `image` (may be NULL: one stage). -ENOENT: that Python, or the C
 * library, is not among them. */
int python_target(const Lock *l, const Lock *image, const Recipe *recipe, const char *interpreter,
                PythonTarget *ret);
/* From the lock's text. -EINVAL. */
int python_target_parse(const char *name, PythonTarget *ret);
void python_target_done(PythonTarget *t);
#define _cleanup_python_target_ _cleanup_(python_target_done)

/* One question to pip. */
typedef struct PipCall {
        const PythonTarget *target;
        const char *index;         /* NULL: the host's own configuration */
        const char *folder;        /* scratch: pip runs there, and its report lies there */
        char *const *requirements; /* files */
        char *const *constraints;  /* files */
        bool alone;                /* no dependencies */
} PipCall;

/* One wheel of pip's answer. */
typedef struct PipWheel {
        LockedWheel wheel; /* without size; sha256 NULL where the index gives none */
        char *url;
} PipWheel;

typedef struct PipWheels {
        PipWheel *list;
        size_t n;
} PipWheels;

/* Whether a wheel's file is named as one of the package of that (normalized) name. */
bool wheel_is_of(const char *file, const char *name);

/* Lines of our own among pip's. */
#define PIP_SAYS "imgbuild:"
#define PIP_PROXY "by the proxy"
#define PIP_SLOW "too slow is"
#define PIP_ENDLESS "without end is"
#define PIP_OUT_OF_TLS "out of TLS leads"
extern const char pip_driver[];

/* 0; 1: pip found no answer, *ret_output says why; negative errno, logged. */
int pip_ask(const PipCall *call, PipWheels *ret, char **ret_output);
/* The name at the start of a requirement as indexes write it (PEP 503): lower case, runs of - _ .
 * are one minus. NULL on out of memory. */
char *pip_name(const char *requirement);
int pip_read_report(json_object *report,
                PipWheels *ret); /* -EBADMSG, -ENOMEM, not logged; -EREMOTEIO, logged */
void pip_wheels_done(PipWheels *w);
#define _cleanup_pip_wheels_ _cleanup_(pip_wheels_done)

/* Why pip found no answer for an environment, in one message. Returns -EINVAL, -ENETUNREACH,
 * -EREMOTEIO, -EBADMSG or -ENOMEM. */
int pip_explain(const Recipe *recipe, const char *environment, const PipCall *call,
                const char *output);
/* Whether the index of `call` has the project at all, as whatever. 1, 0. */
int pip_knows(const PipCall *call, const char *name);
bool pip_is_unreachable(const char *output);

/* image-python.c. For which Python the environment's wheels are. Where the base is an image, what
 * it had before counts, too; `old` is taken at its word where nothing moved. -EINVAL: there is
 * none. Logged. */
int resolution_python(const Resolution *x, const Lock *l, const Overlay *o,
                const LockedEnvironment *old, PythonTarget *ret);

/* Adds the environments of all overlays to `l`. Returns how many were not locked yet; l NULL: only
 * counts them. Errors are logged. */
int resolve_environments(const Resolution *x, Lock *l);
