/* table.c - prints the ablation table for readers: columns, layout, and notes. */
#include "lab/report/table.h"
#include "lab/report/layout.h"
#include "lab/report/columns.h"
#include "base/cleanup.h"
#include <math.h>
#include <string.h>

/* ---- notes (on statistics: notes.c) ---- */

/* Origins of runs: their machines, devices and commits, each value once. */
typedef struct {
    str hosts, devices, commits;
    double seconds;
} origin;

void add_once(str *list, const char *text, size_t most)
{
    AUTOFREE char *cut = xstrndup(text ? text : "", most);
    if (*cut && !strstr(str_text(list), cut)) str_addf(list, "%s%s", list->n ? ", " : "", cut);
}

static void add_origin(origin *o, const read_run *run)
{
    add_once(&o->hosts, run->host, 79);
    add_once(&o->devices, run->device, 79);
    add_once(&o->commits, run->git_commit, 12);
    if (isfinite(run->seconds)) o->seconds += run->seconds;
}

static const char *several(const str *list) { return list->n && strchr(list->s, ',') ? "s" : ""; }
static void origin_free(origin *o) { str_free(&o->hosts), str_free(&o->devices), str_free(&o->commits); }

/* Prints the first line of each failed run's error. */
static void footnote_failures(const gathered *g, grid *t)
{
    size_t failed = 0, open = 0, recorded = 0, total = 0;
    const read_run *example = NULL;
    const char *row = NULL;
    CLEANUP(origin_free) origin from = {0};
    for (size_t i = 0; i < g->x.n_rows; i++) {
        if (g->rows[i].row->same_as) continue;
        failed += g->rows[i].failed;
        open += g->rows[i].open;
        for (size_t k = 0; k < g->rows[i].row->n_runs; k++) {
            const read_run *run = &g->rows[i].row->runs[k];
            total++;
            if (run->recorded) recorded++, add_origin(&from, run);
            if (run->status == DB_FAILED && !example) example = run, row = g->rows[i].row->name;
        }
    }
    if (failed) {
        const char *error = example->error ? example->error : "";
        grid_footnote(
            t, "%zu run%s failed and %s not counted; the first is %s with seed %lld%s%.*s (`ablate watch %lld --log`).",
            failed, failed == 1 ? "" : "s", failed == 1 ? "is" : "are", row, (long long)example->seed,
            *error ? ": " : "", (int)strcspn(error, "\n"), error, (long long)example->id);
    }
    if (open) grid_footnote(t, "%zu of %zu runs are not finished yet.", open, total);
    if (recorded && !g->foreign) {
        CLEANUP(str_free) str cost = {0};
        if (from.devices.n) str_addf(&cost, ", %.2g hours elapsed on %s", from.seconds / 3600, from.devices.s);
        grid_footnote(t,
                      "%zu of %zu runs are recorded%s%s%s%s%s%s%s, not trained here: "
                      "`ablate run SPEC.ini` trains them here, and then `ablate table NAME --vs recorded` shows both.",
                      recorded, total, from.hosts.n ? ", from " : "", str_text(&from.hosts),
                      from.commits.n ? ", commit" : "", several(&from.commits), from.commits.n ? " " : "",
                      str_text(&from.commits), str_text(&cost));
    }
}

static void footnote_older(const gathered *g, grid *t)
{
    size_t n = g->x.older;
    if (n)
        grid_footnote(t,
                      "%zu older run%s with other settings %s left out: `ablate ls %s --older` lists %s, `ablate rm "
                      "--experiment %s --older` removes %s, --undo shows %s again.",
                      n, n == 1 ? "" : "s", n == 1 ? "is" : "are", g->x.name, n == 1 ? "it" : "them", g->x.name,
                      n == 1 ? "it" : "them", n == 1 ? "it" : "them");
}

