/* SPDX-License-Identifier: MIT
 *
 * For the examples: a chart as an SVG file, and bars in the terminal.
 *
 *     chart c = chart_begin("times.svg", "Sums", "on a GPU");
 *     chart_x(&c, "elements", 4096, 65536, 2);              // from, to, and the base of a logarithmic axis
 *     chart_y(&c, "microseconds", 0, 80, 0);                // 0: a linear one
 *     chart_line(&c, "one way", x, y, 5);
 *     chart_box(&c, 1, 0, 2, 3, 0, "1 to 2: 3");            // a filled rectangle
 *     if (!chart_end(&c)) return 1;                         // says on stderr what is wrong with the file
 *
 * Ticks of an axis have one notation: powers of its base, or numbers with the same decimals. From 10^5 on those are in
 * thousands or millions, as the axis then says.
 */
#ifndef CHART_H
#define CHART_H

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    CHART_LEFT = 90,
    CHART_TOP = 84,
    CHART_HEIGHT = 364,
    CHART_BOTTOM = CHART_TOP + CHART_HEIGHT,
    CHART_COLOURS = 8
};

typedef struct chart {
    FILE *file; /* NULL: it could not be opened */
    const char *path;
    double from[2], to[2], base[2]; /* of x and y */
    double width;
    int series;
} chart;

static inline const char *chart__colour(int i) { /* Okabe and Ito's, told apart by all eyes; black last */
    static const char *const colours[CHART_COLOURS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                       "#e69f00", "#56b4e9", "#8c6d1f", "#000000"};
    return colours[i % CHART_COLOURS];
}

/* Text inside SVG: markup escaped, anything but printable ASCII replaced. */
static inline void chart__text(chart *c, const char *text) {
    for (; *text; ++text) {
        if (*text == '&') {
            fputs("&amp;", c->file);
        } else if (*text == '<') {
            fputs("&lt;", c->file);
        } else {
            fputc(*text >= ' ' && *text <= '~' ? *text : '?', c->file);
        }
    }
}

/* 1, 2 or 5 times a power of ten, so that `span` holds about `parts` of it */
static inline double chart__step(double span, double parts) {
    const double power = pow(10, floor(log10(span / parts))), lead = span / parts / power;
    return power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10);
}
/* A tick's number with the decimals that its step has */
static inline const char *chart__number(char text[64], double value, double step) {
    const double exponent = floor(log10(step) + 1e-9);
    snprintf(text, 64, "%.*f", exponent < 0 ? (int)-exponent : 0, fabs(value) < step / 2 ? 0.0 : value);
    return text;
}

/* Where a value lies: in pixels from the left, or from the top */
static inline double chart__at(const chart *c, int axis, double value) {
    double share = (value - c->from[axis]) / (c->to[axis] - c->from[axis]);
    if (c->base[axis] > 0) share = log(value / c->from[axis]) / log(c->to[axis] / c->from[axis]);
    return axis == 0 ? CHART_LEFT + c->width * share : CHART_BOTTOM - CHART_HEIGHT * share;
}

static inline chart chart_begin(const char *path, const char *title, const char *subtitle) {
    chart c;
    memset(&c, 0, sizeof c);
    c.path = path;
    c.width = 640; /* what remains is the legend's; a chart with none sets it to 830 */
    c.file = fopen(path, "w");
    if (c.file == NULL) return c;
    fputs("<svg xmlns=\"http://www.w3.org/2000/svg\" "
          "viewBox=\"0 0 960 540\" font-family=\"Helvetica, Arial, sans-serif\" "
          "font-size=\"15\" fill=\"#334155\">\n<rect width=\"960\" height=\"540\" fill=\"#ffffff\"/>\n"
          "<text x=\"90\" y=\"36\" font-size=\"21\" font-weight=\"bold\" fill=\"#0f172a\">",
          c.file);
    chart__text(&c, title);
    fputs("</text>\n<text x=\"90\" y=\"60\" fill=\"#64748b\">", c.file);
    chart__text(&c, subtitle);
    fputs("</text>\n", c.file);
    return c;
}

/* One tick of an axis and its label: base^power where `base` is not 0 */
static inline void chart__tick(chart *c, int axis, double value, const char *label, double base) {
    const double at = chart__at(c, axis, value);
    if (axis == 0) {
        fprintf(c->file, "<path d=\"M%.1f %dv6\" stroke=\"#334155\"/><text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">",
                at, CHART_BOTTOM, at, CHART_BOTTOM + 24);
    } else {
        fprintf(c->file, "<path d=\"M%d %.1fh%.0f\" stroke=\"#e2e8f0\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">",
                CHART_LEFT, at, c->width, CHART_LEFT - 10, at + 5);
    }
    if (base > 0) fprintf(c->file, "%g<tspan dy=\"-6\" font-size=\"11\">", base);
    fprintf(c->file, "%s%s</text>\n", label, base > 0 ? "</tspan>" : "");
}

