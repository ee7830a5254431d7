/* Commands on a database (ls, show, log, rm, query, table, report, record, import): exit codes, standard output and
 * standard error. */
#include "../report/fixture.h"
#include "cli/options.h"
#include <fcntl.h>
#include <sqlite3.h>

static char folder[] = "/tmp/ablate-cli-XXXXXX";
static char *path;
static db_options options;
static char *out_text, *err_text;

static char *take(const char *file)
{
    str s = {0};
    char *p = path_join(folder, file);
    file_read(p, &s, NULL);
    free(p);
    return s.s ? s.s : xstrdup("");
}

static void divert(int fd, const char *file, int *kept)
{
    char *p = path_join(folder, file);
    int to = open(p, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    *kept = dup(fd);
    dup2(to, fd);
    close(to);
    free(p);
}

/* Runs a command; out_text and err_text get what it printed. */
static int run(const command *what, const char *words[])
{
    char *argv[16] = {0};
    int argc = 0, kept[2];
    for (; words[argc]; argc++) argv[argc] = (char *)(uintptr_t)words[argc];
    fflush(stdout);
    divert(1, "out", &kept[0]);
    divert(2, "err", &kept[1]);
    int rc = command_run(what, argc, argv,
                         &(places){.program = "ablate", .root = folder, .data_dir = "/nowhere", .db = options});
    fflush(stdout);
    dup2(kept[0], 1), dup2(kept[1], 2);
    close(kept[0]), close(kept[1]);
    free(out_text), free(err_text);
    out_text = take("out"), err_text = take("err");
    return rc;
}
extern const command ls_command, show_command, watch_command, rm_command, query_command, table_command, report_command,
    record_command, import_command, data_get_command;
#define RUN(what, ...) run(what, (const char *[]){__VA_ARGS__, NULL})

static void change(const char *database, const char *sql)
{
    sqlite3 *q;
    CHECK_INT(sqlite3_open(database, &q), SQLITE_OK);
    CHECK_INT(sqlite3_exec(q, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(q);
}

static void put_tag(int run, const char *tag, const char *value)
{
    char *sql = xprintf("INSERT INTO tag VALUES(%d,'%s','%s')", run, tag, value);
    change(path, sql);
    free(sql);
}

static void test_ls_show(void)
{
    CHECK_INT(RUN(&ls_command, "ls"), 0);
    CHECK_HAS(out_text, "experiment  rows  runs  done");
    CHECK_HAS(out_text, "\ntoy            7     6     4        0       0       1       0        1  ");
    CHECK_HAS(err_text, "ls EXPERIMENT");
    CHECK_INT(RUN(&ls_command, "ls", "toy"), 0);
    CHECK_HAS(out_text, "  4  D/dropout=0            0  failed");
    CHECK_HAS(out_text, "out of memory\n");
    CHECK_INT(RUN(&ls_command, "ls", "nope"), 1);
    CHECK_HAS(err_text, "found no experiment \"nope\"");
    CHECK_TEXT(out_text, "");
    CHECK_INT(RUN(&ls_command, "ls", "a", "b"), 2);
    CHECK_INT(RUN(&ls_command, "ls", "--bd", "x"), 2);
    CHECK_HAS(err_text, "unknown option --bd; did you mean --db?");
    CHECK_INT(RUN(&ls_command, "ls", "--db"), 2);
    CHECK_HAS(err_text, "--db needs a value");

    put_tag(2, "decode_tokens_second", "2599.39");
    put_tag(2, "a_tag_that_is_wider_than_the_column", "value");
    CHECK_INT(RUN(&show_command, "show", "toy/A/heads=1"), 0);
    CHECK_HAS(out_text, "experiment            toy\nrow                   A/heads=1\nseed                  0\n"
                        "status                done\n");
    CHECK_HAS(out_text, "PPL                   5.3  (final, step 100000)\n");
    CHECK_HAS(out_text, "host                  box\n");
    CHECK_HAS(out_text, "decode_tokens_second  2599.39\n");
    CHECK_HAS(out_text, "a_tag_that_is_wider_than_the_column value\n");
    CHECK_HAS(out_text, "settings              layers = 6   d_model = 512   heads = 1");
    CHECK(!strchr(out_text, '{'));
    CHECK_INT(RUN(&show_command, "show", "toy/A/heads=1", "--json"), 0);
    CHECK_HAS(out_text, "\"row\":\"A/heads=1\",\"seed\":0,\"status\":\"done\"");
    CHECK_HAS(out_text, "\"settings\":{\"layers\":6");
    CHECK_INT(RUN(&show_command, "show", "4"), 0);
    CHECK_HAS(out_text, "error                 out of memory\n                      at step 3\n");
    CHECK_INT(RUN(&show_command, "show", "--ini", "2"), 0);
    CHECK_HAS(out_text, "[experiment]\nname = toy-run2\nseeds = 0\n\n[base]\nlayers = 6\n");
    CHECK_INT(RUN(&show_command, "show", "99"), 1);
    CHECK_HAS(err_text, "run 99: not in the database");
    CHECK_INT(RUN(&show_command, "show"), 2);
    CHECK_HAS(err_text, "usage: ablate show RUN");
}

static void test_log(void)
{
    char *of_run = path_join(folder, "0123456789ab-s0-g0"), *log = path_join(of_run, "run.log");
    db *d = db_open(&options, NULL);
    int64_t id = 4;
    db_claim c;
    CHECK_INT(db_requeue(d, &id, 1, DB_RERUN_FAILED, NULL, NULL), 0);
    CHECK_INT(db_claim_next(d, "toy", NULL, "me", 100, &c, NULL), 1);
    db_provenance p = DB_PROVENANCE_UNKNOWN;
    p.log_path = log;
    CHECK_INT(db_attempt(d, &c, &p, NULL), 0);
    CHECK_INT(db_finish(d, &c, DB_FAILED, 1, -1, "out of memory", NULL), 0);
    db_claim_free(&c);
    db_close(d);
    CHECK_INT(RUN(&watch_command, "watch", "4", "--log"), 1);
    CHECK_HAS(err_text, "run.log");
    CHECK_HAS(err_text, "its last output: out of memory");
    CHECK_INT(make_folders(of_run, NULL), 0);
    CHECK_INT(file_write(log, "one\ntwo\nthree\n", 14, NULL), 0);
    CHECK_INT(RUN(&watch_command, "watch", "4", "--log"), 0);
    CHECK_TEXT(out_text, "one\ntwo\nthree\n");
    CHECK_INT(RUN(&watch_command, "watch", "4", "--log", "-n", "2"), 0);
    CHECK_TEXT(out_text, "two\nthree\n");
    CHECK_INT(RUN(&watch_command, "watch", "4", "--log", "--lines=9"), 0);
    CHECK_TEXT(out_text, "one\ntwo\nthree\n");
    CHECK_INT(RUN(&watch_command, "watch", "4", "--log", "-n", "two"), 2);
    CHECK_INT(RUN(&watch_command, "watch", "6", "--log"), 1);
    CHECK_HAS(err_text, "the run was never started");
    free(log);
    free(of_run);
}

static void test_query_table(void)
{
    CHECK_INT(RUN(&query_command, "query", "SELECT n, PPL FROM toy WHERE change='heads=1'", "--format=csv"), 0);
    CHECK_TEXT(out_text, "n,PPL\r\n1,5.3\r\n");
    CHECK_INT(RUN(&query_command, "query", "DELETE FROM run"), 1);
    CHECK_HAS(err_text, "ablate query: query: found a statement that would change");
    CHECK_INT(RUN(&query_command, "query", "SELECT 1", "--format", "xml"), 2);
    CHECK_INT(RUN(&query_command, "query", "--list"), 0);
    CHECK_HAS(out_text, "runs: One row per run");
    CHECK_HAS(out_text, "\ntoy: the table of experiment toy");
    CHECK_INT(RUN(&query_command, "query", "--list", "curves", "--json"), 0);
    CHECK_HAS(out_text, "[\n{\"view\":\"curves\"");
    CHECK(!strstr(out_text, "\"about\":\"\""));
    CHECK_INT(RUN(&query_command, "query", "--list", "curvs"), 1);
    static const char *const described[] = {"runs", "curves", "plugins_used", "paired", "summary", "results"};
    for (size_t i = 0; i < LENGTH(described); i++) { /* every column of these views has a description */
        CHECK_INT(RUN(&query_command, "query", "--list", described[i], "--json"), 0);
        if (strstr(out_text, "\"about\":\"\"")) printf("%s: %s\n", described[i], out_text);
        CHECK(!strstr(out_text, "\"about\":\"\""));
    }
    CHECK_INT(RUN(&table_command, "table", "toy", "--metric", "PPL", "--format", "csv"), 0);
    CHECK(has_prefix(
        out_text, "row,name,change,state,n,failed,PPL,PPL_sd,PPL_diverged,delta,low,high,p,p_holm,exploratory,p_models,"
                  "params,verdict,core_minutes,future_seen,flops,peak_memory\r\nbase,base,"));
    CHECK_INT(RUN(&table_command, "table", "table2"), 0);
    CHECK_HAS(out_text, "ConvS2S Ensemble                 26.36       41.29       7.7e19       1.2e21\n");
    CHECK_TEXT(err_text, "");
    CHECK_INT(RUN(&table_command, "table", "--vs", "nothing"), 2);
    CHECK_HAS(err_text, "--vs nothing: expected paper or recorded");
    CHECK_INT(RUN(&table_command, "table", "nope"), 1);
    CHECK_INT(RUN(&table_command, "table", "toy", "--format", "pdf"), 2);
}

static void test_data_command(void)
{
    CHECK_INT(RUN(&data_get_command, "get"), 2);
    CHECK_INT(RUN(&data_get_command, "get", "multi30"), 2);
    CHECK_HAS(err_text, "unknown corpus 'multi30'; did you mean 'multi30k'?");
}

static void test_page(void)
{
    char *html = path_join(folder, "page.html");
    str s = {0};
    CHECK_INT(RUN(&report_command, "report", "toy", "-o", html), 0);
    CHECK_INT(file_read(html, &s, NULL), 0);
    CHECK_HAS(str_text(&s), "<!DOCTYPE html>");
    CHECK_HAS(str_text(&s), "<h2>Learning curves</h2>");
    CHECK_HAS(str_text(&s), "aria-label=\"loss over steps, 6 rows\"");
    CHECK_HAS(str_text(&s), "<g data-row=\"A/heads=1\"><title>A/heads=1</title><path");
    CHECK_HAS(str_text(&s), "Differences between designs need three seeds or more per row; base has 1.");
    CHECK_HAS(str_text(&s), "−20.6 (one seed)");
    CHECK_HAS(str_text(&s), "<tr class=\"rule\" tabindex=\"0\" data-row=\"A/heads=1\">");
    CHECK_HAS(str_text(&s), ">diverged</td>");
    CHECK(!strstr(str_text(&s), "http") && !strstr(str_text(&s), "nan") && !strstr(str_text(&s), "inf"));
    CHECK_INT(RUN(&report_command, "report", "toy"), 2);
    CHECK_INT(RUN(&report_command, "report", "nope", "-o", html), 1);
    str_free(&s);
    free(html);
}

static void test_record(void)
{
    char *json = path_join(folder, "toy.json"), *other = path_join(folder, "other.db");
    CHECK_INT(RUN(&record_command, "record", "toy", json), 0);
    CHECK_INT(RUN(&record_command, "record"), 2);
    CHECK_INT(RUN(&record_command, "record", "nope", json), 1);
    CHECK_INT(RUN(&import_command, "import", json, "--db", other), 0);
    CHECK_HAS(err_text, "6 runs added");
    CHECK_INT(RUN(&import_command, "import", json, "--db", other), 0);
    CHECK_HAS(err_text, ": nothing to add, the database has these runs");
    CHECK_INT(RUN(&table_command, "table", "--db", other), 0);
    CHECK_HAS(out_text, "6 of 6 runs are recorded, from box");
    change(other,
           "UPDATE attempt SET git_commit = CASE WHEN run_id % 2 THEN 'aaaaaaaaaaaaaaa' ELSE 'bbbbbbbbbbbbbbb' END");
    CHECK_INT(RUN(&table_command, "table", "--db", other), 0);
    CHECK_HAS(out_text, "6 of 6 runs are recorded, from box, commits aaaaaaaaaaaa, bbbbbbbbbbbb, not trained here");
    CHECK_HAS(out_text,
              "not trained here: `ablate run SPEC.ini` trains them here, and then `ablate table NAME --vs recorded`");
    CHECK_INT(RUN(&table_command, "table", "toy", "--vs", "recorded", "--db", other), 1);
    CHECK_HAS(err_text, "found no recorded runs to compare with");
    /* importing adds to the experiment's runs, and replaces no run */
    CHECK_INT(RUN(&import_command, "import", json), 0);
    CHECK_HAS(err_text, "6 runs added");
    CHECK_INT(RUN(&table_command, "table", "toy"), 0);
    CHECK_HAS(out_text, "Recorded runs exist: `ablate table toy --vs recorded`");
    CHECK(!strstr(out_text, "not trained here"));
    CHECK_INT(RUN(&table_command, "table", "toy", "--vs", "recorded"), 0);
    CHECK_HAS(out_text, "recorded PPL");
    CHECK_HAS(out_text, "Recorded: on box (");
    CHECK_INT(RUN(&import_command, "import"), 2);
    free(json), free(other);
}

static int count(const char *database, const char *sql)
{
    sqlite3 *q;
    sqlite3_stmt *s = NULL;
    CHECK_INT(sqlite3_open(database, &q), SQLITE_OK);
    CHECK_INT(sqlite3_prepare_v2(q, sql, -1, &s, NULL), SQLITE_OK);
    int n = s && sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int(s, 0) : -1;
    sqlite3_finalize(s);
    sqlite3_close(q);
    return n;
}

/* A table computes the comparisons of its own experiment only; a query of `paired` computes the comparisons of all
 * experiments. */
static void test_stored(void)
{
    char *two = path_join(folder, "two.db");
    err e = {0};
    db *d = db_open(&(db_options){.path = two}, &e);
    CHECK_INT(fixture_fill(d, "one", NULL, 1, &e) || fixture_fill(d, "other", NULL, 1, &e), 0);
    db_close(d);
    CHECK_INT(RUN(&query_command, "query", "SELECT count(*) FROM run", "--db", two), 0);
    CHECK_INT(count(two, "SELECT count(*) FROM compared"), 0);
    CHECK_INT(RUN(&table_command, "table", "one", "--db", two), 0);
    CHECK_INT(count(two, "SELECT count(*) FROM compared"), 1);
    CHECK_INT(count(two, "SELECT count(*) FROM compared c JOIN experiment e ON e.id=c.experiment_id AND name='one'"),
              1);
    CHECK_INT(RUN(&table_command, "table", "--db", two), 0); /* without a name: the last experiment */
    CHECK_INT(count(two, "SELECT count(*) FROM compared"), 2);
    change(two, "DELETE FROM compared");
    CHECK_INT(RUN(&query_command, "query", "SELECT count(*) FROM paired", "--db", two), 0);
    CHECK_INT(count(two, "SELECT count(*) FROM compared"), 2);
    free(two);
}

static void test_rm(void)
{
    CHECK_INT(RUN(&rm_command, "rm", "1", "nope", "--yes"), 1); /* one wrong name: nothing is removed */
    CHECK_INT(RUN(&show_command, "show", "1"), 0);
    CHECK_INT(RUN(&rm_command, "rm", "1", "toy/A/heads=1", "--dry-run"), 0);
    CHECK_HAS(err_text, "would remove 2 runs and 0.0 MB of files");
    CHECK_HAS(err_text, "  run 1  toy/base seed 0, done\n  run 2  toy/A/heads=1 seed 0, done\n");
    CHECK_INT(RUN(&show_command, "show", "1"), 0);
    CHECK_INT(RUN(&rm_command, "rm", "1", "toy/A/heads=1", "--yes"), 0);
    CHECK_HAS(err_text, "removing 2 runs");
    CHECK_INT(RUN(&show_command, "show", "1"), 1);
    CHECK_INT(RUN(&rm_command, "rm"), 2);
    CHECK_INT(RUN(&rm_command, "rm", "--experiment", "toy", "--yes"), 0);
    CHECK_INT(RUN(&ls_command, "ls", "toy"), 0); /* only the imported runs remain */
    CHECK_INT(RUN(&rm_command, "rm", "--experiment", "toy.recorded", "--yes"), 0);
    CHECK_INT(RUN(&ls_command, "ls", "toy"), 1);
}

int main(void)
{
    err e = {0};
    char command[128];
    if (!mkdtemp(folder)) return 1;
    path = path_join(folder, "results.db");
    options = (db_options){.path = path, .usual = path, .root = folder};
    CHECK_INT(RUN(&ls_command, "ls"), 1); /* commands that only read do not create the file */
    CHECK_HAS(err_text, "no database at ");
    CHECK_HAS(err_text, "`ablate run` creates one");
    CHECK_INT(RUN(&table_command, "table"), 1);
    CHECK_INT(RUN(&query_command, "query", "SELECT 1"), 1);
    CHECK_INT(RUN(&rm_command, "rm", "1", "--yes"), 1);
    CHECK_INT(RUN(&record_command, "record", "toy"), 1);
    CHECK_INT(RUN(&table_command, "table", "table3"), 0); /* the program itself contains the published tables */
    CHECK_HAS(out_text, "positional embedding instead of sinusoids");
    CHECK_INT(RUN(&table_command, "table", "table1", "--json"), 0);
    CHECK(!file_exists(path));
    db *d = db_open(&options, &e);
    CHECK_INT(RUN(&ls_command, "ls"), 0);
    CHECK_HAS(err_text, "No experiments yet");
    CHECK_INT(RUN(&table_command, "table"), 1);
    CHECK_HAS(err_text, "found no experiments");
    CHECK_INT(fixture_fill(d, "toy", NULL, 1, &e), 0);
    CHECK_TEXT(e.text, "");
    db_close(d);
    test_ls_show();
    test_query_table();
    test_data_command();
    test_page();
    test_record();
    test_log();
    test_stored();
    test_rm();
    free(out_text), free(err_text);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command)) puts("could not clean up");
    free(path);
    return test_end();
}
