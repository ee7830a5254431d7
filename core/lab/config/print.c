/* print.c - the expansion of an experiment as an INI that reads back to the same rows. */
#include "lab/config/build.h"
#include <math.h>
#include <string.h>

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

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

static void print_text(FILE *f, const char *key, const char *text, bool in_list)
{
    const char *quote = needs_quotes(text, in_list) ? "\"" : "";
    fprintf(f, "%s = %s%s%s\n", key, quote, text, quote);
}

void spec_write_setting(str *out, const char *key, const char *value)
{
    const char *quote = needs_quotes(value, true) ? "\"" : "";
    str_addf(out, "%s = %s%s%s\n", key, quote, value, quote);
}

static void print_list(FILE *f, const char *key, const char *const *texts, size_t n)
{
    fprintf(f, "%s = ", key);
    for (size_t i = 0; i < n; i++) {
        const char *quote = needs_quotes(texts[i], true) ? "\"" : "";
        fprintf(f, "%s%s%s%s", i ? ", " : "", quote, texts[i], quote);
    }
    fprintf(f, "\n");
}

/* The row's settings; a pending search is printed as a search. */
static void print_settings(FILE *f, const settings *s, const spec_row *row)
{
    for (size_t i = 0; i < s->n; i++) {
        const char *value = s->at[i].value;
        for (size_t k = 0; k < row->n_tunes; k++)
            if (same(row->tunes[k].key, s->at[i].key)) value = row->tunes[k].text;
        if (has_prefix(value, "tune("))
            fprintf(f, "%s = %s\n", s->at[i].key, value);
        else
            print_text(f, s->at[i].key, value, true);
    }
}

/* A name that is not valid as a section title is written as a key. */
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

/* The title of a row whose name is written as a key: one that is not the name of any row. */
static void print_title(FILE *f, const spec *s, const spec_row *row)
{
    str title = {0};
    str_addf(&title, "row %zu", row->order);
    while (has_row(s, title.s)) str_addc(&title, '+');
    fprintf(f, "[variant %s]\n", title.s);
    str_free(&title);
}

static void print_row(FILE *f, const spec *s, const spec_row *row)
{
    bool equal = row->same_as >= 0;
    fprintf(f, "\n# %s%s; config %.12s\n",
            row->run ? "to train"
            : equal  ? "equal to "
                     : "not selected",
            equal ? s->rows[row->same_as].name : "", row->hash);
    if (row->is_base)
        fprintf(f, "[base]\n");
    else if (fits_title(row->name))
        fprintf(f, "[variant %s]\n", row->name);
    else
        print_title(f, s, row), print_text(f, "name", row->name, false);
    if (*row->group) print_text(f, "group", row->group, false);
    if (row->base) print_text(f, "base", row->base, false);
    if (!same(row->paper_row, row->name)) print_text(f, "paper_row", row->paper_row, true);
    print_settings(f, row->is_base ? &row->given : &row->swept, row);
}

static void print_criterion(FILE *f, const spec *s)
{
    char margin[32], level[32];
    const comparison_criterion *k = &s->analysis.criterion;
    if (!k->given) return;
    fprintf(f, "\n[criterion]\n%s = %s\nlevel = %s\nseeds = %zu\n", k->one_sided ? "not_worse_by" : "margin",
            format_real(k->margin, margin), format_real(k->level, level), k->seeds);
    if (*k->metric) print_text(f, "metric", k->metric, false);
    if (!isnan(k->failed_as)) fprintf(f, "failed_as = %s\n", format_real(k->failed_as, margin));
}

static void print_slurm(FILE *f, const spec *s)
{
    if (s->slurm.n) fprintf(f, "\n[slurm]\n");
    for (size_t i = 0; i < s->slurm.n; i++) print_text(f, s->slurm.at[i].key, s->slurm.at[i].value, false);
}

void spec_print(const spec *s, FILE *f)
{
    size_t rows = 0;
    str seeds = {0};
    for (size_t i = 0; i < s->n_rows; i++) rows += s->rows[i].run;
    spec_seeds_text(s, s->n_row_seeds, &seeds);
    fprintf(f, "# %s: %zu rows, %zu to train x %s = %zu runs\n", s->path, s->n_rows, rows, seeds.s, s->n_runs);
    str_free(&seeds);
    fprintf(f, "[experiment]\n");
    print_text(f, "name", s->name, false);
    if (*s->note) print_text(f, "note", s->note, false);
    if (*s->paper) print_text(f, "paper", s->paper, false);
    fprintf(f, "seeds = %s\n", s->seeds_text);
    if (s->n_only) print_list(f, "only", s->only, s->n_only);
    if (*s->analysis.match) fprintf(f, "match = %s by %s\n", s->analysis.match, s->analysis.match_key);
    print_criterion(f, s);
    print_slurm(f, s);
    for (size_t i = 0; i < s->n_rows; i++) print_row(f, s, &s->rows[i]);
}