static inline void chart__axis(chart *c, int axis, const char *label, double from, double to, double base) {
    static const char *const scales[] = {"", " (thousands)", " (millions)", " (thousand millions)"};
    const double parts = axis == 0 ? 9 : 6, most = fmax(fabs(from), fabs(to));
    const int thousands = base > 0 || most < 1e5 ? 0 : most < 1e6 ? 1 : most < 1e9 ? 2 : 3;
    char text[64];
    if (c->file == NULL) return;
    c->from[axis] = from;
    c->to[axis] = to;
    c->base[axis] = base;
    if (base > 0) {
        const double first = ceil(log(from) / log(base) - 1e-9), last = floor(log(to) / log(base) + 1e-9);
        const double step = ceil((last - first + 1) / (parts + 2));
        for (double power = first; power <= last; power += step) {
            snprintf(text, sizeof text, "%d", (int)power);
            chart__tick(c, axis, pow(base, power), text, base);
        }
    } else {
        const double step = chart__step(to - from, parts);
        const double unit = pow(1000, thousands);
        for (double k = ceil(from / step - 1e-9); k * step <= to + 1e-9 * (to - from); ++k) {
            chart__tick(c, axis, k * step, chart__number(text, k * step / unit, step / unit), 0);
        }
    }
    if (axis == 0) {
        fprintf(c->file,
                "<path d=\"M%d %dh%.0f\" stroke=\"#334155\"/><text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">",
                CHART_LEFT, CHART_BOTTOM, c->width, CHART_LEFT + c->width / 2, CHART_BOTTOM + 56);
    } else {
        fprintf(c->file, "<text transform=\"translate(28 %d) rotate(-90)\" text-anchor=\"middle\">",
                CHART_TOP + CHART_HEIGHT / 2);
    }
    chart__text(c, label);
    fprintf(c->file, "%s</text>\n", scales[thousands]);
}
static inline void chart_x(chart *c, const char *label, double from, double to, double base) {
    chart__axis(c, 0, label, from, to, base);
}
static inline void chart_y(chart *c, const char *label, double from, double to, double base) {
    chart__axis(c, 1, label, from, to, base);
}
/* The y axis as rows with names: row k is from k to k + 1, the first at the top. */
static inline void chart_rows(chart *c, const char *const *names, int rows) {
    c->from[1] = rows;
    c->to[1] = c->base[1] = 0;
    for (int k = 0; k < rows && c->file != NULL; ++k) {
        fprintf(
            c->file,
            "<path d=\"M%d %.1fh%.0f\" stroke=\"#e2e8f0\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
            CHART_LEFT, chart__at(c, 1, k), c->width, CHART_LEFT - 10, chart__at(c, 1, k + 0.5) + 5, names[k]);
    }
}

/* The next entry of the legend, in colour i */
static inline void chart_legend(chart *c, const char *name, int i) {
    const double x = CHART_LEFT + c->width + 18, y = CHART_TOP + 8 + 26 * c->series++;
    if (c->file == NULL) return;
    fprintf(c->file, "<rect x=\"%.0f\" y=\"%.0f\" width=\"14\" height=\"14\" fill=\"%s\"/><text x=\"%.0f\" y=\"%.0f\">",
            x, y, chart__colour(i), x + 21, y + 12);
    chart__text(c, name);
    fputs("</text>\n", c->file);
}

/* A line through n points, with its entry in the legend. Points that have no place, as 0 on a logarithmic axis, are
 * left out. */
static inline void chart_line(chart *c, const char *name, const double *x, const double *y, int n) {
    const char *const colour = chart__colour(c->series);
    if (c->file == NULL) return;
    for (int round = 0, drawn = 0; round < 2; ++round) { /* the line, then its points */
        if (round == 0) fprintf(c->file, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" d=\"", colour);
        for (int i = 0; i < n; ++i) {
            const double px = chart__at(c, 0, x[i]), py = chart__at(c, 1, y[i]);
            if (!isfinite(px) || !isfinite(py)) continue;
            if (round == 0) fprintf(c->file, "%s%.1f %.1f", drawn++ ? "L" : "M", px, py);
            if (round == 1) fprintf(c->file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"/>", px, py, colour);
        }
        fputs(round == 0 ? "\"/>\n" : "\n", c->file);
    }
    chart_legend(c, name, c->series);
}

