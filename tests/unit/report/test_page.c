/* The page of an experiment: texts of its verdict, figures and tables; grids of two factors; points of a plot. */
#include "fixture.h"
#include "lab/report/factors.h"
#include "lab/report/figures.h"
#include "lab/report/page.h"
#include "lab/report/plot.h"

static char folder[] = "/tmp/ablate-page-XXXXXX";
static char *path;
static reader *r;
static err e;

static void test_page(void)
{
    str s = {0};
    CHECK_INT(page_print(r, "one", false, &s, &e), 0);
    CHECK(strstr(s.s, "Differences between designs need three seeds or more per row; base has 1."));
    CHECK(strstr(s.s, "−20.6 (one seed)</text>"));
    CHECK(strstr(s.s, "aria-label=\"loss over steps, 6 rows\""));
    CHECK(strstr(s.s, ">diverged</td>"));
    CHECK(!strstr(s.s, "http") && !strstr(s.s, "nan") && !strstr(s.s, "inf") && !strstr(s.s, "<body data-live"));
    str_clear(&s);
    CHECK_INT(page_print(r, "three", true, &s, &e), 0);
    CHECK(strstr(s.s, "<body data-live>"));
    CHECK_HAS(
        s.s, "<p>Worse: A/heads=1. No verdict (needs 3 seeds per row and no failed run): A/heads=16. "
             "Lines are 95 % intervals for the design; better and worse mean p of at most 0.05 after Holm over 1 row.");
    CHECK(strstr(s.s, "<g data-row=\"A/heads=1\"><title>A/heads=1, seed 2</title><path"));
    CHECK(strstr(s.s, "<tr class=\"rule\" tabindex=\"0\" data-row=\"A/heads=1\">"));
    CHECK(!strstr(s.s, "nan") && !strstr(s.s, "inf"));
    str_clear(&s);
    CHECK_INT(page_print(r, "nope", false, &s, &e), -1);
    CHECK_HAS(e.text, "found no experiment \"nope\"");
    e.text[0] = 0;
    str_free(&s);
}

static gathered_row rows[6];
static read_row of[6];
static measure values[6];

/* A grid of heads 1, 8 by position none, sinusoid; base has heads 8 and sinusoid. Returns the first n of six rows. */
static gathered grid_of(size_t n)
{
    static const char *const changes[] = {"",          "heads=1",          "position=none", "heads=1 position=none",
                                          "dropout=0", "heads=1 dropout=0"};
    static const char *name = "BLEU";
    static metric facts = {"BLEU", "%", 1, NULL};
    for (size_t i = 0; i < n; i++) {
        values[i] = (measure){.n = 1, .mean = 10 + (double)i, .sd = NAN};
        of[i] = (read_row){.group = "",
                           .name = changes[i],
                           .change = changes[i],
                           .is_base = !i,
                           .config_json = "{\"heads\":8,\"position\":\"sinusoid\",\"dropout\":0.1}"};
        rows[i] = (gathered_row){.row = &of[i], .of = &values[i]};
    }
    return (gathered){.x = {.n_rows = n, .rows = of}, .n_metrics = 1, .metrics = &name, .facts = &facts, .rows = rows};
}

