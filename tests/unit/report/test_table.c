/* The ablation table: numbers, layouts, formats, texts. */
#include "fixture.h"
#include "lab/report/columns.h"
#include "lab/report/grid.h"
#include "lab/report/significance.h"
#include "lab/report/table.h"
#include <cjson/cJSON.h>
#include <sqlite3.h>

static char *path;
static reader *r;
static err e;

static char *print(const char *name, enum table_format format, bool vs_paper, const char *metric)
{
    str out = {0};
    table_options o = {.metrics = &metric, .n_metrics = metric != NULL, .vs_paper = vs_paper, .trials = 500};
    e.text[0] = 0;
    CHECK_INT(table_print(r, name, &o, format, &out, &e), *e.text ? -1 : 0);
    return out.s ? out.s : xstrdup("");
}

/* Returns the line of `text` that begins with `start`, without its newline; the caller frees it. */
static char *line(const char *text, const char *start)
{
    for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p != 0)
        if (has_prefix(p, start)) return xstrndup(p, strcspn(p, "\r\n"));
    return xstrdup("(no such line)");
}
#define CHECK_LINE(text, start, expected)                                                                              \
    do {                                                                                                               \
        char *found_ = line(text, start);                                                                              \
        CHECK_TEXT(found_, expected);                                                                                  \
        free(found_);                                                                                                  \
    } while (0)

static void test_text(void)
{
    char *t = print("three", TABLE_TEXT, false, NULL);
    CHECK_TEXT(e.text, "");
    CHECK_LINE(t, "three",
               "three  mean ± sd over 2 to 3 seeds; Δ, 95 % interval and p for the design; p Holm over 1 row");
    CHECK_LINE(t, "row",
               "row   change            n                       PPL                      ACC  Δ ACC   95 % interval    "
               "   p  p Holm  "
               "params (M)");
    CHECK_LINE(
        t, "base",
        "base                    3               5.00 ± 0.10               49.8 ± 2.1                                 "
        "              65.1");
    CHECK_LINE(t, "(A)   heads=1 ",
               "(A)   heads=1           3               5.30 ± 0.00               29.6 ± 1.8  −20.1  −24.6 .. −15.7  "
               "<0.001  <0.001  "
               "      65.1");
    CHECK_LINE(
        t, "(A)   heads=8",
        "(A)   heads=8           3               5.00 ± 0.10               49.8 ± 2.1                                 "
        "              65.1");
    CHECK_LINE(
        t, "(A)   heads=16",
        "(A)   heads=16          2  4.95 ± 0.07 (1 diverged)  51.0 ± 0.1 (1 diverged)   +1.2                           "
        "             65.1");
    CHECK_LINE(t, "(D)", "(D)   dropout=0         0                    failed                   failed");
    CHECK_LINE(
        t, "(E)",
        "(E)   position=learned  0                  diverged                 diverged                                 "
        "              65.1");
    CHECK_LINE(t, "(F)", "(F)   position=rotary   0                       n/a                      n/a");
    CHECK_LINE(t, "Δ, interval and p",
               "Δ, interval and p: ACC of the row's design against base, over seeds and sentences (crossed components, "
               "Howe's interval); interval and p for each row alone, p Holm over 1 planned row.");
    CHECK_HAS(t, "Least detectable difference in ACC (power 80 %, median over rows): 6.89 with 3 "
                 "seeds; with 5 4.09");
    CHECK_HAS(t, "No interval, p or verdict where runs failed or diverged: A/heads=16 (1).");
    CHECK(!strstr(t, "p models"));
    CHECK_HAS(t, "3 runs failed and are not counted; the first is D/dropout=0 with seed 0: out of memory "
                 "(`ablate watch 22 --log`)");
    CHECK_HAS(t, "n/a F/position=rotary: rotary needs an even d_k, found 3");
    CHECK_HAS(t, "ACC: exact match");
    CHECK_LINE(t, "Note", "Note: toy corpus");
    char *again = print("three", TABLE_TEXT, false, NULL);
    CHECK_TEXT(again, t); /* randomisation has a fixed seed, so the table is the same */
    free(again);
    free(t);

    t = print("one", TABLE_TEXT, false, "ppl");
    CHECK_LINE(t, "one", "one  one seed");
    CHECK_LINE(t, "(A)   heads=1 ", "(A)   heads=1           1      5.30  +8.2 %        65.1");
    CHECK_HAS(t, "One seed says nothing about a design: another seed of any row may differ as much. No test over "
                 "sentences either");
    CHECK_HAS(t, "unknown with one seed. Seeds per row, and the difference that they find (power 80 %), in "
                 "standard deviations over seeds: 3 find 3.5, 5 find 2.1");
    free(t);
    t = print("one", TABLE_TEXT, false, "acc");
    CHECK_LINE(t, "row", "row   change            n       ACC  Δ ACC  p models  params (M)");
    /* the smallest p, which Holm doubles */
    CHECK_LINE(t, "(A)   heads=1 ", "(A)   heads=1           1      30.3  −20.6     0.004        65.1");
    CHECK_HAS(t, "p models concerns these models only: paired approximate randomisation of ACC over sentences, 500 "
                 "trials, Holm over 2 rows.");
    free(t);
    t = print(NULL, TABLE_TEXT, false, NULL); /* the latest */
    CHECK(has_prefix(t, "one  "));
    free(t);
}

