/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The logins of private mirrors that this host's apt has: apt_auth.conf(5), in auth.conf and
 * auth.conf.d. They go to servers over TLS alone, whatever apt would do, and nowhere else: no
 * message, lock, manifest or command line has them. */

#include "shared/macro.h"

typedef struct AptLogin {
        char *host, *port, *path; /* port and path: NULL for any */
        bool insecure;            /* written for http:// alone, so it is never used */
        char *login, *password;
} AptLogin;

typedef struct AptAuth {
        AptLogin *logins;
        size_t n;
} AptAuth;

/* Those of the file that IMGBUILD_AUTH_FILE names, which win, and apt's: asks apt-config where they
 * are; -ENOENT where there are no own ones and no apt. Files that this user may not read are told
 * and left out. */
int apt_auth_load(AptAuth *ret);
int apt_auth_parse(AptAuth *a, const char *text); /* adds; 0 or -ENOMEM */
void apt_auth_done(AptAuth *a);
#define _cleanup_apt_auth_ _cleanup_(apt_auth_done)

/* The first login for a URL, whatever its scheme: the caller sends it over TLS alone. */
const AptLogin *apt_auth_find(const AptAuth *a, const char *url);

/* The same, but only for https:// and never one that is for http:// alone. */
const AptLogin *apt_auth_for(const AptAuth *a, const char *url);

/* As apt reads them, and without those for http://. The caller frees it with apt_secret_free(). */
int apt_auth_text(const AptAuth *a, char **ret);
char *apt_secret_free(char *text); /* wiped first */
DEFINE_CLEANUP(char *, apt_secret_free);
#define _cleanup_apt_secret_ _cleanup_(apt_secret_freep)
