/* csv.c - reads tables as text. We do not use libcsv: it has no line numbers for messages and no limits, and leaves
 * separator, header and W&B's charts to its caller. */
#include "lab/foreign/sheet.h"
#include <string.h>

enum { MOST_CELL = 1 << 20 };

/* Returns the separator that is most frequent in the first line, outside quotes. */
static char separator_of(const char *p, const char *end)
{
    size_t count[3] = {0};
    static const char of[] = ",;\t";
    bool quoted = false;
    for (; p < end && (quoted || (*p != '\n' && *p != '\r')); p++) {
        quoted ^= *p == '"';
        const char *at = quoted || !*p ? NULL : strchr(of, *p);
        if (at) count[at - of]++;
    }
    return count[2] >= count[0] && count[2] >= count[1] && count[2] ? '\t' : count[1] > count[0] ? ';' : ',';
}

/* Does the text have decimal commas, as "3,14"? It does with semicolons between cells, unless a number has a point. */
static bool has_decimal_commas(char separator, const char *p, const char *end)
{
    for (; separator == ';' && p + 2 < end; p++)
        if (p[1] == '.' && *p >= '0' && *p <= '9' && p[2] >= '0' && p[2] <= '9') return false;
    return separator == ';';
}

/* Replaces the cell's comma by a point if the cell is then a number. */
static void write_point(char *cell)
{
    char *comma = strchr(cell, ',');
    double x;
    if (comma && (*comma = '.', !parse_real(cell, &x))) *comma = ',';
}

typedef struct {
    const char *p, *end;
    char separator;
    bool decimal_commas;
    size_t line;
    str cell;
} csv_reader;

/* Reads the next cell into r->cell without blanks around it; *last: the line ends after it. */
static int next_cell(csv_reader *r, bool *last, err *e)
{
    size_t begun = r->line;
    str_clear(&r->cell);
    while (r->p < r->end && *r->p == ' ') r->p++;
    if (r->p < r->end && *r->p == '"') {
        for (r->p++;; r->p++) {
            if (r->p == r->end) return fail(e, "line %zu: found a quote that is never closed", begun);
            if (*r->p == '"' && (r->p + 1 == r->end || r->p[1] != '"')) break;
            r->p += *r->p == '"';
            r->line += *r->p == '\n';
            str_addc(&r->cell, *r->p);
            if (r->cell.n > MOST_CELL) return fail(e, "line %zu: found a cell of more than %d bytes", begun, MOST_CELL);
        }
        r->p++;
    }
    const char *from = r->p;
    while (r->p < r->end && *r->p != r->separator && *r->p != '\n' && *r->p != '\r') r->p++;
    if (r->p - from > MOST_CELL) return fail(e, "line %zu: found a cell of more than %d bytes", begun, MOST_CELL);
    str_addn(&r->cell, from, (size_t)(r->p - from));
    if (memchr(str_text(&r->cell), 0, r->cell.n)) return fail(e, "line %zu: found a NUL byte, expected text", begun);
    while (r->cell.n && r->cell.s[r->cell.n - 1] == ' ') r->cell.s[--r->cell.n] = 0;
    *last = r->p == r->end || *r->p != r->separator;
    if (!*last) r->p++;
    if (*last && r->p < r->end && *r->p == '\r') r->p++;
    if (*last && r->p < r->end && *r->p == '\n') r->p++, r->line++;
    return 0;
}

/* ---- a chart exported from W&B: "Step","RUN - METRIC","RUN - METRIC__MIN" ... ---- */

typedef struct {
    const char **runs, **metrics; /* by column; NULL: the column belongs to no run */
    size_t n;
} chart;

static bool split_heading(const char *heading, arena *a, const char **run, const char **metric)
{
    const char *at = NULL;
    for (const char *p = heading; (p = strstr(p, " - ")); p += 3) at = p;
    if (!at || at == heading || !at[3]) return false;
    *run = arena_strndup(a, heading, (size_t)(at - heading)), *metric = arena_strdup(a, at + 3);
    return true;
}