static void test_paper(void)
{
    char *t = print("table3-toy", TABLE_TEXT, true, "PPL");
    CHECK_LINE(t, "row",
               "row   N  d_model  d_ff   h  d_k  d_v  P_drop  ε_ls  steps  other             n       PPL   Δ PPL"
               "  params "
               "(M)  paper PPL  paper BLEU  paper params (M)");
    CHECK_LINE(t, "base",
               "base  6      512         8   64   64     0.1         100k                    1      4.90               "
               " 65.1       4.92        25.8                65");
    CHECK_LINE(t, "(A)                      1 ",
               "(A)                      1  512  512                                         1      "
               "5.30  +8.2 %        65.1       5.29        24.9");
    CHECK_HAS(t, "(A)                      8 ");
    CHECK_HAS(t, "position=learned");
    CHECK_HAS(t, "Paper: Vaswani et al. 2017");
    CHECK_HAS(t, "without a counterpart here: A/heads=4, A/heads=32, B/d_k=16");
    free(t);
    t = print("one", TABLE_TEXT, true, NULL);
    CHECK_HAS(e.text, "belongs to no published table");
    free(t);
    t = print("four", TABLE_TEXT, true, NULL);
    CHECK_HAS(t, "Luong et al. (2015)             multi-task                93.0");
    CHECK_LINE(t, "parser",
               "parser                          training                    F1  ours                n       "
               "PPL       ACC  "
               "Δ ACC  p models  params (M)");
    CHECK_HAS(t, "A/heads=1 ");
    free(t);
    t = print("table3", TABLE_TEXT, false, NULL); /* without an experiment of that name, the paper's table only */
    CHECK_HAS(t, "(A)                       4  128  128");
    CHECK_HAS(t, "Measured here: `ablate table table3-toy --vs paper`");
    CHECK_HAS(t, "positional embedding instead of sinusoids  4.92  25.7");
    free(t);
    t = print("table1", TABLE_MD, false, NULL);
    CHECK_HAS(t, "| Recurrent | O(n · d²) | O(n) | O(n) |");
    free(t);
    t = print("table3", TABLE_JSON, false, NULL);
    cJSON *j = cJSON_Parse(t);
    const cJSON *row = cJSON_GetArrayItem(cJSON_GetObjectItem(j, "rows"), 2);
    CHECK_NEAR(row ? cJSON_GetObjectItem(row, "PPL")->valuedouble : 0, 5, 0);
    CHECK(row && cJSON_IsNull(cJSON_GetObjectItem(row, "params_M")));
    cJSON_Delete(j);
    free(t);
}