static void footnote_changed(const gathered *g, grid *t)
{
    size_t rows = 0, runs = 0;
    for (size_t i = 0; i < g->x.n_rows; i++) {
        if (g->rows[i].row->same_as) continue;
        rows += g->rows[i].changed > 0;
        runs += g->rows[i].changed;
    }
    if (rows)
        grid_footnote(t,
                      "† %zu run%s of %zu row%s %s trained with a plugin whose file has changed since; train again "
                      "with `ablate run SPEC.ini --rerun changed`.",
                      runs, runs == 1 ? "" : "s", rows, rows == 1 ? "" : "s", runs == 1 ? "was" : "were");
}

/* Returns a device's name without its threads, which do not change results. */
static char *kind_of_device(arena *a, const char *device)
{
    char *name = arena_strdup(a, device), *end = strstr(name, " thread"), *from = end;
    while (from && from > name && from[-1] >= '0' && from[-1] <= '9') from--;
    if (!end || from == end || from < name + 2 || strncmp(from - 2, ", ", 2)) return name;
    end += strcspn(end, ",");
    memmove(from - 2, end, strlen(end) + 1);
    return name;
}

static bool names_row(const char *list, const char *row)
{
    size_t n = strlen(row);
    for (const char *at = list; (at = strstr(at, row)); at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == ',' || !at[n])) return true;
    return false;
}

/* Names the rows of each device if runs were trained on different devices. Processors round differently. */
static void footnote_devices(const gathered *g, grid *t)
{
    enum { MOST = 16 };
    const char *device[MOST];
    str rows[MOST] = {{0}};
    size_t n = 0;
    CLEANUP(arena_free) arena a = {0};
    for (size_t i = 0; i < g->x.n_rows; i++) {
        const read_row *row = &g->x.rows[i];
        for (size_t k = 0; k < row->n_runs && !row->same_as; k++) {
            const read_run *run = &row->runs[k];
            if (run->status != DB_DONE || run->recorded || !run->device) continue;
            const char *own = kind_of_device(&a, run->device);
            size_t d = 0;
            while (d < n && !same(device[d], own)) d++;
            if (d == MOST) continue;
            if (d == n) device[n++] = own;
            if (!names_row(str_text(&rows[d]), row->name)) str_addf(&rows[d], "%s%s", rows[d].n ? ", " : "", row->name);
        }
    }
    if (n > 1) grid_footnote(t, "Trained on different devices, whose results differ in the last digits:");
    for (size_t d = 0; d < n && n > 1; d++) grid_footnote(t, "  %s: %s", device[d], str_text(&rows[d]));
    for (size_t d = 0; d < n; d++) str_free(&rows[d]);
}

/* Names rows with plugins that fail `ablate check`. */
static void footnote_unsound(const gathered *g, grid *t)
{
    const char *last = NULL;
    for (size_t i = 0; i < g->x.n_rows; i++) {
        const char *why = g->rows[i].unsound;
        if (!why || same(why, last)) continue;
        grid_footnote(t, "‡ fails `ablate check`: %.*s", (int)strcspn(why, "\n"), why);
        last = why;
    }
}

/* Prints machine and commit of the recorded runs if they are shown; else a note that they exist. */
static void footnote_recorded(const gathered *g, grid *t)
{
    if (!g->has_recorded) {
        if (g->x.has_recorded)
            grid_footnote(t, "Recorded runs exist: `ablate table %s --vs recorded` compares with them.", g->x.name);
        return;
    }
    CLEANUP(origin_free) origin from = {0};
    CLEANUP(str_free) str other = {0};
    for (size_t i = 0; i < g->x.n_rows; i++) {
        const gathered_row *row = &g->rows[i];
        if (!row->recorded) continue;
        for (size_t k = 0; k < row->recorded->n_runs; k++) add_origin(&from, &row->recorded->runs[k]);
        if (!same(row->recorded->config_hash, row->row->config_hash))
            str_addf(&other, "%s%s", other.n ? ", " : "", row->row->name);
    }
    if (from.hosts.n || from.devices.n || from.commits.n)
        grid_footnote(t, "Recorded: on %s (%s), commit%s %s.", from.hosts.n ? from.hosts.s : "an unknown machine",
                      from.devices.n ? from.devices.s : "an unknown device", several(&from.commits),
                      from.commits.n ? from.commits.s : "unknown");
    if (other.n) grid_footnote(t, "Recorded with other settings: %s.", other.s);
}

