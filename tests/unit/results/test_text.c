/* Text files: published tables, exported experiments, a run as INI, statistics as bytes. */
#include "fixture.h"
#include "lab/results/internal.h"
#include <time.h>

static char *folder, *path;
static err e;

static void test_stats(void)
{
    double v[] = {0, -1, 0.5, 127, 128, 1e300, 1e15, -123456789, -0.25};
    db_stats in = {3, 3, v}, out;
    str bytes = {0}, text = {0}, back = {0};
    arena a = {0};
    stats_encode(&in, &bytes);
    base64_encode(bytes.s, bytes.n, &text);
    CHECK_INT(base64_decode(text.s, &back), 0);
    CHECK_INT(back.n, bytes.n);
    CHECK_OK(stats_decode(back.s, back.n, &a, &out, &e));
    CHECK_INT(out.n, 3);
    CHECK_INT(out.width, 3);
    for (int i = 0; i < 9; i++) CHECK_NEAR(out.value ? out.value[i] : NAN, v[i], 0);
    for (size_t n = 0; n < bytes.n; n++) CHECK_INT(stats_decode(bytes.s, n, &a, &out, NULL), -1);
    CHECK_INT(base64_decode("abc", &back), -1);
    CHECK_INT(base64_decode("ab=c", &back), -1);
    CHECK_INT(base64_decode("a!cd", &back), -1);
    CHECK_OK(base64_decode("YWI=", &back));
    CHECK_TEXT(back.s, "ab");
    str_free(&bytes), str_free(&text), str_free(&back);
    arena_free(&a);
}

static void test_published(void)
{
    char *file = path_join(folder, "p.db");
    db_options o = {.path = file};
    arena a = {0};
    read_published t;
    e.text[0] = 0;
    CHECK(!reader_open(&o, &e));
    CHECK_HAS(e.text, "no database at ");
    CHECK(!file_exists(file));
    e.text[0] = 0;
    db_close(db_open(&o, &e));
    CHECK_TEXT(e.text, "");
    CHECK_SQL(file,
              "SELECT printed||' '||typeof(value) FROM published WHERE table_name='table3' AND row='A/heads=4' AND "
              "col='PPL'",
              "5.00 real");
    CHECK_SQL(file, "SELECT group_concat(BLEU,' ') FROM published_table3 WHERE block='(A)'", "24.9 25.5 25.8 25.4");
    CHECK_SQL(file, "SELECT count(*)||' '||sum(\"BLEU en-de\">26) FROM published_table2", "10 5");
    CHECK_SQL(file, "SELECT count(*) FROM published_table4", "12");
    CHECK_OK(published_read("table1", &a, &t, &e));
    CHECK_INT(t.n_rows, 4);
    CHECK_INT(t.n_columns, 5);
    CHECK_TEXT(t.cells[2 * 5 + 2], "O(k · n · d²)");
    CHECK_INT(published_read("table3", &a, &t, &e), 0);
    CHECK_INT(t.n_rows, 20);
    CHECK_TEXT(t.cells[19 * t.n_columns], "big");
    CHECK_TEXT(t.columns[t.n_columns - 2], "BLEU");
    CHECK(t.is_result[t.n_columns - 2] && !t.is_result[2]);
    CHECK_INT(published_read("table9", &a, &t, &e), 1);
    arena_free(&a);
    free(file);
}

static void test_bad_published(void)
{
    static const char *const bad[][2] = {{"row\tA\nx\t1\t2\n", "line 2: found 3 cells, expected 2"},
                                         {"row\tA\n\t1\n", "line 2: the row's key is empty"},
                                         {"row\tA\n", "found no rows"}};
    arena a = {0};
    read_published t;
    for (size_t i = 0; i < LENGTH(bad); i++) {
        e.text[0] = 0;
        CHECK_INT(published_parse("t", bad[i][0], &a, &t, &e), -1);
        CHECK_HAS(e.text, bad[i][1]);
        CHECK_HAS(e.text, "published table t: ");
    }
    arena_free(&a);
}

