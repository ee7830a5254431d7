/* heat.c - draws heat maps. */
#include "lab/report/heat.h"
#include <math.h>

drawing *heat_draw(const heat *h, double width)
{
    double left = text_width(h->row_key, 11, true) * 1.1, lo = INFINITY, hi = -INFINITY, top = 52, pitch = 34;
    for (size_t i = 0; i < h->n_rows; i++) left = fmax(left, text_width(h->rows[i], 11, false) * 1.12);
    left = fmin(left, width * 0.4) + 10;
    double cell = fmin(96, (width - left - 4) / (double)h->n_columns);
    for (size_t i = 0; i < h->n_rows * h->n_columns; i++)
        if (isfinite(h->value[i])) lo = fmin(lo, h->value[i]), hi = fmax(hi, h->value[i]);
    drawing *d = drawing_new(width, top + pitch * (double)h->n_rows + 6, h->description);
    draw_text(d, 2, 14, h->title, (lettering){.size = 12.5, .bold = true});
    draw_text(d, left, 31, h->column_key, (lettering){.bold = true, .color = COLOR_MUTED});
    draw_text(d, left - 8, 46, h->row_key, (lettering){.anchor = ANCHOR_END, .bold = true, .color = COLOR_MUTED});
    for (size_t j = 0; j < h->n_columns; j++)
        draw_text(d, left + cell * ((double)j + 0.5), 46, h->columns[j], (lettering){.anchor = ANCHOR_MIDDLE});
    for (size_t i = 0; i < h->n_rows; i++) {
        double y = top + pitch * (double)i;
        draw_text(d, left - 8, y + pitch / 2 + 4, h->rows[i], (lettering){.anchor = ANCHOR_END});
        for (size_t j = 0; j < h->n_columns; j++) {
            size_t c = i * h->n_columns + j;
            double v = h->value[c], x = left + cell * (double)j, share = hi > lo ? (v - lo) / (hi - lo) : 0.5;
            char text[48];
            bool there = isfinite(v);
            if (there)
                draw_rect(d, x + 1, y + 1, cell - 2, pitch - 2,
                          (pen){.fill = COLOR_SERIES, .opacity = 0.05 + 0.45 * share});
            draw_rect(d, x + 1, y + 1, cell - 2, pitch - 2,
                      (pen){.stroke = c == h->marked ? COLOR_INK : COLOR_GRID, .width = c == h->marked ? 2 : 1});
            snprintf(text, sizeof text, there ? "%.*f" : "–", h->decimals, v);
            bool with_sd = there && h->sd && isfinite(h->sd[c]);
            draw_text(d, x + cell / 2, y + pitch / 2 + (with_sd ? -1 : 4), text,
                      (lettering){.anchor = ANCHOR_MIDDLE, .size = 12});
            if (!with_sd) continue;
            snprintf(text, sizeof text, "± %.*f", h->decimals, h->sd[c]);
            draw_text(d, x + cell / 2, y + pitch / 2 + 11, text,
                      (lettering){.anchor = ANCHOR_MIDDLE, .size = 9.5, .color = COLOR_MUTED});
        }
    }
    return d;
}
