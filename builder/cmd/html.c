/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Text for HTML, byte by byte: nothing of it is believed to be UTF-8. */

#include "cmd/html.h"

#define REPLACEMENT "\xef\xbf\xbd"

/* The character that begins there, and how many bytes it has; 0 where it is none. Overlong ones and
 * surrogates are none. */
static size_t decode(const unsigned char *s, uint32_t *ret) {
        static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
        size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xf0 && s[0] < 0xf8 ? 4 : s[0] >= 0xe0 ? 3 : 2;
        uint32_t c = n == 1 ? s[0] : s[0] & (0x7fu >> n);

        if ((s[0] >= 0x80 && s[0] < 0xc0) || s[0] >= 0xf8)
                return 0;
        for (size_t i = 1; i < n; i++) {
                if ((s[i] & 0xc0) != 0x80)
                        return 0;
                c = c << 6 | (s[i] & 0x3f);
        }
        if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
                return 0;
        *ret = c;
        return n;
}

/* Controls, marks and overrides of direction, what is for no interchange. */
static bool is_shown(uint32_t c) {
        return c >= 0x20 && !(c >= 0x7f && c <= 0x9f) && !(c >= 0x200b && c <= 0x200f) &&
               !(c >= 0x2028 && c <= 0x202e) && !(c >= 0x2060 && c <= 0x206f) && c != 0x061c &&
               c != 0xfeff && (c & 0xfffe) != 0xfffe;
}

void html_text(FILE *f, const char *text) {
        const unsigned char *s = (const unsigned char *) text;

        while (*s) {
                uint32_t c = 0;
                size_t n = decode(s, &c);

                if (n == 0 || !is_shown(c))
                        fputs(REPLACEMENT, f);
                else if (c == '<')
                        fputs("&lt;", f);
                else if (c == '>')
                        fputs("&gt;", f);
                else if (c == '&')
                        fputs("&amp;", f);
                else if (c == '"')
                        fputs("&quot;", f);
                else if (c == '\'')
                        fputs("&#39;", f);
                else
                        fwrite(s, 1, n, f);
                s += MAX(n, (size_t) 1);
        }
}
