/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What this host's apt is set up with and we honour: everything below Acquire:: (proxies,
 * time-outs, certificates), and the mirrors its indexes came from. Read by asking apt-config and
 * apt-get, never by parsing their files. */

#include "shared/macro.h"

typedef struct AptSetting {
        char *key; /* "Acquire::http::Proxy" */
        char *value;
} AptSetting;

typedef struct AptSettings {
        AptSetting *settings;
        size_t n;
} AptSettings;

/* -ENOENT where the host has no apt. */
int apt_settings_load(AptSettings *ret);
void apt_settings_done(AptSettings *s);
#define _cleanup_apt_settings_ _cleanup_(apt_settings_done)

/* The proxy that apt would use for a URL: "" for none; NULL: not configured, so the environment
 * decides. The caller frees it. */
int apt_settings_proxy(const AptSettings *s, const char *url, char **ret);

/* Acquire::https::OPTION::HOST, or …::OPTION, for a URL: CAInfo, SslCert, SslKey. NULL where there
 * is none; borrowed. */
const char *apt_settings_tls(const AptSettings *s, const char *option, const char *url);

typedef struct AptTarget {
        char *origin, *label; /* "" where the host has no index of it yet */
        char *uri;
} AptTarget;

/* The archives of the host's own sources, those it has an index of first. */
int apt_targets_load(AptTarget **ret, size_t *ret_n);
void apt_targets_free(AptTarget *targets, size_t n);
