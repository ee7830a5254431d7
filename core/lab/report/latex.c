/* latex.c - a table for a paper: booktabs, numbers aligned by siunitx, notes by threeparttable; scaled down if wider
 * than the text, to fit a page. */
#include "lab/report/grid.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ---- */

/* Non-ASCII characters in tables, and characters with a meaning in TeX. */
static const char *const signs[][2] = {{"±", "\\ensuremath{\\pm}"},    {"†", "\\ensuremath{\\dagger}"},
                                       {"Δ", "\\ensuremath{\\Delta}"}, {"−", "\\ensuremath{-}"},
                                       {"·", "\\ensuremath{\\cdot}"},  {"²", "\\ensuremath{^2}"},
                                       {"√", "\\ensuremath{\\surd}"},  {"ε", "\\ensuremath{\\epsilon}"},
                                       {"σ", "\\ensuremath{\\sigma}"}, {"×", "\\ensuremath{\\times}"},
                                       {"≤", "\\ensuremath{\\le}"},    {"≥", "\\ensuremath{\\ge}"},
                                       {"→", "\\ensuremath{\\to}"},    {"…", "\\dots{}"},
                                       {"<", "\\ensuremath{<}"},       {">", "\\ensuremath{>}"},
                                       {"\\", "\\textbackslash{}"},    {"~", "\\textasciitilde{}"},
                                       {"^", "\\textasciicircum{}"},   {"\"", "\\textquotedbl{}"},
                                       {"`", "\\textasciigrave{}"}};

/* breaks: allow line breaks after / = . and _, for file names and signatures. */
static void tex_text(str *out, const char *text, bool breaks)
{
    while (*text) {
        size_t k = 0;
        while (k < LENGTH(signs) && !has_prefix(text, signs[k][0])) k++;
        if (k < LENGTH(signs)) {
            str_add(out, signs[k][1]);
            text += strlen(signs[k][0]);
            continue;
        }
        if (strchr("&%$#_{}", *text)) str_addc(out, '\\');
        str_addc(out, *text);
        if (breaks && strchr("/=|:_", *text) && text[1]) str_add(out, "\\allowbreak{}");
        text++;
    }
}

/* "d_model" as d with a subscript, other headings as text. */
static void tex_heading(str *out, const char *text)
{
    const char *under = strchr(text, '_');
    if (!under || strpbrk(text, " \\~^") || under - text > 4 || strchr(under + 1, '_')) {
        tex_text(out, text, false);
        return;
    }
    char *letter = xstrndup(text, (size_t)(under - text));
    str_add(out, "\\ensuremath{");
    tex_text(out, letter, false);
    str_add(out, "_{\\mathrm{");
    tex_text(out, under + 1, false);
    str_add(out, "}}}");
    free(letter);
}

/* ---- numbers ---- */

typedef struct {
    int whole, places, error; /* digits before the point, after it, and of a deviation */
    bool sign;
} digits;

/* "12.5", "−0.3", "5.29 ± 0.02": counted into *d. False: it is something else. */
static bool count_number(const char *text, digits *d)
{
    digits own = {0};
    if (has_prefix(text, "−"))
        own.sign = true, text += strlen("−");
    else if (*text == '+' || *text == '-')
        own.sign = true, text++;
    for (; isdigit((unsigned char)*text); text++) own.whole++;
    if (!own.whole) return false;
    if (*text == '.')
        for (text++; isdigit((unsigned char)*text); text++) own.places++;
    if (has_prefix(text, " ± ")) {
        text += strlen(" ± ");
        for (; isdigit((unsigned char)*text) || *text == '.'; text++) own.error += *text != '.';
    }
    if (*text) return false;
    d->whole = own.whole > d->whole ? own.whole : d->whole;
    d->places = own.places > d->places ? own.places : d->places;
    d->error = own.error > d->error ? own.error : d->error;
    d->sign = d->sign || own.sign;
    return true;
}

static const grid_cell *cell(const grid *g, size_t i, size_t j) { return &g->cells[i * g->n_columns + j]; }