static void footnote_not_applicable(const gathered *g, grid *t)
{
    for (size_t i = 0; i < g->x.n_rows; i++)
        if (g->rows[i].why_skipped)
            grid_footnote(t, "n/a %s: %.*s", g->rows[i].row->name, (int)strcspn(g->rows[i].why_skipped, "\n"),
                          g->rows[i].why_skipped);
}

static void footnote_metrics(const gathered *g, grid *t)
{
    for (size_t m = 0; m < g->n_metrics; m++)
        if (g->signatures[m])
            grid_footnote(t, "%s: %s", g->headings[m],
                          same(g->signatures[m], "several") ? "runs were scored in different ways; compare with "
                                                              "care (`ablate show RUN`)"
                                                            : g->signatures[m]);
}

static void footnote_paper(const gathered *g, grid *t)
{
    if (!g->has_paper) return;
    CLEANUP(str_free) str missing = {0};
    for (size_t i = 0; i < g->paper.n_rows; i++) {
        bool found = false;
        for (size_t k = 0; k < g->x.n_rows; k++) found = found || g->rows[k].paper == i;
        if (!found) str_addf(&missing, "%s%s", missing.n ? ", " : "", g->paper.cells[i * g->paper.n_columns]);
    }
    if (published_costs(g))
        grid_footnote(t,
                      "FLOPs counted: operations of the traced updates. By the paper's formula: training time x the "
                      "device's sustained rate, %s.",
                      g->sustained > 0 ? "as given by --sustained"
                                       : "which the paper gives for K80, K40, M40 and P100; --sustained TFLOPS sets "
                                         "the rate of another device");
    grid_footnote(t, "Paper: %s, %s", g->paper.paper, g->paper.title);
    if (missing.n && !published_comes_first(g))
        grid_footnote(t, "Rows of the paper without a counterpart here: %s", missing.s);
}

static void set_title(const gathered *g, grid *t)
{
    CLEANUP(str_free) str s = {0};
    str_add(&s, read_plain_name(g->x.name, &t->mem));
    if (g->seeds_most > 1) {
        str_addf(&s, "  mean ± sd over %zu", g->seeds_least);
        if (g->seeds_least != g->seeds_most) str_addf(&s, " to %zu", g->seeds_most);
        str_add(&s, " seeds");
    } else if (g->seeds_most) {
        str_add(&s, "  one seed");
    }
    if (g->tests)
        str_addf(&s, "; Δ, 95 %% interval and p for the design; p Holm over %zu row%s", g->tests,
                 g->tests == 1 ? "" : "s");
    t->title = arena_strdup(&t->mem, s.s);
}

static void add_rows(const gathered *g, grid *t)
{
    set_title(g, t);
    if (g->has_paper && published_comes_first(g))
        layout_beside_published(g, t);
    else
        layout_rows(g, t);
}

/* Makes a table for a paper: only the parts that its readers need beside the caption. */
static void latex_grid(const gathered *g, const table_options *o, grid *t)
{
    add_rows(g, t);
    if (o->caption) t->title = o->caption;
    t->label = o->label ? o->label : arena_printf(&t->mem, "tab:%s", read_plain_name(g->x.name, &t->mem));
    footnote_foreign(g, t);
    footnote_changed(g, t);
    footnote_unsound(g, t);
    footnote_not_applicable(g, t);
    if (g->has_paper) grid_footnote(t, "Paper: %s.", g->paper.paper);
}

