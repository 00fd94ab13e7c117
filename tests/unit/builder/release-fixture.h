/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Keys that minisign 0.11 made, for tests alone: one with its passphrase and without (scrypt's
 * limits were lowered), and another's public key. */

#include "recipe-fixture.h"

#define PUBLIC_KEY                                                  \
        "untrusted comment: minisign public key 3C26A48AB0804608\n" \
        "RWQIRoCwiqQmPPMaTACNHjZvel/0WbtMYEl558/9kGgQS5kZrGemLTfB\n"
#define OTHER_PUBLIC_KEY                                            \
        "untrusted comment: minisign public key 31132530A4C186D2\n" \
        "RWTShsGkMCUTMcIu5wp0WuH4qQ/wMnVKGCwv53UCKofYKlWrTphcHsxv\n"
#define SECRET_KEY                                                                                                   \
        "untrusted comment: minisign encrypted secret key\n"                                                         \
        "RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACEaAsIqkJjw79G8/iKD2E/dpAY4kjMSIxX" \
        "KKtjZSf2gPB6olJN3PC/MaTACNHjZvel/0WbtMYEl558/9kGgQS5kZrGemLTfBAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
#define SECRET_KEY_WITH_PASSPHRASE                                                                                   \
        "untrusted comment: minisign encrypted secret key\n"                                                         \
        "RWRTY0IyY0ea1poJCyWCd+yPum+ZQZov+ySJgVEGV8lEzNEUjpcAgAAAAAAAAAAAAAEAAAAAlxyIUjdNLYozsJ/WS+hQ0eJvYzqQxf4NPu" \
        "opobxpCnc9R4AdbaMsiPRtEXlX4pOKJNl0z94G/fVi393V9iBMP+uVfFvEK9l1uxsFP+4FTSPHW3SUKuFM8ohCocbCr2m4/VWgFWaB+3g=\n"
#define PASSPHRASE "open sesame\n"

/* Another key, to which somebody gave the id of the first. */
#define FORGED_SECRET_KEY                                                                                            \
        "untrusted comment: minisign encrypted secret key\n"                                                         \
        "RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACEaAsIqkJjwAAQIDBAUGBwgJCgsMDQ4PEB" \
        "ESExQVFhcYGRobHB0eHwOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"

/* What minisign made of this text with that key and "-t 'a comment'". */
#define SIGNED_TEXT "e4afa146b6cac84107134c69a12c93b983d4a09d5f628f325d11aa7347a8e895  x.qcow2\n"
#define SIGNATURE                                                                                                \
        "untrusted comment: signature from minisign secret key\n"                                                \
        "RUQIRoCwiqQmPFqTL11u6iLUlJhTmr+1mS0KOLL6SkpUDooLdnsn8OTE2zjWByPV6FcmpaaW0Ch5Z33sBecQujUHGNqZoj2ZxwQ=\n" \
        "trusted comment: a comment\n"                                                                           \
        "nHdIYXgIdrmc2yE9kK8WXh3cPEIWdyT/UVXlaiFQLnotdzTU+wvNyR6x61gXuCv+W08+Siv8t/h7frZqpZ2zAA==\n"

static inline void put_keys(void) {
        put_file("key.pub", PUBLIC_KEY);
        put_file("other.pub", OTHER_PUBLIC_KEY);
        put_file("key", SECRET_KEY);
        put_file("locked-key", SECRET_KEY_WITH_PASSPHRASE);
        put_file("passphrase", PASSPHRASE);
        STRV_FOREACH (f, ARGV("key", "locked-key", "passphrase"))
                assert_int_equal(chmod(*f, 0600), 0);
}

static inline bool was_said(void **state, const char *what) {
        Fixture *f = *state;

        STRV_FOREACH (line, f->lines)
                if (strstr(*line, what))
                        return true;
        return false;
}