static bool is_chart(const char *const *heading, size_t n, arena *a, chart *out)
{
    if (n < 2 || (strcmp(heading[0], "Step") && strcmp(heading[0], "epoch") && strcmp(heading[0], "global_step") &&
                  strcmp(heading[0], "trainer/global_step")))
        return false;
    *out = (chart){arena_alloc(a, n * sizeof *out->runs), arena_alloc(a, n * sizeof *out->metrics), n};
    for (size_t i = 1; i < n; i++) {
        if (!split_heading(heading[i], a, &out->runs[i], &out->metrics[i])) return false;
        /* the band around a smoothed line has no points */
        if (has_suffix(heading[i], "__MIN") || has_suffix(heading[i], "__MAX")) out->runs[i] = NULL;
    }
    return true;
}

static int add_chart(sheet *s, const chart *c, const char *const *cells, size_t n, const char *name, size_t line,
                     bool first, err *e)
{
    for (size_t i = 1; i < n; i++) {
        const char *const pairs[][2] = {
            {SHEET_ROW, c->runs[i]}, {SHEET_STEP, cells[0]}, {SHEET_METRIC, c->metrics[i]}, {SHEET_VALUE, cells[i]}};
        if (c->runs[i] && (*cells[i] || first) && sheet_add_pairs(s, name, line, pairs, LENGTH(pairs), e)) return -1;
    }
    return 0;
}

int csv_parse(sheet *s, const char *text, size_t n, const char *name, err *e)
{
    size_t mark = byte_order_mark(text, n);
    text += mark, n -= mark;
    csv_reader r = {.p = text, .end = text + n, .separator = separator_of(text, text + n), .line = 1};
    r.decimal_commas = has_decimal_commas(r.separator, r.p, r.end);
    CLEANUP(arena_free) arena a = {0};
    CLEANUP(names_free) names headings = {0};
    AUTOFREE const char **cells = NULL;
    AUTOFREE size_t *columns = NULL;
    size_t width = 0, cap = 0, cap_columns = 0, records = 0;
    chart of = {0};
    bool in_chart = false;
    int bad = 0;
    while (r.p < r.end && !bad) {
        size_t line = r.line, i = 0;
        bool last = false, blank = true;
        CLEANUP(arena_free) arena row = {0};
        while (!last && !(bad = next_cell(&r, &last, e))) {
            if (width && r.decimal_commas && r.cell.n) write_point(r.cell.s);
            cells = grow(cells, &cap, i + 1, sizeof *cells);
            cells[i++] = arena_strdup(width ? &row : &a, str_text(&r.cell));
            blank = blank && !r.cell.n;
            if (i > MOST_COLUMNS)
                bad = fail(e, "line %zu: found more than %d columns", line, MOST_COLUMNS), last = true;
        }
        if (!bad && !width && !blank) {
            width = i;
            columns = grow(columns, &cap_columns, width, sizeof *columns);
            in_chart = is_chart(cells, width, &a, &of);
            for (size_t k = 0; k < width && !in_chart && !bad; k++) {
                size_t before = headings.n;
                if (names_add(&headings, &a, cells[k]) < before && *cells[k])
                    bad = fail(e, "line %zu: found the column \"%s\" twice", line, cells[k]);
                else if (*cells[k])
                    bad = sheet_column(s, cells[k], &columns[k], e);
                else
                    columns[k] = SIZE_MAX; /* pandas' index has no heading */
            }
        } else if (!bad && !blank) {
            if (i != width)
                bad = fail(e, "line %zu: found %zu cells, expected %zu as in the first line", line, i, width);
            else if (in_chart)
                bad = add_chart(s, &of, cells, width, name, line, !records, e);
            else
                bad = sheet_start(s, name, line, e);
            for (size_t k = 0; k < width && !bad && !in_chart; k++)
                if (columns[k] != SIZE_MAX) sheet_add(s, columns[k], cells[k]);
            records++;
        }
    }
    if (!bad && !records) bad = fail(e, "found no records, expected a line of column names and lines below it");
    s->format = in_chart ? "a chart exported from W&B" : r.separator == '\t' ? "TSV" : "CSV";
    str_free(&r.cell);
    return bad ? fail_in(e, "%s: ", name) : 0;
}
