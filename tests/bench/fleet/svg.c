/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Requests a second at each kind of server, and how many nodes are ready, over time. */

#include "fleet.h"

#include <math.h>

#define WIDTH 900
#define HEIGHT 300
#define LEFT 60
#define TOP 40
#define BIN_USEC (10 * USEC_PER_SEC)
#define LINE "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" points=\""

typedef struct Curve {
        const char *name, *color;
        unsigned first, n; /* servers */
} Curve;

static const Curve curves[] = {
        { "metadata", "#888", SERVER_METADATA, 1 },
        { "NFS", "#1b7", SERVER_NFS, 1 },
        { "slurmctld", "#c33", SERVER_SLURM, 1 },
        { "LDAP (3 servers)", "#27c", SERVER_LDAP, 3 },
};

static double rate_at(const Fleet *f, const Curve *c, uint64_t at) {
        unsigned long n = 0;

        for (unsigned i = 0; i < c->n; i++)
                n += server_requests(&f->servers[c->first + i], at, at + BIN_USEC);
        return (double) n / ((double) BIN_USEC / USEC_PER_SEC);
}

static double x_of(uint64_t at, uint64_t end) {
        return LEFT + (double) at / (double) end * WIDTH;
}

/* Square root: 30 a second and 3,000 a second are to be seen on one paper. */
static double y_of(double share) {
        return TOP + HEIGHT - sqrt(share) * HEIGHT;
}

static void draw_curve(
                FILE *out, const Fleet *f, const Curve *c, uint64_t end, double most, size_t row) {
        fprintf(out, LINE, c->color, "1.2");
        for (uint64_t at = 0; at < end; at += BIN_USEC)
                fprintf(out, "%.0f,%.0f ", x_of(at, end), y_of(rate_at(f, c, at) / most));
        fprintf(out, "\"/>\n<text x=\"%zu\" y=\"24\" fill=\"%s\">%s</text>\n", LEFT + row * 150,
                        c->color, c->name);
}

/* The nodes that are ready, of all; their times are sorted. */
static void draw_ready(FILE *out, const Fleet *f, uint64_t end) {
        unsigned n = 0;

        fprintf(out, LINE, "#000", "2");
        for (uint64_t at = 0; at <= end; at += BIN_USEC) {
                while (n < f->nodes && f->ready[n] <= at)
                        n++;
                fprintf(out, "%.0f,%.0f ", x_of(at, end),
                                TOP + HEIGHT - (double) n / f->nodes * HEIGHT);
        }
        fprintf(out, "\"/>\n<text x=\"%d\" y=\"24\">nodes ready (%u)</text>\n", LEFT + 600,
                        f->nodes);
}

static void draw_axes(FILE *out, uint64_t end, double most) {
        for (uint64_t at = 0; at < end; at += 300 * USEC_PER_SEC)
                fprintf(out, "<text x=\"%.0f\" y=\"%d\">%.0f min</text>\n", x_of(at, end),
                                TOP + HEIGHT + 16, (double) at / USEC_PER_SEC / 60);
        for (unsigned rate = 10; rate < most; rate *= 10)
                fprintf(out, "<text x=\"4\" y=\"%.0f\">%u/s</text>\n<path stroke=\"#ddd\" d=\"M%d %.0fh%d\"/>\n",
                                y_of(rate / most), rate, LEFT, y_of(rate / most), WIDTH);
}

int fleet_draw(const Fleet *f, const char *path) {
        uint64_t end = MAX(f->last, f->to) + 60 * USEC_PER_SEC;
        FILE *out = fopen(path, "we");
        double most = 1;

        if (!out)
                return -errno;
        for (size_t i = 0; i < ELEMENTSOF(curves); i++)
                for (uint64_t at = 0; at < end; at += BIN_USEC)
                        most = MAX(most, rate_at(f, &curves[i], at));

        fprintf(out,
                        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n"
                        "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
                        "<rect x=\"%.0f\" y=\"%d\" width=\"%.0f\" height=\"%d\" fill=\"#fdd\"/>\n",
                        LEFT + WIDTH + 20, TOP + HEIGHT + 30, x_of(f->from, end), TOP,
                        x_of(f->to, end) - x_of(f->from, end), HEIGHT);
        draw_axes(out, end, most);
        for (size_t i = 0; i < ELEMENTSOF(curves); i++)
                draw_curve(out, f, &curves[i], end, most, i);
        draw_ready(out, f, end);
        fprintf(out, "</svg>\n");
        return fclose(out) == 0 ? 0 : -errno;
}
