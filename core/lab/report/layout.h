/* layout.h - converts a gathered table to cells for people (grid) and text for programs (CSV, JSON). */
#ifndef ABLATE_REPORT_LAYOUT_H
#define ABLATE_REPORT_LAYOUT_H
#include "lab/report/gather.h"
#include "lab/report/grid.h"

/* Adds our rows. Next to the paper's Table 3 they have its columns of settings, blank if a row does not differ from
 * base; elsewhere one column shows each row's change. */
void layout_rows(const gathered *g, grid *t);
/* Adds the rows of a published table that lists other systems (1, 2 and 4), and our rows next to or below these. */
void layout_beside_published(const gathered *g, grid *t);
/* Adds only the published table; with_keys: including the key column. */
void layout_published(const read_published *p, grid *t, bool with_keys);
void layout_published_json(const read_published *p, str *out);

/* Append one line or object per row, with numbers in full precision. */
void layout_csv(const gathered *g, str *out);
void layout_json(const gathered *g, str *out);

/* Notes on the meaning of the table's differences, intervals and p, and on their power (notes.c). */
void footnote_statistics(const gathered *g, grid *t);
void footnote_identical(const gathered *g, grid *t); /* names rows with equal numbers (identical.c) */
/* origin of imported runs, and warnings about them (judging.c) */
void footnote_foreign(const gathered *g, grid *t);
void footnote_judging(const gathered *g, grid *t); /* criterion, looks, matched budgets, old verdicts (judging.c) */
void footnote_tuning(const gathered *g, grid *t);  /* searches: trials, choices and costs (judging.c) */
void footnote_effects(const gathered *g, grid *t); /* two-level designs: main effects and interactions (effects.c) */
void footnote_scale(const gathered *g, grid *t);   /* sizes: exponents and speed-ups (effects.c) */
/* Appends the first `most` bytes of `text`, unless it is empty, NULL or in the list (table.c). */
void add_once(str *list, const char *text, size_t most);
/* Makes the whole table with its notes (table.c). */
void table_grid(const gathered *g, grid *t);
#endif
