/* latex.c - prints a table for a paper, with booktabs. With graphicx a table larger than the page is scaled down. */
#include "lab/report/grid.h"
#include "base/cleanup.h"
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

/* Is this a long word, such as a file name or signature? Line breaks are allowed after its / = . and _. */
static bool is_long(const char *start, const char *at)
{
    enum { LONG = 24 };
    while (at > start && at[-1] != ' ') at--;
    return strcspn(at, " ") > LONG;
}

static void tex_text(str *out, const char *text, bool breaks)
{
    const char *start = text;
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
        if (breaks && is_long(start, text) && strchr("/=|:_", *text) && text[1]) str_add(out, "\\allowbreak{}");
        text++;
    }
}

/* Writes "d_model" as d with a subscript, other headings as text. */
static void tex_heading(str *out, const char *text)
{
    const char *under = strchr(text, '_');
    if (!under || strpbrk(text, " \\~^") || under - text > 4 || strchr(under + 1, '_')) {
        tex_text(out, text, false);
        return;
    }
    AUTOFREE char *letter = xstrndup(text, (size_t)(under - text));
    str_add(out, "\\ensuremath{");
    tex_text(out, letter, false);
    str_add(out, "_{\\mathrm{");
    tex_text(out, under + 1, false);
    str_add(out, "}}}");
}

static const grid_cell *cell_at(const grid *g, size_t i, size_t j) { return &g->cells[i * g->n_columns + j]; }

/* ---- the table ---- */

/* Does the cell repeat the group of the row above? Only the first row of a group names it. */
static bool repeats(const grid *g, size_t i, size_t j)
{
    const char *text = cell_at(g, i, j)->text;
    return !j && i && !g->rule[i] && *text == '(' && same(text, cell_at(g, i - 1, j)->text);
}

static void write_cell(const grid *g, size_t i, size_t j, str *out)
{
    const grid_cell *c = cell_at(g, i, j);
    if (!*c->text || repeats(g, i, j)) return;
    if (c->strong) str_add(out, "\\bfseries ");
    tex_text(out, c->text, false);
}

static void write_tabular(const grid *g, str *out)
{
    str_add(out, "\\begin{tabular}{");
    for (size_t j = 0; j < g->n_columns; j++) str_addc(out, g->right[j] ? 'r' : 'l');
    str_add(out, "}\n\\toprule\n");
    for (size_t j = 0; j < g->n_columns; j++) {
        str_add(out, j ? " & " : "");
        tex_heading(out, g->headings[j]);
    }
    str_add(out, " \\\\\n\\midrule\n");
    for (size_t i = 0; i < g->n_rows; i++) {
        if (i && g->rule[i]) str_add(out, "\\midrule\n");
        for (size_t j = 0; j < g->n_columns; j++) {
            str_add(out, j ? " & " : "");
            write_cell(g, i, j, out);
        }
        str_add(out, " \\\\\n");
    }
    str_add(out, "\\bottomrule\n\\end{tabular}");
}

/* Is the table wider than one column of a two-column page? Counts the bytes of each column's longest cell. */
static bool is_wide(const grid *g)
{
    enum { COLUMN = 48 };
    size_t all = 0;
    for (size_t j = 0; j < g->n_columns; j++) {
        size_t most = strlen(g->headings[j]);
        for (size_t i = 0; i < g->n_rows; i++)
            if (strlen(cell_at(g, i, j)->text) > most) most = strlen(cell_at(g, i, j)->text);
        all += most + 2;
    }
    return all > COLUMN;
}

void grid_latex(const grid *g, str *out)
{
    const char *star = is_wide(g) ? "*" : "";
    str_addf(out,
             "%% needs \\usepackage{booktabs}; with graphicx, a table larger than the page is scaled down\n"
             "\\begin{table%s}\n\\centering\n",
             star);
    if (g->title) {
        str_add(out, "\\caption{");
        tex_text(out, g->title, false);
        str_add(out, "}\n");
    }
    if (g->label) str_addf(out, "\\label{%s}\n", g->label);
    str_add(out, "\\sbox0{%\n");
    write_tabular(g, out);
    str_add(
        out,
        "}%\n"
        "\\ifdefined\\resizebox\n"
        "\\ifdim\\wd0>\\linewidth\\sbox0{\\resizebox{\\linewidth}{!}{\\usebox0}}\\fi\n"
        "\\ifdim\\dimexpr\\ht0+\\dp0\\relax>0.8\\textheight\\sbox0{\\resizebox*{!}{0.8\\textheight}{\\usebox0}}\\fi\n"
        "\\fi\n"
        "\\usebox0\n");
    for (size_t i = 0; i < g->n_notes; i++) {
        str_add(out, i ? "\\\\\n" : "\n\\smallskip\n\\begin{minipage}{\\linewidth}\\footnotesize\\raggedright\n");
        tex_text(out, g->notes[i], true);
    }
    if (g->n_notes) str_add(out, "\n\\end{minipage}\n");
    str_addf(out, "\\end{table%s}\n", star);
}
