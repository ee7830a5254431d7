/* print.c - the expansion of an experiment as an INI that reads back to the same rows. */
#include "lab/config/build.h"
#include <math.h>
#include <string.h>

/* Is the text written in quotes, because the reader would split or truncate it? in_list: commas separate items. */
static bool needs_quotes(const char *text, bool in_list)
{
    size_t n = strlen(text);
    if (strchr(text, '"')) return false; /* the text contains quotes: it reads back as written */
    if (!n || is_blank(text[0]) || is_blank(text[n - 1])) return true;
    if (in_list && strchr(text, ',')) return true;
    for (const char *p = text; *p; p++)
        if ((*p == '#' || *p == ';') && (p == text || is_blank(p[-1]))) return true;
    return false;
}

static void write_text(str *out, const char *before, const char *text, bool in_list)
{
    const char *quote = needs_quotes(text, in_list) ? "\"" : "";
    str_addf(out, "%s%s%s%s", before, quote, text, quote);
}

static void write_pair(str *out, const char *key, const char *text, bool in_list)
{
    str_add(out, key);
    write_text(out, " = ", text, in_list);
    str_addc(out, '\n');
}

void spec_write_setting(str *out, const char *key, const char *value) { write_pair(out, key, value, true); }

/* The row's settings; a pending search is printed as a search. */
static void print_settings(str *out, const settings *s, const spec_row *row)
{
    for (size_t i = 0; i < s->n; i++) {
        const char *value = s->at[i].value;
        for (size_t k = 0; k < row->n_tunes; k++)
            if (same(row->tunes[k].key, s->at[i].key)) value = row->tunes[k].text;
        if (has_prefix(value, "tune("))
            str_addf(out, "%s = %s\n", s->at[i].key, value);
        else
            write_pair(out, s->at[i].key, value, true);
    }
}

/* Can the name be a section title? Other names are printed as a key. */
static bool fits_title(const char *name)
{
    enum { LONGEST_NAME = 41 }; /* 49 bytes of title less "variant " */
    size_t n = strlen(name);
    return n <= LONGEST_NAME && !strpbrk(name, "];\"\t") && !strstr(name, "  ") && name[0] != ' ' && name[n - 1] != ' ';
}

static bool has_row(const spec *s, const char *name)
{
    for (size_t i = 0; i < s->n_rows; i++)
        if (same(s->rows[i].name, name)) return true;
    return false;
}

/* Prints a title for a row whose name is printed as a key: a text that is no row's name. */
static void print_title(str *out, const spec *s, const spec_row *row)
{
    CLEANUP(str_free) str title = {0};
    str_addf(&title, "row %zu", row->order);
    while (has_row(s, title.s)) str_addc(&title, '+');
    str_addf(out, "[variant %s]\n", title.s);
}

static void print_row(str *out, const spec *s, const spec_row *row)
{
    bool equal = row->same_as >= 0;
    str_addf(out, "\n# %s%s; config %.12s\n",
             row->run ? "to train"
             : equal  ? "equal to "
                      : "not selected",
             equal ? s->rows[row->same_as].name : "", row->hash);
    if (row->is_base)
        str_addf(out, "[base]\n");
    else if (fits_title(row->name))
        str_addf(out, "[variant %s]\n", row->name);
    else
        print_title(out, s, row), write_pair(out, "name", row->name, false);
    if (*row->group) write_pair(out, "group", row->group, false);
    if (row->base) write_pair(out, "base", row->base, false);
    if (!same(row->paper_row, row->name)) write_pair(out, "paper_row", row->paper_row, true);
    print_settings(out, row->is_base ? &row->given : &row->swept, row);
}

static void print_criterion(str *out, const spec *s)
{
    char margin[32], level[32];
    const comparison_criterion *k = &s->analysis.criterion;
    if (!k->given) return;
    str_addf(out, "\n[criterion]\n%s = %s\nlevel = %s\nseeds = %zu\n", k->one_sided ? "not_worse_by" : "margin",
             format_real(k->margin, margin), format_real(k->level, level), k->seeds);
    if (*k->metric) write_pair(out, "metric", k->metric, false);
    if (!isnan(k->failed_as)) str_addf(out, "failed_as = %s\n", format_real(k->failed_as, margin));
}

static void print_slurm(str *out, const spec *s)
{
    if (s->slurm.n) str_addf(out, "\n[slurm]\n");
    for (size_t i = 0; i < s->slurm.n; i++) write_pair(out, s->slurm.at[i].key, s->slurm.at[i].value, false);
}

void spec_print(const spec *s, FILE *f)
{
    size_t rows = 0;
    CLEANUP(str_free) str text = {0};
    str *out = &text;
    for (size_t i = 0; i < s->n_rows; i++) rows += s->rows[i].run;
    str_addf(out, "# %s: %zu rows, %zu to train x ", s->path, s->n_rows, rows);
    spec_seeds_text(s, s->n_row_seeds, out);
    str_addf(out, " = %zu runs\n[experiment]\n", s->n_runs);
    write_pair(out, "name", s->name, false);
    if (*s->note) write_pair(out, "note", s->note, false);
    if (*s->paper) write_pair(out, "paper", s->paper, false);
    str_addf(out, "seeds = %s\n", s->seeds_text);
    for (size_t i = 0; i < s->n_only; i++) write_text(out, i ? ", " : "only = ", s->only[i], true);
    if (s->n_only) str_addc(out, '\n');
    if (*s->analysis.match) str_addf(out, "match = %s by %s\n", s->analysis.match, s->analysis.match_key);
    print_criterion(out, s);
    print_slurm(out, s);
    for (size_t i = 0; i < s->n_rows; i++) print_row(out, s, &s->rows[i]);
    fputs(text.s, f);
}