/* A rectangle in colour i, with a text for whoever points at it */
static inline void chart_box(chart *c, double x0, double y0, double x1, double y1, int i, const char *text) {
    const double left = chart__at(c, 0, x0), right = chart__at(c, 0, x1), a = chart__at(c, 1, y0),
                 b = chart__at(c, 1, y1);
    if (c->file == NULL) return;
    fprintf(c->file, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"><title>", left, fmin(a, b),
            right - left, fabs(b - a), chart__colour(i));
    chart__text(c, text);
    fputs("</title></rect>\n", c->file);
}

/* Ends the file: 0 when it could not be written, which is said on stderr. */
static inline int chart_end(chart *c) {
    const int begun = c->file != NULL,
              bad = begun && ((fputs("</svg>\n", c->file) < 0) | ferror(c->file) | fclose(c->file));
    if (!begun || bad) fprintf(stderr, "cannot write %s: %s\n", c->path, strerror(errno));
    return begun && !bad;
}

/* The highest tick of a linear axis that begins at 0 and has to reach `most` */
static inline double chart_reach(double most) {
    const double step = chart__step(most > 0 ? most : 1, 5);
    return step * ceil(fmax(most, step) / step - 1e-9);
}

/* A whole picture: bar b from edges[b] to edges[b + 1]. Returns what chart_end does. */
static inline int chart_histogram(const char *path, const char *title, const char *subtitle, const char *x_label,
                                  const char *y_label, const double *edges, const double *height, int n) {
    chart c = chart_begin(path, title, subtitle);
    char text[128];
    double most = 0;
    c.width = 830; /* no legend */
    for (int b = 0; b < n; ++b) most = fmax(most, height[b]);
    chart_x(&c, x_label, edges[0], edges[n], 0);
    chart_y(&c, y_label, 0, chart_reach(most), 0);
    for (int b = 0; b < n; ++b) {
        snprintf(text, sizeof text, "%.4g to %.4g: %.0f", edges[b], edges[b + 1], height[b]);
        chart_box(&c, edges[b], 0, edges[b + 1], height[b], 0, text);
    }
    return chart_end(&c);
}

/* Bars in the terminal, over an x axis from `from` to `to`: two columns each, or one, or, from 81 bars on, one for the
 * sum of several. */
static inline void chart_terminal(const double *height, int n, double from, double to) {
    static const char *const parts[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    enum { MOST = 80 };
    const int together = (n + MOST - 1) / MOST, bars = (n + together - 1) / together, wide = bars <= MOST / 2 ? 2 : 1;
    const int columns = bars * wide;
    double bar[MOST] = {0}, most = 0;
    char text[64];
    for (int i = 0; i < n; ++i) {
        bar[i / together] += height[i];
        most = fmax(most, bar[i / together]);
    }
    const double top = chart_reach(most), step = chart__step(top, 5);
    const int lines = 2 * (int)(top / step + 0.5); /* two from tick to tick */
    for (int line = lines - 1; line >= 0; --line) {
        const int tick = line % 2 == 1;
        printf("%12s %s", tick ? chart__number(text, step * (line + 1) / 2, step) : "", tick ? "┤" : "│");
        int last = bars - 1; /* no blanks at the end of a line */
        while (last >= 0 && bar[last] * lines <= top * line) --last;
        for (int i = 0; i < (last + 1) * wide; ++i) {
            const double part = bar[i / wide] / top * lines - line; /* of this line: 0 .. 1 */
            fputs(parts[part >= 1 ? 8 : part <= 0 ? 0 : (int)(part * 8 + 0.999)], stdout);
        }
        putchar('\n');
    }

    /* the axis, with a tick in the column that holds its value, and below it the labels that there is room for */
    const double span = (to - from) * bars * together / n, x_step = chart__step(span, columns / 12.0);
    char labels[MOST + 16];
    int written = 0;
    double k = ceil(from / x_step - 1e-9);
    printf("%12s └", "0");
    memset(labels, ' ', sizeof labels);
    for (int i = 0; i < columns; ++i) {
        const int tick = (int)((k * x_step - from) / span * columns) == i;
        fputs(tick ? "┬" : "─", stdout);
        if (!tick) continue;
        const int length = (int)strlen(chart__number(text, k++ * x_step, x_step)), start = i - length / 2;
        if (start < written || start + length >= (int)sizeof labels) continue;
        memcpy(labels + start, text, (size_t)length);
        written = start + length;
    }
    printf("\n%14s%.*s\n", "", written, labels);
}

#endif /* CHART_H */
