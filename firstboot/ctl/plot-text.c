/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Escapes text from elsewhere for an SVG. */

#include "ctl/ctl.h"

void plot_text(FILE *f, const char *s) {
        static const struct {
                char c;
                const char *entity;
        } entities[] = { { '<', "&lt;" }, { '>', "&gt;" }, { '&', "&amp;" }, { '"', "&quot;" } };

        for (; s && *s; s++) {
                const char *entity = NULL;

                for (size_t i = 0; i < ELEMENTSOF(entities); i++)
                        if (entities[i].c == *s)
                                entity = entities[i].entity;
                if (entity)
                        fputs(entity, f);
                else
                        fputc((unsigned char) *s < 0x20 ? ' ' : *s, f);
        }
}