/* Fills an experiment: one run done, one diverged, one failed, the rest queued. */
static void fill(db *d)
{
    double v[] = {1, 2, 3, 4.5, 5, 6};
    db_frozen *runs;
    size_t n;
    db_claim c;
    db_experiment_spec x = fixture_spec("toy");
    CHECK_OK(db_freeze(d, &x, &runs, &n, &e));
    free(runs);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(db_claim_next(d, "toy", NULL, "me", 100, &c, &e), 1);
        db_provenance p = DB_PROVENANCE_UNKNOWN;
        p.host = "host \"quoted\"", p.git_commit = "abc", p.parameters = 123, p.flops_step = 1.5e9;
        CHECK_OK(db_attempt(d, &c, &p, &e));
        for (int k = 1; k <= 1000; k++) {
            db_point point = {"loss", k, 10.0 / k};
            if (k <= 10 || i == 0) CHECK_OK(db_points(d, &c, &point, 1, &e));
        }
        db_result r = {.metric = "PPL",
                       .direction = "min",
                       .value = i == 1 ? NAN : 4.5,
                       .step = 1000,
                       .how = "average",
                       .signature = "sig|1",
                       .stats = {3, 2, v}};
        if (i < 2) CHECK_OK(db_put_result(d, &c, &r, &e));
        CHECK_OK(db_put_tag(d, &c, "k", "v", &e));
        CHECK_OK(db_finish(d, &c, i == 2 ? DB_FAILED : DB_DONE, i == 2, -1, i == 2 ? "it broke\n" : NULL, &e));
        db_claim_free(&c);
    }
}

