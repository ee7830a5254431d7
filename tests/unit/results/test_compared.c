/* Stored comparisons with base, and trials: written, read, out of date after new results, exported and imported, and
 * stored in an older database. */
#include "fixture.h"
#include <glob.h>
#include <unistd.h>
#include <sys/wait.h>
#include <math.h>
#include <stdlib.h>

static err e;
static void finish_one(db *d, const char *experiment, double bleu)
{
    db_claim c;
    CHECK_INT(db_claim_next(d, experiment, NULL, "me", 1000, &c, &e), 1);
    db_result x = {.metric = "BLEU", .direction = "max", .value = bleu, .step = 10};
    CHECK_OK(db_put_result(d, &c, &x, &e));
    CHECK_OK(db_finish(d, &c, DB_DONE, 0, -1, NULL, &e));
    db_claim_free(&c);
}

static char *stale_results(const db_options *o, size_t expected)
{
    arena a = {0};
    read_stale *list = NULL;
    size_t n = 0;
    reader *r = reader_open(o, &e);
    CHECK_OK(reader_stale(r, NULL, &a, &list, &n, &e));
    CHECK_INT(n, expected);
    char *text = n ? xstrdup(list[0].results) : NULL;
    arena_free(&a);
    reader_close(r);
    return text;
}

static double one_number(const char *path, const char *sql)
{
    sqlite3 *q;
    sqlite3_stmt *s = NULL;
    double v = NAN;
    sqlite3_open_v2(path, &q, SQLITE_OPEN_READONLY, NULL);
    CHECK_INT(sqlite3_prepare_v2(q, sql, -1, &s, NULL), SQLITE_OK);
    if (s && sqlite3_step(s) == SQLITE_ROW && sqlite3_column_type(s, 0) != SQLITE_NULL) v = sqlite3_column_double(s, 0);
    sqlite3_finalize(s);
    sqlite3_close(q);
    return v;
}

static size_t old_verdicts(const db_options *o)
{
    arena a = {0};
    read_pair *old = NULL;
    size_t n = 0;
    reader *r = reader_open(o, &e);
    CHECK_OK(reader_old_verdicts(r, "toy", &a, &old, &n, &e));
    arena_free(&a);
    reader_close(r);
    return n;
}

static const db_comparison compared = {.row = "A/heads=1",
                                       .base = "base",
                                       .metric = "BLEU",
                                       .unit = "difference",
                                       .n = 3,
                                       .n_base = 5,
                                       .tests = 2,
                                       .delta = -1.5,
                                       .low = -2,
                                       .high = -1,
                                       .p = 0.01,
                                       .p_adjusted = 0.02,
                                       .rule = "crossed components",
                                       .variance_seeds = 1,
                                       .variance_sentences = 2,
                                       .df = 3.5,
                                       .seed_sd = 4,
                                       .least_detectable = 5,
                                       .p_models = 0.6,
                                       .p_outside_base = 0.7,
                                       .p_permutation = 0.8,
                                       .beats_base = 0.1,
                                       .beats_base_low = 0.05,
                                       .beats_base_high = 0.4,
                                       .verdict = "worse"};