static void test_grids(void)
{
    arena a = {0};
    factor_table t;
    factor_grid *grids;
    gathered g = grid_of(3);
    factors_find(&g, &a, &t);
    CHECK_INT(t.n_factors, 2);
    CHECK_TEXT(t.factors[0].levels[0], "1");
    CHECK_TEXT(t.factors[1].levels[1], "none");         /* levels that are words are in the order of the rows */
    CHECK_INT(factors_grids(&g, &t, 0, &a, &grids), 0); /* three of four cells are no grid */
    g = grid_of(4);
    factors_find(&g, &a, &t);
    CHECK_INT(factors_grids(&g, &t, 0, &a, &grids), 1);
    CHECK_NEAR(grids[0].mean[0], 11, 0); /* heads 1, sinusoid */
    CHECK_NEAR(grids[0].mean[1], 13, 0); /* heads 1, none */
    CHECK_NEAR(grids[0].mean[2], 10, 0);
    CHECK_INT(grids[0].row[3], 2);
    g = grid_of(6); /* rows with another dropout do not enter the first grid, and make a second one */
    factors_find(&g, &a, &t);
    CHECK_INT(factors_grids(&g, &t, 0, &a, &grids), 2);
    CHECK_NEAR(grids[0].mean[0], 11, 0);
    CHECK_INT(grids[1].b, 2);
    CHECK_NEAR(grids[1].mean[0], 15, 0); /* heads 1, dropout 0 */
    arena_free(&a);
}

/* Two seeds and an interval wider than base's value (10, or 100 %): a text replaces the interval. */
static void test_no_interval(void)
{
    comparison wide = {.n = 2, .n_base = 3, .low = -191, .high = 194, .planned_base.mean = 10}, narrow = wide,
               three = wide, percent = wide;
    narrow.low = 1, narrow.high = 5, three.n = 3, percent.percent = true, percent.low = -20, percent.high = 60;
    CHECK_TEXT(gathered_no_interval(&wide), "n = 2: no interval");
    CHECK(!gathered_no_interval(&narrow) && !gathered_no_interval(&three) && !gathered_no_interval(&percent));
}

static char *plot_csv(plot_options o)
{
    str s = {0};
    char *to = path_join(folder, "plot.csv");
    o.to = to;
    e.text[0] = 0;
    CHECK_INT(plot_write(r, &o, &e), 0);
    CHECK_TEXT(e.text, "");
    file_read(to, &s, NULL);
    free(to);
    return s.s ? s.s : xstrdup("");
}

static void test_plot(void)
{
    char *t = plot_csv((plot_options){.experiment = "three", .metric = "PPL", .over = "heads"});
    CHECK_TEXT(
        t, "series,x,y,low,high\r\n,1,5.3,5.3,5.3\r\n,8,5,4.9,5.1\r\n,16,4.95,4.879289321881346,5.020710678118655\r\n");
    free(t);
    t = plot_csv((plot_options){.experiment = "three", .metric = "PPL", .over = "heads", .bars = "range"});
    CHECK_HAS(t, "\r\n,16,4.95,4.9,5\r\n");
    free(t);
    t = plot_csv((plot_options){.experiment = "three", .metric = "loss"});
    CHECK_HAS(t, "base,1,9,9,9\r\nbase,100,3.1,3,3.2\r\n");
    free(t);
    plot_options wrong = {.experiment = "three", .over = "head", .to = "x.svg"};
    CHECK_INT(plot_write(r, &wrong, &e), -1);
    CHECK_HAS(e.text, "--over head: no row of three changes this key; expected one of: heads, dropout, position, step, "
                      "params, flops, "
                      "time");
    e.text[0] = 0;
    wrong = (plot_options){.experiment = "three", .over = "heads", .bars = "sem", .to = "x.svg"};
    CHECK_INT(plot_write(r, &wrong, &e), -1);
    CHECK_HAS(e.text, "expected sd, range or none");
    e.text[0] = 0;
}

int main(void)
{
    char command[128];
    if (!mkdtemp(folder)) return 1;
    path = path_join(folder, "results.db");
    db_options o = {.path = path};
    db *d = db_open(&o, &e);
    CHECK_INT(fixture_fill(d, "one", NULL, 1, &e), 0);
    CHECK_INT(fixture_fill(d, "three", NULL, 3, &e), 0);
    db_close(d);
    r = reader_open(&o, &e);
    CHECK(r != NULL);
    CHECK_TEXT(e.text, "");
    test_page();
    test_grids();
    test_no_interval();
    test_plot();
    reader_close(r);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command)) puts("could not clean up");
    free(path);
    return test_end();
}