static void db_sql(const char *path, const char *sql)
{
    sqlite3 *q = NULL;
    CHECK_INT(sqlite3_open(path, &q), SQLITE_OK);
    CHECK_INT(sqlite3_exec(q, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(q);
}

static int export_to(db *d, const char *experiment, const char *file, size_t points, err *why)
{
    str text = {0};
    int rc = db_export(d, experiment, &text, &(db_export_options){.points = points}, why);
    if (!rc) rc = file_write(file, text.s, text.n, why);
    str_free(&text);
    return rc;
}

/* A metric that is a curve in the first run and a result in the second: the record keeps its order among the
 * results. */
static void check_order_of_metrics(db *d, const char *json)
{
    char *path3 = path_join(folder, "recorded/third.db"), *json3 = path_join(folder, "toy3.json");
    db_result loss = {.metric = "loss", .direction = "min", .value = 1, .step = 1000};
    str a = {0}, b = {0};
    CHECK_OK(db_put_beside(d, 2, &loss, 1, NULL, 0, &e));
    CHECK_OK(export_to(d, "toy", json, 100, &e));
    db *third = db_open(&(db_options){.path = path3}, &e);
    CHECK_OK(db_import(third, json, false, NULL, &e));
    CHECK_OK(export_to(third, "toy", json3, 100, &e));
    db_close(third);
    CHECK_OK(file_read(json, &a, &e));
    CHECK_OK(file_read(json3, &b, &e));
    CHECK_HAS(str_text(&a), "\"metrics\":[\"loss\",\"PPL\"]");
    CHECK_TEXT(str_text(&b), str_text(&a));
    str_free(&a), str_free(&b);
    free(path3), free(json3);
}

static void test_export(void)
{
    char *other = path_join(folder, "recorded/other.db"), *json = path_join(folder, "recorded/toy.json"),
         *json2 = path_join(folder, "toy2.json"), *dir = path_join(folder, "recorded");
    str a = {0}, b = {0};
    size_t n;
    db_options o = {.path = path};
    CHECK_OK(make_folders(dir, &e));
    db *d = db_open(&o, &e);
    fill(d);
    CHECK_OK(export_to(d, "toy", json, 100, &e));
    CHECK_INT(export_to(d, "nothing", json2, 100, &e), -1);
    CHECK_HAS(e.text, "not in the database");
    CHECK_OK(db_import(d, json, false, &n, &e)); /* adds to the runs in this database; importing again adds nothing */
    CHECK_INT(n, 3);
    CHECK_OK(db_import(d, json, false, &n, &e));
    CHECK_INT(n, 0);
    db_close(d);

    o = (db_options){.path = other, .recorded = dir};
    e.text[0] = 0;
    d = db_open(&o, &e); /* a new database imports the recorded runs */
    CHECK_TEXT(e.text, "");
    CHECK_OK(db_import(d, json, false, &n, &e));
    CHECK_OK(export_to(d, "toy", json2, 100, &e));
    CHECK_OK(file_read(json, &a, &e));
    CHECK_OK(file_read(json2, &b, &e));
    CHECK_TEXT(str_text(&b), str_text(&a));
    check_order_of_metrics(d, json2);
    CHECK_NEAR(fixture_number(other, "SELECT count(*) FROM point WHERE run_id=1"), 100, 0);
    CHECK_SQL(other,
              "SELECT group_concat(step,' ') FROM (SELECT min(step) step FROM point WHERE run_id=1 UNION ALL SELECT"
              " max(step) FROM point WHERE run_id=1)",
              "1 1000");
    CHECK_SQL(other, "SELECT host||parameters||flops_step FROM attempt WHERE run_id=1",
              "host \"quoted\"1231500000000.0");
    CHECK_SQL(other, "SELECT value||is_swept FROM param WHERE key='heads' AND is_swept", "11");
    CHECK_SQL(other, "SELECT value FROM param WHERE key='rotary.base'", "10000");
    CHECK_SQL(other, "SELECT n||' '||ifnull(PPL,'none') FROM toy_recorded WHERE name='A/heads=1'", "0 none");
    CHECK_SQL(other, "SELECT n||' '||PPL FROM toy_recorded WHERE name='A/heads=8'", "1 4.5");
    CHECK_SQL(other, "SELECT group_concat(recorded,'') FROM run", "111");
    db_frozen *runs;
    db_experiment_spec x = fixture_spec("toy");
    CHECK_OK(db_freeze(d, &x, &runs, &n, &e)); /* recorded runs are not taken for the user's own runs */
    for (size_t i = 0; i < n; i++) CHECK_INT(runs[i].status, DB_QUEUED);
    free(runs);
    CHECK_SQL(other, "SELECT group_concat(name,' ') FROM (SELECT name FROM experiment ORDER BY name)",
              "toy toy.recorded");
    CHECK_SQL(other, "SELECT count(*) FROM attempt WHERE log_path IS NOT NULL", "0");
    db_sql(
        other,
        "UPDATE experiment SET name='was' WHERE name='toy'; UPDATE experiment SET name='toy' WHERE name='toy.recorded';"
        "UPDATE experiment SET view_name=NULL; DROP VIEW toy_recorded");
    /* nor in a database of an older version, where they had the experiment's own name */
    CHECK_OK(db_freeze(d, &x, &runs, &n, &e));
    for (size_t i = 0; i < n; i++) CHECK_INT(runs[i].status, DB_QUEUED);
    CHECK_SQL(other, "SELECT count(*) FROM run WHERE recorded", "0");
    free(runs);
    CHECK_OK(fixture_remove_experiment(d, other, "was", &e));

    /* A damaged file is refused with line and column, and changes nothing. */
    static const char *const cuts[] = {"\"seed\":1",
                                       "\"config\":{",
                                       "\"ablate_export\":2",
                                       "\"ablate_export\":2",
                                       "\"hash\":\"h0\"",
                                       "\"stats\":[",
                                       "\"stats\":[0,",
                                       "\"columns\":[",
                                       "\"seed\":1",
                                       "\"status\":\"done\"",
                                       "\"n\":1,",
                                       "\"seed\":1",
                                       "\"step\":",
                                       "\"name\":\"toy\"",
                                       "\"name\":\"toy\"",
                                       "\"name\":\"A/heads=1\"",
                                       "\"note\":",
                                       "\"is_base\":0",
                                       "\"results\":[",
                                       "\"ended_at\":",
                                       "\"started_at\":",
                                       "\"created_at\":",
                                       "\"hash\":\"h0\"",
                                       "\"config\":{"};
    static const char *const puts[] = {"\"seed\":,",
                                       "\"konfig\":{",
                                       "\"ablate_export\":3",
                                       "\"ablate_export\":0",
                                       "\"hash\":\"hX\"",
                                       "\"stats\":\"!\",\"was\":[",
                                       "\"stats\":[99,",
                                       "\"columns\":[1,",
                                       "\"seed\":1e300",
                                       "\"status\":\"running\"",
                                       "\"n\":-1,",
                                       "\"seed\":1.5",
                                       "\"step\":-2",
                                       "\"name\":\"../toy\"",
                                       "\"name\":\"t\\u001b[2J\"",
                                       "\"name\":\"A\\nbase  9.9\"",
                                       "\"note\":\"\\u009b31m\",\"nothing\":",
                                       "\"is_base\":1",
                                       "\"results\":[],\"nothing\":[",
                                       "\"ended_at\":1e300,\"nothing\":",
                                       "\"started_at\":-1,\"nothing\":",
                                       "\"created_at\":1e300,\"nothing\":",
                                       "\"hash\":\"../h\"",
                                       "\"config\":{\"list\":[1],"};
    static const char *const said[] = {"toy2.json:",
                                       "found no object \"config\"",
                                       "\"ablate_export\": found 3, expected 2 or less",
                                       "found no \"ablate_export\"",
                                       "which no variant has",
                                       "metric \"PPL\": \"stats\" is not base64",
                                       "metric \"PPL\": found a column that is none of the record",
                                       "metric \"PPL\": column 0: found neither a text",
                                       "\"seed\": found 1e+300, expected a whole number from 0 to 4294967295",
                                       "found a run with the status \"running\", expected done, failed or skipped",
                                       "\"n\": found -1, expected a whole number from 1",
                                       "\"seed\": found 1.5",
                                       "\"step\": found -2",
                                       "\"name\": found \"../toy\", expected only letters, digits",
                                       "\"name\": found \"t\\x1b[2J\", expected no control characters",
                                       "\"name\": found \"A\\x0abase  9.9\", expected",
                                       "\"note\": found \"\\xc2\\x9b31m\", expected",
                                       "found 2 variants with \"is_base\": 1, expected one",
                                       "found a run that is done and has no results",
                                       "\"ended_at\": found 1e+300, expected seconds since 1970",
                                       "\"started_at\": found -1, expected seconds since 1970",
                                       "\"created_at\": found 1e+300, expected seconds since 1970",
                                       "\"hash\": found \"../h\", expected a configuration's sha256",
                                       "\"list\": found a list, expected a value"};
    CHECK_OK(fixture_remove_experiment(d, other, "toy", &e));
    for (size_t i = 0; i < LENGTH(cuts); i++) {
        char *at = strstr(a.s, cuts[i]);
        CHECK(at);
        if (!at) continue;
        str_clear(&b);
        str_addn(&b, a.s, (size_t)(at - a.s));
        str_add(&b, puts[i]);
        str_add(&b, at + strlen(cuts[i]));
        CHECK_OK(file_write(json2, b.s, b.n, &e));
        CHECK_INT(db_import(d, json2, false, &n, &e), -1);
        CHECK_HAS(e.text, said[i]);
        CHECK_NEAR(fixture_number(other, "SELECT count(*) FROM run"), 0, 0);
    }
    db_close(d);
    str_free(&a), str_free(&b);
    free(other), free(json), free(json2), free(dir);
}

static void test_ini(void)
{
    str out = {0};
    db_options o = {.path = path};
    reader *r = reader_open(&o, &e);
    e.text[0] = 0;
    CHECK_INT(reader_find_run(r, "toy/A/heads=1@2", &e), 5);
    CHECK_INT(reader_find_run(r, "toy/A/heads=8", &e), 1);
    CHECK_INT(reader_find_run(r, "2", &e), 2);
    CHECK_INT(reader_find_run(r, "77", &e), -1);
    CHECK_HAS(e.text, "run 77: not in");
    e.text[0] = 0;
    CHECK_INT(reader_find_run(r, "toy", &e), -1);
    CHECK_TEXT(e.text, "run \"toy\": this is an experiment; name one of its rows, such as toy/base");
    static const char *const wrong[][2] = {
        {"tyo/base", "run \"tyo/base\": not in the database: no experiment \"tyo\"; did you mean toy?"},
        {"toy/bsae", "run \"toy/bsae\": not in the database: toy has no row \"bsae\"; did you mean toy/base?"},
        {"toy/zzzzzzzz", "run \"toy/zzzzzzzz\": not in the database: toy has no row \"zzzzzzzz\"; its rows: base, "},
        {"toy/base@99", "run \"toy/base@99\": not in the database: toy/base has the seeds "},
        {"bsae", "run \"bsae\": found no such row, expected a run's number, EXPERIMENT/ROW or EXPERIMENT/ROW@SEED; did "
                 "you mean base?"},
        {"toy/base@x", "toy has no row \"base@x\"; did you mean toy/base?"}};
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        e.text[0] = 0;
        CHECK_INT(reader_find_run(r, wrong[i][0], &e), -1);
        CHECK_HAS(e.text, wrong[i][1]);
    }
    e.text[0] = 0;
    CHECK_INT(reader_find_run(r, "base", &e),
              reader_find_run(r, "toy/base", &e)); /* no other experiment has this row */
    CHECK_INT(reader_find_run(r, "A/heads=1@2", &e), 5);
    CHECK_TEXT(e.text, "");
    CHECK_OK(reader_run_ini(r, 5, &out, &e));
    CHECK_TEXT(out.s, "# run 5: row A/heads=1 of experiment toy\n[experiment]\nname = toy-run5\nseeds = 2\n\n[base]\n"
                      "heads = 1\ndropout = 0.1\nrotary.base = 10000\n");
    str_clear(&out);
    CHECK_OK(reader_run_ini(r, 1, &out, &e));
    CHECK_HAS(out.s, "# commit abc\n");
    CHECK_HAS(out.s, "position = sinusoid\nbias = true\n");
    reader_close(r);
    str_free(&out);
}

static void test_read(void)
{
    arena a = {0};
    read_experiment x;
    read_detail run;
    read_curve *curves;
    read_listed *list;
    size_t n;
    db_options o = {.path = path};
    reader *r = reader_open(&o, &e);
    CHECK_OK(reader_experiment(r, NULL, READ_STATS, &a, &x, &e));
    CHECK_TEXT(x.name, "toy");
    CHECK_INT(x.n_rows, 4);
    CHECK_TEXT(x.rows[2].same_as, "base");
    CHECK_INT(x.rows[2].n_runs, 2);
    CHECK_INT(x.rows[2].runs[0].id, 1);
    CHECK_INT(x.n_metrics, 1);
    CHECK_NEAR(x.rows[0].runs[0].results[0].value, 4.5, 0);
    CHECK_NEAR(x.rows[0].runs[0].results[0].stats.value[3], 4.5, 0);
    CHECK_TEXT(x.rows[0].runs[0].results[0].signature, "sig|1");
    CHECK(isnan(x.rows[1].runs[0].results[0].value));
    CHECK_INT(x.rows[3].runs[0].status, DB_FAILED);
    CHECK_TEXT(x.rows[3].runs[0].error, "it broke\n");
    CHECK_INT(reader_experiment(r, "none", READ_VALUES, &a, &x, &e), 1);
    CHECK_OK(reader_run(r, 1, &a, &run, &e));
    CHECK_TEXT(run.row, "base");
    CHECK_TEXT(run.tags[0].value, "v");
    CHECK_INT(run.n_attempts, 1);
    CHECK_INT(reader_run(r, 99, &a, &run, &e), -1);
    CHECK_OK(reader_curves(r, 1, NULL, &a, &curves, &n, &e));
    CHECK_INT(n, 1);
    CHECK_INT(n ? curves[0].n : 0, 1000);
    CHECK_NEAR(n ? curves[0].points[999].value : 0, 0.01, 1e-12);
    /* the database stores times as seconds since 1970, even if the file has times relative to its start */
    CHECK_NEAR(n ? curves[0].points[999].t : 0, (double)time(NULL), 60);
    CHECK_OK(reader_list(r, &a, &list, &n, &e));
    CHECK_INT(n, 2);
    CHECK_TEXT(list[1].name, "toy.recorded");
    CHECK_INT(n ? list[0].done : 0, 2);
    CHECK_INT(n ? list[0].queued : 0, 3);
    CHECK_INT(n ? list[0].rows : 0, 4);
    reader_close(r);
    arena_free(&a);
}

int main(void)
{
    log_to(stderr, LOG_WARN);
    folder = fixture_folder();
    path = path_join(folder, "results.db");
    test_stats();
    test_published();
    test_bad_published();
    test_export();
    test_ini();
    test_read();
    free(path);
    fixture_remove(folder);
    return test_end();
}