/* A numeric column: right-aligned, with at least one number. */
static bool is_numbers(const grid *g, size_t j, digits *d)
{
    bool some = false;
    for (size_t i = 0; i < g->n_rows && g->right[j]; i++) some = count_number(cell(g, i, j)->text, d) || some;
    return some;
}

static void put_number(str *out, const char *text)
{
    for (; *text; text++) {
        if (has_prefix(text, "−"))
            str_addc(out, '-'), text += strlen("−") - 1;
        else if (has_prefix(text, "±"))
            str_add(out, "+-"), text += strlen("±") - 1;
        else if (*text != ' ')
            str_addc(out, *text);
    }
}

/* ---- the table ---- */

static void columns(const grid *g, str *out)
{
    for (size_t j = 0; j < g->n_columns; j++) {
        digits d = {0};
        if (!is_numbers(g, j, &d)) {
            str_addc(out, g->right[j] ? 'r' : 'l');
            continue;
        }
        str_addf(out, "\n  S[table-format=%s%d", d.sign ? "+" : "", d.whole);
        if (d.places) str_addf(out, ".%d", d.places);
        if (d.error) str_addf(out, "(%d)", d.error);
        str_add(out, "]");
    }
}

/* A group is named in its first row only. */
static bool repeats(const grid *g, size_t i, size_t j)
{
    const char *text = cell(g, i, j)->text;
    return !j && i && !g->rule[i] && *text == '(' && same(text, cell(g, i - 1, j)->text);
}

static void put_cell(const grid *g, size_t i, size_t j, str *out)
{
    const grid_cell *c = cell(g, i, j);
    digits column = {0}, own = {0};
    bool numbers = is_numbers(g, j, &column), number = numbers && count_number(c->text, &own), strong = false;
    for (size_t k = 0; k < g->n_columns; k++) strong = strong || cell(g, i, k)->strong; /* the best row is bold */
    if (!*c->text || repeats(g, i, j)) return;
    if (strong) str_add(out, "\\bfseries ");
    if (number) {
        put_number(out, c->text);
        return;
    }
    if (numbers) str_addc(out, '{');
    tex_text(out, c->text, false);
    if (numbers) str_addc(out, '}');
}

void grid_latex(const grid *g, str *out)
{
    str_add(out, "% needs \\usepackage{booktabs,siunitx,threeparttable,adjustbox}\n\\begin{table}\n\\centering\n"
                 "\\sisetup{separate-uncertainty=true,table-align-uncertainty=true}\n");
    if (g->title) {
        str_add(out, "\\caption{");
        tex_text(out, g->title, false);
        str_add(out, "}\n");
    }
    str_add(out, "\\begin{adjustbox}{max width=\\linewidth,max "
                 "totalheight=0.85\\textheight}\n\\begin{threeparttable}\n\\begin{tabular}{");
    columns(g, out);
    str_add(out, "}\n\\toprule\n");
    for (size_t j = 0; j < g->n_columns; j++) {
        digits d = {0};
        bool numbers = is_numbers(g, j, &d);
        str_add(out, j ? numbers ? " & {" : " & " : numbers ? "{" : "");
        tex_heading(out, g->headings[j]);
        if (numbers) str_addc(out, '}');
    }
    str_add(out, " \\\\\n\\midrule\n");
    for (size_t i = 0; i < g->n_rows; i++) {
        if (i && g->rule[i]) str_add(out, "\\midrule\n");
        for (size_t j = 0; j < g->n_columns; j++) {
            str_add(out, j ? " & " : "");
            put_cell(g, i, j, out);
        }
        str_add(out, " \\\\\n");
    }
    str_add(out, "\\bottomrule\n\\end{tabular}\n");
    if (g->n_notes) str_add(out, "\\begin{tablenotes}[flushleft]\\footnotesize\\raggedright\n");
    for (size_t i = 0; i < g->n_notes; i++) {
        str_add(out, "\\item ");
        tex_text(out, g->notes[i], true);
        str_addc(out, '\n');
    }
    if (g->n_notes) str_add(out, "\\end{tablenotes}\n");
    str_add(out, "\\end{threeparttable}\n\\end{adjustbox}\n\\end{table}\n");
}