static void test_formats(void)
{
    char *t = print("three", TABLE_CSV, false, NULL);
    CHECK_LINE(t, "row",
               "row,name,change,state,n,failed,PPL,PPL_sd,PPL_diverged,ACC,ACC_sd,ACC_diverged,delta,low,high,p,p_"
               "holm,exploratory,p_models,params,verdict,core_minutes,future_seen,flops,peak_memory");
    char *l = line(t, "(A),A/heads=1,");
    CHECK_HAS(l, "(A),A/heads=1,heads=1,done,3,0,5.3,0,0,29.6");
    free(l);
    CHECK_LINE(t, "(D)", "(D),D/dropout=0,dropout=0,failed,0,3,,,0,,,0,,,,,,0,,,,,,,");
    CHECK_LINE(t, "(F)", "(F),F/position=rotary,position=rotary,skipped,0,0,,,0,,,0,,,,,,0,,,,,,,");
    free(t);

    t = print("three", TABLE_JSON, false, NULL);
    cJSON *j = cJSON_Parse(t);
    CHECK(j);
    const cJSON *rows = cJSON_GetObjectItem(j, "rows"), *a = cJSON_GetArrayItem(rows, 1);
    CHECK_INT(cJSON_GetArraySize(rows), 7);
    CHECK_TEXT(cJSON_GetObjectItem(j, "headline")->valuestring, "ACC");
    CHECK_NEAR(cJSON_GetObjectItem(cJSON_GetObjectItem(cJSON_GetObjectItem(a, "metrics"), "PPL"), "mean")->valuedouble,
               5.3, 1e-12);
    CHECK_INT(cJSON_GetArraySize(
                  cJSON_GetObjectItem(cJSON_GetObjectItem(cJSON_GetObjectItem(a, "metrics"), "PPL"), "values")),
              3);
    const cJSON *acc = cJSON_GetObjectItem(cJSON_GetObjectItem(a, "metrics"), "ACC"),
                *against = cJSON_GetObjectItem(acc, "against_base");
    CHECK_NEAR(cJSON_GetObjectItem(a, "p")->valuedouble, cJSON_GetObjectItem(against, "p")->valuedouble, 0);
    CHECK_TEXT(cJSON_GetObjectItem(against, "rule")->valuestring, "crossed components");
    CHECK_TEXT(cJSON_GetObjectItem(against, "unit")->valuestring, "difference");
    CHECK_NEAR(cJSON_GetObjectItem(a, "high")->valuedouble, cJSON_GetObjectItem(against, "high")->valuedouble, 0);
    CHECK(cJSON_IsNull(cJSON_GetObjectItem(cJSON_GetArrayItem(rows, 0), "p")));
    CHECK_TEXT(cJSON_GetObjectItem(cJSON_GetArrayItem(rows, 2), "same_as")->valuestring, "base");
    CHECK_HAS(cJSON_GetObjectItem(cJSON_GetArrayItem(rows, 6), "reason")->valuestring, "even d_k");
    cJSON_Delete(j);
    free(t);

    t = print("three", TABLE_LATEX, false, NULL);
    CHECK_HAS(t, "% needs \\usepackage{booktabs}; with graphicx");
    CHECK_HAS(t, "\\label{tab:three}\n");
    CHECK_HAS(t, "\\begin{tabular}{llrrrrrrrr}\n");
    CHECK_HAS(t, "base &  & 3 & 5.00 \\ensuremath{\\pm} 0.10 & 49.8 \\ensuremath{\\pm} 2.1 &  &  &  &  & 65.1 "
                 "\\\\\n\\midrule\n(A)");
    CHECK_HAS(t, " & \\ensuremath{-}20.1");
    CHECK_HAS(t, "rotary needs an even d\\_k");
    CHECK(!strstr(t, "detectable")); /* the LaTeX table has only the notes that a paper's readers need */
    CHECK(!strstr(t, "\\bfseries")); /* the best row is 1.2 above base, which is noise */
    free(t);
    t = print("three", TABLE_MD, false, NULL);
    CHECK_HAS(t, "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    CHECK(!strstr(t, "**"));
    free(t);
}

static void change(const char *sql)
{
    sqlite3 *q;
    sqlite3_open(path, &q);
    sqlite3_busy_timeout(q, 10000);
    CHECK_INT(sqlite3_exec(q, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(q);
}

/* Sets the status of runs of experiment "one": of base's runs, or of all other rows' runs. */
static void set_status(const char *status, bool of_base)
{
    char *sql =
        xprintf("UPDATE run SET status='%s' WHERE status<>'failed' AND variant_id IN(SELECT v.id FROM variant v JOIN "
                "experiment x ON x.id=v.experiment_id WHERE x.name='one' AND v.is_base=%d)",
                status, of_base);
    change(sql);
    free(sql);
}

/* If no row has a difference, the table has no column for it, and a note says what is missing. */
static void test_no_delta(void)
{
    char *t;
    set_status("queued", true);
    t = print("one", TABLE_TEXT, false, "PPL");
    CHECK_LINE(t, "row", "row   change            n       PPL  params (M)");
    CHECK_LINE(t, "No Δ", "No Δ: base has no PPL yet.");
    CHECK(!strstr(t, "no p"));
    free(t);
    set_status("done", true);
    set_status("running", false); /* only base and the row that equals base are done; one row has failed */
    t = print("one", TABLE_TEXT, false, "PPL");
    CHECK_LINE(t, "No Δ", "No Δ: only base's runs have PPL so far.");
    CHECK(!strstr(t, "no p"));
    free(t);
    change("CREATE TABLE kept AS SELECT * FROM result");
    set_status("done", false);
    change("UPDATE result SET value=NULL WHERE run_id NOT IN(SELECT r.id FROM run r JOIN variant v ON v.id=r.variant_id"
           " WHERE v.is_base=1)");
    t = print("one", TABLE_TEXT, false, "PPL");
    CHECK_LINE(t, "No Δ", "No Δ: only base's runs have PPL.");
    CHECK(!strstr(t, "no p"));
    free(t);
    change("DELETE FROM result; INSERT INTO result SELECT * FROM kept; DROP TABLE kept");
}

/* Cells contain their texts unchanged, and LaTeX compiles with any heading. */
static void test_grid(void)
{
    char text[3000];
    grid t = {0};
    str out = {0};
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    grid_column(&t, "ε_ls", false);
    grid_column(&t, "Δ²_50%", false);
    grid_column(&t, "d_model", false);
    grid_column(&t, "F1_a_b", false);
    grid_column(&t, "~_x", false);
    grid_row(&t, false);
    grid_set(&t, 0, "%s,", text);
    grid_footnote(&t, "%s.", text);
    grid_print(&t, TABLE_CSV, &out);
    CHECK_INT(out.n, strlen("ε_ls,Δ²_50%,d_model,F1_a_b,~_x\r\n\"\",,,,,\r\n") + sizeof text - 1);
    str_clear(&out);
    grid_print(&t, TABLE_LATEX, &out);
    CHECK_HAS(out.s, "\n\\ensuremath{\\ensuremath{\\epsilon}_{\\mathrm{ls}}} & "
                     "\\ensuremath{\\ensuremath{\\Delta}\\ensuremath{^2}_{\\mathrm{50\\%}}} & "
                     "\\ensuremath{d_{\\mathrm{model}}} & F1\\_a\\_b & "
                     "\\textasciitilde{}\\_x \\\\\n");
    CHECK_HAS(out.s, "xx.\n\\end{minipage}");
    str_free(&out);
    grid_free(&t);
}

/* Every column has a description and an order in the table; names are unique in each table. */
static void test_columns(void)
{
    grid t = {0};
    columns_describe(&t);
    CHECK(t.n_rows > 40);
    for (size_t i = 0; i < t.n_rows; i++) {
        const grid_cell *c = &t.cells[i * t.n_columns];
        CHECK_THAT(*c[0].text || *c[1].text || *c[2].text, "column %zu stands nowhere: %s", i, c[5].text);
        CHECK_THAT(*c[5].text, "column %zu, %s%s%s, has no meaning", i, c[0].text, c[1].text, c[2].text);
        for (size_t k = 0; k < i; k++)
            for (size_t j = 0; j < 3; j++) {
                const grid_cell *other = &t.cells[k * t.n_columns];
                bool again = *c[j].text && same(c[j].text, other[j].text) && same(c[3].text, other[3].text);
                CHECK_THAT(!again, "two columns are called %s: %s, and %s", c[j].text, other[5].text, c[5].text);
            }
    }
    grid_free(&t);
}

/* The best row is bold if its lead over each other row exceeds the variation over seeds and sentences. */
static void test_bold(void)
{
    char *t = print("clear", TABLE_MD, false, NULL);
    CHECK_HAS(t, "| base |  | 3 | **5.00 ± 0.10** | **49.8"); /* the best value of each metric */
    free(t);
    change("CREATE TABLE kept AS SELECT * FROM result");
    /* seeds vary widely, so nothing is bold */
    change("UPDATE result SET value=value+60 WHERE metric_id=2 AND run_id=(SELECT min(id) FROM run)");
    t = print("clear", TABLE_MD, false, NULL);
    CHECK_HAS(t, "| **5.00 ± 0.10** | ");
    CHECK(!strstr(t, "** | **"));
    free(t);
    change("DELETE FROM result; INSERT INTO result SELECT * FROM kept; DROP TABLE kept");
    t = print("clear", TABLE_LATEX, false, NULL);
    CHECK_HAS(t, "\\begin{table*}"); /* spans both columns of a page */
    CHECK_HAS(t, "base &  & 3 & \\bfseries 5.00");
    CHECK(!strstr(t, "\\bfseries base"));
    free(t);
}

/* The view that users query by SQL gives the same figures. */
static void test_view(void)
{
    sqlite3 *q;
    sqlite3_stmt *s;
    sqlite3_open_v2(path, &q, SQLITE_OPEN_READONLY, NULL);
    CHECK_INT(sqlite3_prepare_v2(q, "SELECT n,PPL,PPL_sd,params_M FROM three WHERE \"row\"='base'", -1, &s, NULL),
              SQLITE_OK);
    CHECK_INT(sqlite3_step(s), SQLITE_ROW);
    CHECK_INT(sqlite3_column_int(s, 0), 3);
    CHECK_NEAR(sqlite3_column_double(s, 1), 5.0, 1e-12);
    CHECK_NEAR(sqlite3_column_double(s, 2), 0.1, 1e-12);
    CHECK_NEAR(sqlite3_column_double(s, 3), 65.130098, 1e-12);
    sqlite3_finalize(s);
    sqlite3_close(q);
}

/* Rows that ran on different devices are named; other numbers of threads do not matter. */
static void test_devices(void)
{
    char *t = print("one", TABLE_TEXT, false, NULL);
    CHECK_HAS(t, "Trained on different devices");
    CHECK_HAS(t, "Old CPU, avx2: A/heads=16\n");
    CHECK_HAS(t, "New CPU, avx512: base, A/heads=1, E/position=learned\n");
    free(t);
    t = print("four", TABLE_TEXT, false, NULL);
    CHECK(!strstr(t, "unlike devices"));
    free(t);
}

/* A row near 0 gives the others no more digits: for metrics that are better when larger, the best row's size
 * decides. */
static void test_near_zero(void)
{
    change("UPDATE result SET value=0.0612 WHERE metric_id=0 AND run_id IN(SELECT r.id FROM run r JOIN variant v ON "
           "v.id=r.variant_id WHERE "
           "v.name='A/heads=1')");
    char *t = print("every", TABLE_TEXT, false, "token_accuracy");
    char *l = line(t, "(A)   heads=1 ");
    CHECK_HAS(l, " 0.1");
    CHECK(!strstr(l, "0.06"));
    free(l);
    l = line(t, "base");
    CHECK_HAS(l, "50.0");
    CHECK(!strstr(l, "50.00"));
    free(l);
    free(t);
}

static void test_words(void)
{
    char *t = print("thre", TABLE_TEXT, false, NULL);
    CHECK_HAS(e.text, "found no experiment \"thre\"; did you mean \"three\"?");
    free(t);
    t = print("three", TABLE_TEXT, false, "PLL");
    CHECK_HAS(e.text, "found no metric \"PLL\"; did you mean \"PPL\"?");
    free(t);
}

static void test_significance(void)
{
    /* Six sentences, all better: of 64 swaps two differ as much, so p is near 2/64. */
    double a[12], b[12];
    for (int i = 0; i < 6; i++) a[2 * i] = 8 + i % 2, b[2 * i] = 3 + i % 3, a[2 * i + 1] = b[2 * i + 1] = 10;
    read_result x = {.metric = "ACC", .stats = {6, 2, a}}, y = {.metric = "ACC", .stats = {6, 2, b}};
    result_pair pair = {.a = &x, .b = &y}, same_pair = {.a = &x, .b = &x};
    CHECK_NEAR(paired_p(&pair, 1, 20000), 2.0 / 64, 0.004);
    CHECK_NEAR(paired_p(&same_pair, 1, 100), 1, 0);
    x.metric = y.metric = "PPL";
    CHECK_NEAR(paired_p(&pair, 1, 20000), 2.0 / 64, 0.004);
    y.stats.n = 5;
    CHECK(isnan(paired_p(&pair, 1, 100)));
    CHECK(isnan(paired_p(NULL, 0, 100)));
    x.metric = "odd", x.stats.width = y.stats.width = 4, x.stats.n = y.stats.n = 3;
    CHECK(isnan(paired_p(&pair, 1, 100))); /* no aggregation has four columns */
}

/* Every task has token accuracy, but the difference is in the task's own metric, whichever the database stored
 * first. */
static void test_headline(void)
{
    char *t = print("every", TABLE_JSON, false, NULL);
    cJSON *j = cJSON_Parse(t);
    CHECK(strstr(t, "token_accuracy"));
    CHECK_TEXT(cJSON_GetObjectItem(j, "headline")->valuestring, "ACC");
    cJSON_Delete(j);
    free(t);
}

int main(void)
{
    char folder[] = "/tmp/ablate-report-XXXXXX", command[128];
    if (!mkdtemp(folder)) return 1;
    path = path_join(folder, "results.db");
    db_options o = {.path = path};
    db *d = db_open(&o, &e);
    CHECK_TEXT(e.text, "");
    static const struct {
        const char *name, *paper;
        size_t seeds;
    } list[] = {{"clear", NULL, 3},    {"three", NULL, 3}, {"table3-toy", NULL, 1},
                {"four", "table4", 1}, {"every", NULL, 1}, {"one", NULL, 1}};
    for (size_t i = 0; i < LENGTH(list); i++)
        CHECK_INT(fixture_fill(d, list[i].name, list[i].paper, list[i].seeds, &e), 0);
    db_close(d);
    /* "clear": keeps only base and a row that is far worse. */
    sqlite3 *q;
    sqlite3_open(path, &q);
    sqlite3_exec(q, "DELETE FROM variant WHERE experiment_id=1 AND name NOT IN('base','A/heads=1')", NULL, NULL, NULL);
    sqlite3_exec(q,
                 "PRAGMA foreign_keys=ON; DELETE FROM run WHERE variant_id NOT IN(SELECT id FROM variant);"
                 "DELETE FROM alias WHERE variant_id=(SELECT id FROM variant WHERE experiment_id=1 AND is_base)",
                 NULL, NULL, NULL);
    sqlite3_exec(q,
                 "UPDATE attempt SET device='New CPU, 2 threads, avx512';"
                 "UPDATE attempt SET device='New CPU, 16 threads, avx512' WHERE run_id IN(SELECT r.id FROM run r JOIN "
                 "variant v ON v.id=r.variant_id WHERE v.name='A/heads=1');"
                 "UPDATE attempt SET device='Old CPU, 1 thread, avx2' WHERE run_id IN(SELECT r.id FROM run r JOIN "
                 "variant v ON v.id=r.variant_id"
                 " WHERE v.name='A/heads=16' AND v.experiment_id=6)",
                 NULL, NULL, NULL);
    sqlite3_exec(q,
                 "INSERT INTO metric(id,name,direction) VALUES(0,'token_accuracy','max');"
                 "INSERT INTO result(run_id,metric_id,value) SELECT run_id,0,50 FROM results WHERE experiment='every' "
                 "AND metric='ACC'",
                 NULL, NULL, NULL);
    sqlite3_close(q);
    r = reader_open(&o, &e);
    CHECK_TEXT(e.text, "");
    if (r) {
        test_text();
        test_headline();
        test_paper();
        test_formats();
        test_no_delta();
        test_bold();
        test_view();
        test_devices();
        test_words();
        test_near_zero();
    }
    test_grid();
    test_columns();
    test_significance();
    reader_close(r);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command)) puts("could not clean up");
    free(path);
    return test_end();
}