static void test_comparisons(db *d, const db_options *o)
{
    char *first = stale_results(o, 1), *second;
    CHECK_OK(db_put_comparisons(d, "toy", first, &compared, 1, &e));
    free(stale_results(o, 0));
    CHECK_NEAR(one_number(o->path, "SELECT delta FROM paired WHERE experiment='toy' AND row='A/heads=1' AND "
                                   "metric='BLEU' AND rule='crossed components'"),
               -1.5, 0);
    static const struct {
        const char *column;
        double value;
    } columns[] = {{"n", 3},
                   {"n_base", 5},
                   {"tests", 2},
                   {"low", -2},
                   {"high", -1},
                   {"p", 0.01},
                   {"p_adjusted", 0.02},
                   {"variance_seeds", 1},
                   {"variance_sentences", 2},
                   {"df", 3.5},
                   {"seed_sd", 4},
                   {"least_detectable", 5},
                   {"p_models", 0.6},
                   {"p_outside_base", 0.7},
                   {"p_permutation", 0.8},
                   {"beats_base", 0.1},
                   {"beats_base_low", 0.05},
                   {"beats_base_high", 0.4},
                   {"verdict='worse' AND base='base' AND base_hash='h0' AND refused IS NULL", 1}};
    for (size_t i = 0; i < LENGTH(columns); i++) {
        char *sql = xprintf("SELECT %s FROM paired", columns[i].column);
        CHECK_NEAR(one_number(o->path, sql), columns[i].value, 0);
        free(sql);
    }
    db_claim c; /* a run that fails leaves no result, and does not change its row's p */
    CHECK_INT(db_claim_next(d, "toy", NULL, "me", 1000, &c, &e), 1);
    CHECK_OK(db_finish(d, &c, DB_FAILED, 1, -1, "why", &e));
    db_claim_free(&c);
    free(stale_results(o, 1));
    finish_one(d, "toy", 26);
    second = stale_results(o, 1);
    CHECK(!same(first, second));
    CHECK_OK(db_put_comparisons(d, "toy", second, NULL, 0, &e)); /* replaces all */
    CHECK(isnan(one_number(o->path, "SELECT delta FROM paired")));
    CHECK_INT(db_put_comparisons(d, "nope", "x", NULL, 0, &e), -1);
    CHECK_HAS(e.text, "not in the database");
    e.text[0] = 0;
    /* a row with another base stores that base's name and hash, and its verdict is up to date */
    db_comparison turned = compared;
    turned.row = "base", turned.base = "A/heads=1";
    CHECK_OK(db_put_comparisons(d, "toy", second, &turned, 1, &e));
    CHECK_NEAR(one_number(o->path,
                          "SELECT count(*) FROM paired p JOIN variant v ON v.name=p.base AND"
                          " v.config_hash=p.base_hash AND v.archived=0 WHERE p.row='base' AND p.base='A/heads=1'"),
               1, 0);
    CHECK_INT(old_verdicts(o), 0);
    /* its base has changed: the stored verdict is out of date */
    CHECK_OK(db_put_comparisons(d, "toy", second, &compared, 1, &e));
    sqlite3 *q;
    sqlite3_open(o->path, &q);
    CHECK_INT(sqlite3_exec(q, "UPDATE comparison SET base_hash='old'", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(q);
    arena a = {0};
    read_pair *old = NULL;
    size_t n = 0;
    reader *r = reader_open(o, &e);
    CHECK_OK(reader_old_verdicts(r, "toy", &a, &old, &n, &e));
    CHECK_INT(n, 1);
    if (n) CHECK_TEXT(old[0].key, "A/heads=1");
    if (n) CHECK_TEXT(old[0].value, "old");
    arena_free(&a);
    reader_close(r);
    free(first);
    free(second);
}

static void check_trials(const db_options *o, const char *experiment)
{
    arena a = {0};
    db_trial *t = NULL;
    size_t n = 0;
    reader *r = reader_open(o, &e);
    CHECK_OK(reader_trials(r, experiment, &a, &t, &n, &e));
    CHECK_INT(n, 2);
    if (n == 2) {
        CHECK_TEXT(t[1].row, "base");
        CHECK_TEXT(t[1].settings, "{\"lr\":0.001}");
        CHECK_TEXT(t[1].outcome, "chosen");
        CHECK_NEAR(t[1].value, 5.5, 0);
        CHECK(isnan(t[0].value) && isnan(t[0].seconds));
        CHECK_INT(t[1].steps, 100);
        CHECK_INT(t[1].seed, 1001);
    }
    read_experiment x;
    CHECK_INT(reader_experiment(r, experiment, READ_VALUES, &a, &x, &e), 0);
    CHECK_TEXT(x.analysis, "{\"criterion\":{\"metric\":\"BLEU\"}}");
    arena_free(&a);
    reader_close(r);
}

static void test_trials(db *d, const db_options *o, const char *folder)
{
    const db_trial trials[] = {{.row = "base",
                                .n = 2,
                                .rung = 0,
                                .settings = "{\"lr\":0.001}",
                                .seed = 1001,
                                .steps = 100,
                                .metric = "PPL",
                                .value = 5.5,
                                .seconds = 3,
                                .flops = 1e9,
                                .outcome = "chosen"},
                               {.row = "base",
                                .n = 1,
                                .rung = 0,
                                .settings = "{\"lr\":1}",
                                .seed = 1001,
                                .steps = 100,
                                .metric = "PPL",
                                .value = NAN,
                                .seconds = NAN,
                                .flops = NAN,
                                .outcome = "failed"}};
    CHECK_OK(db_put_trials(d, "toy", trials, LENGTH(trials), &e));
    check_trials(o, "toy");
    char *file = path_join(folder, "toy.json"), *copy = path_join(folder, "copy.db");
    str text = {0};
    CHECK_OK(db_export(d, "toy", &text, &(db_export_options){.points = 10}, &e));
    CHECK_OK(file_write(file, text.s, text.n, &e));
    str_free(&text);
    db_options other = {.path = copy};
    db *c = db_open(&other, &e);
    CHECK_OK(db_import(c, file, false, NULL, &e));
    CHECK_OK(db_import(c, file, false, NULL, &e)); /* importing again changes nothing */
    db_close(c);
    check_trials(&other, "toy" DB_RECORDED);
    free(file);
    free(copy);
}

/* Four processes open an old database at once: one complete copy is made, and no other file remains. */
static void test_at_once(const char *path, const char *old)
{
    char *copied = xprintf("%s.again", path), *pattern = xprintf("%s.again.version*", path), *one = NULL;
    str bytes = {0};
    CHECK_OK(file_read(old, &bytes, &e));
    CHECK_OK(file_write(copied, bytes.s, bytes.n, &e));
    for (int i = 0; i < 4; i++)
        if (!fork()) {
            db *d = db_open(&(db_options){.path = copied}, &e);
            db_close(d);
            _exit(d ? 0 : 1);
        }
    for (int i = 0, status; i < 4; i++) {
        CHECK(wait(&status) > 0);
        CHECK_INT(status, 0);
    }
    glob_t found;
    CHECK_INT(glob(pattern, 0, NULL, &found), 0);
    CHECK_INT(found.gl_pathc, 1);
    one = xprintf("%s.version1.bak", copied);
    CHECK_TEXT(found.gl_pathv[0], one);
    CHECK_NEAR(one_number(one, "PRAGMA user_version"), 1, 0);
    CHECK_NEAR(one_number(one, "SELECT count(*) FROM result"), 2, 0);
    globfree(&found);
    str_free(&bytes);
    free(one), free(copied), free(pattern);
}

static void drop_views(sqlite3 *q)
{
    sqlite3_stmt *s;
    str drop = {0};
    CHECK_INT(sqlite3_prepare_v2(q, "SELECT group_concat('DROP VIEW '||name,';') FROM sqlite_master WHERE type='view'",
                                 -1, &s, NULL),
              SQLITE_OK);
    if (sqlite3_step(s) == SQLITE_ROW) str_add(&drop, (const char *)sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
    CHECK_INT(sqlite3_exec(q, str_text(&drop), NULL, NULL, NULL), SQLITE_OK);
    str_free(&drop);
}

/* A database of version 1 gets the new tables and keeps its contents. */
static void test_older(const db_options *o)
{
    static const char old[] =
        "DROP TABLE comparison; DROP TABLE compared; DROP TABLE trial; DROP TABLE meta; DROP INDEX result_value;"
        "ALTER TABLE experiment DROP COLUMN analysis; ALTER TABLE experiment DROP COLUMN view_name;"
        "ALTER TABLE variant DROP COLUMN exploratory;"
        "DELETE FROM paper_table; UPDATE experiment SET created_at=1750000000.5;"
        "ALTER TABLE variant RENAME COLUMN group_name TO grp; ALTER TABLE variant RENAME COLUMN place TO ord;"
        "ALTER TABLE alias RENAME COLUMN group_name TO grp; ALTER TABLE alias RENAME COLUMN place TO ord;"
        "ALTER TABLE run RENAME COLUMN place TO ord; ALTER TABLE metric RENAME COLUMN direction TO goal;"
        "ALTER TABLE result DROP COLUMN unit; ALTER TABLE result DROP COLUMN aggregation;"
        "ALTER TABLE result RENAME COLUMN checkpoint TO how; ALTER TABLE point RENAME COLUMN seconds TO t;"
        "ALTER TABLE published RENAME COLUMN table_name TO tbl; ALTER TABLE published RENAME COLUMN place TO ord;"
        "ALTER TABLE published RENAME COLUMN col_place TO col_ord;"
        "INSERT INTO point(run_id,metric_id,step,value,t) SELECT r.id,m.id,7,0.5,1750000060.75 FROM run r, metric m "
        "LIMIT 1;"
        /* version 1 made a view for each experiment, under the experiment's name */
        "UPDATE experiment SET name='runs'; CREATE VIEW runs AS SELECT 1 x; PRAGMA user_version=1";
    sqlite3 *q;
    sqlite3_open(o->path, &q);
    drop_views(q);
    CHECK_INT(sqlite3_exec(q, old, NULL, NULL, NULL), SQLITE_OK);
    CHECK_TEXT(sqlite3_errmsg(q), "not an error");
    sqlite3_close(q);
    db *d = db_open(o, &e);
    CHECK_TEXT(e.text, "");
    db_close(d);
    CHECK_NEAR(one_number(o->path, "SELECT count(*) FROM paired"), 0, 0);
    CHECK_NEAR(one_number(o->path, "SELECT count(*) FROM result"), 2, 0);
    CHECK_NEAR(one_number(o->path, "PRAGMA user_version"), DB_VERSION, 0);
    CHECK_NEAR(one_number(o->path, "SELECT seconds FROM point WHERE step=7"), 60, 0);
    CHECK_NEAR(one_number(o->path, "SELECT count(run) FROM runs"),
               one_number(o->path, "SELECT count(*) FROM run WHERE archived=0"), 0);
    CHECK_NEAR(one_number(o->path, "SELECT count(row)>0 FROM runs_2"), 1, 0);
    CHECK_NEAR(one_number(o->path, "SELECT count(*) FROM published_table3"), 20, 0);
    char *backup = xprintf("%s.version1.bak", o->path);
    CHECK(file_exists(backup));
    test_at_once(o->path, backup);
    free(backup);
}

int main(void)
{
    char *folder = fixture_folder(), *path = path_join(folder, "results.db");
    db_options o = {.path = path};
    db *d = db_open(&o, &e);
    db_frozen *runs = NULL;
    size_t n = 0;
    db_experiment_spec x = fixture_spec("toy");
    x.analysis = "{\"criterion\":{\"metric\":\"BLEU\"}}";
    log_to(NULL, LOG_ERROR);
    CHECK_OK(db_freeze(d, &x, &runs, &n, &e));
    free(runs);
    finish_one(d, "toy", 25);
    test_comparisons(d, &o);
    test_trials(d, &o, folder);
    db_close(d);
    test_older(&o);
    free(path);
    fixture_remove(folder);
    return test_end();
}
