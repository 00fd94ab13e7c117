/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Recognises reasons that firstboot itself wrote into another program's records, by a sum over
 * their text. */

#include "steps/common/own-reason.h"
#include "shared/strv.h"

#define TEXT_MAX 200

/* FNV-1a, folded to 16 bits: it tells an edited text, and is no secret. */
static unsigned text_sum(const char *text, size_t n) {
        uint32_t h = 2166136261u;

        for (size_t i = 0; i < n; i++)
                h = (h ^ (unsigned char) text[i]) * 16777619u;
        return (h >> 16 ^ h) & 0xffff;
}

char *own_reason_with_sum(const char *text) {
        return strf("%s #%04x", text, text_sum(text, strlen(text)));
}

char *own_reason(const char *code, const char *text) {
        _cleanup_free_ char *reason = strf("%s %s: %s", OWN_MARK, code, text);

        if (!reason)
                return NULL;
        for (char *p = reason; *p; p++)
                if (*p == '"' || *p == '\'' || *p == '\\' || (unsigned char) *p < 0x20)
                        *p = ' ';
        if (strlen(reason) > TEXT_MAX - OWN_SUM_LENGTH) {
                size_t n = TEXT_MAX - OWN_SUM_LENGTH;

                while (n > 0 && ((unsigned char) reason[n] & 0xc0) == 0x80) /* within a character */
                        n--;
                reason[n] = '\0';
        }
        return own_reason_with_sum(reason);
}

bool own_reason_is_ours(const char *reason, size_t n) {
        char sum[OWN_SUM_LENGTH + 1];

        if (!startswith(reason, OWN_MARK " ") || n <= OWN_SUM_LENGTH)
                return false;
        n -= OWN_SUM_LENGTH;
        snprintf(sum, sizeof(sum), " #%04x", text_sum(reason, n));
        return strncmp(reason + n, sum, OWN_SUM_LENGTH) == 0;
}

char *own_reason_code(const char *reason) {
        const char *code;

        if (!reason || !own_reason_is_ours(reason, strlen(reason)))
                return NULL;
        code = reason + strlen(OWN_MARK " ");
        return strndup(code, strcspn(code, ": "));
}