void table_grid(const gathered *g, grid *t)
{
    add_rows(g, t);
    if (g->x.note && *g->x.note) grid_footnote(t, "Note: %s", g->x.note);
    footnote_foreign(g, t);
    footnote_statistics(g, t);
    footnote_identical(g, t);
    footnote_judging(g, t);
    footnote_effects(g, t);
    footnote_scale(g, t);
    footnote_tuning(g, t);
    footnote_failures(g, t);
    footnote_older(g, t);
    footnote_changed(g, t);
    footnote_devices(g, t);
    footnote_unsound(g, t);
    footnote_recorded(g, t);
    footnote_not_applicable(g, t);
    footnote_metrics(g, t);
    footnote_paper(g, t);
}

/* ---- the published table alone ---- */

/* Names the experiments that refer to this table. */
static int footnote_measured(reader *r, const char *table, grid *t, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    read_listed *list;
    size_t n;
    int rc = reader_list(r, &a, &list, &n, e);
    for (size_t i = 0; i < n && !rc; i++) {
        const char *beside =
            list[i].paper_table && *list[i].paper_table ? list[i].paper_table : paper_table_of(list[i].name);
        if (same(beside, table)) grid_footnote(t, "Measured here: `ablate table %s --vs paper`", list[i].name);
    }
    return rc;
}

/* Prints a published table alone. Returns 0; 1 if there is no such table; -1. */
static int print_published(reader *r, const char *name, enum table_format format, str *out, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    read_published p;
    int rc = name ? published_read(name, &a, &p, e) : 1;
    if (rc == 0 && format == TABLE_JSON) {
        layout_published_json(&p, out);
    } else if (rc == 0) {
        CLEANUP(grid_free) grid t = {0};
        layout_published(&p, &t, format == TABLE_CSV);
        t.label = name;
        rc = r ? footnote_measured(r, name, &t, e) : 0;
        grid_print(&t, format, out);
    }
    return rc;
}

bool table_is_published(const char *name)
{
    for (const published_text *t = published_tables; t->name; t++)
        if (same(t->name, name)) return true;
    return false;
}

/* Appends the INI's head comment without #, whole or up to its first blank line. Returns the rest of the INI. */
static const char *add_comment(const char *ini, bool whole, str *out)
{
    while (*ini == '#') {
        size_t n = strcspn(++ini, "\n"), from = *ini == ' ';
        if (n <= from && !whole) break;
        str_addf(out, "%.*s\n", (int)(n - from), ini + from);
        ini += n + (ini[n] == '\n');
    }
    str_addc(out, '\n');
    return ini + (*ini == '\n');
}

int table_print(reader *r, const char *name, const table_options *options, enum table_format format, str *out, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    gathered g = {0};
    table_options o = *options;
    if (name && same(paper_table_of(name), name)) o.vs_paper = true; /* table1 to table4 compare with the paper */
    bool bold = format == TABLE_MD || format == TABLE_LATEX;
    int rc = r ? gather(r, name, &o, bold, &a, &g, e) : 1;
    if (rc == 1)
        rc = print_published(r, name, format, out, e) == 0 ? 0 : r ? reader_no_experiment(r, name, e) : -1;
    else if (rc == 0 && format == TABLE_JSON)
        layout_json(&g, out);
    else if (rc == 0 && format == TABLE_CSV)
        layout_csv(&g, out);
    else if (rc == 0) {
        CLEANUP(grid_free) grid t = {0};
        if (format == TABLE_LATEX)
            latex_grid(&g, &o, &t);
        else
            table_grid(&g, &t);
        const char *rest = o.ini;
        if (rest)
            str_addf(out, "# %.*s\n\n", (int)strcspn(g.x.name, "."), g.x.name), rest = add_comment(rest, false, out);
        grid_print(&t, format, out);
        if (rest && *rest == '#') str_addc(out, '\n'), add_comment(rest, true, out);
    }
    return rc;
}
