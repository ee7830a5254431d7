/* Queries by users: formats, and refusal of all statements that change something. */
#include "fixture.h"
#include "lab/results/query.h"
#include <sys/stat.h>

static char *folder, *path;
static db_options options;
static err e;

static double limit = 600; /* seconds */

static char *ask(const char *sql, enum query_format format)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    e.text[0] = 0;
    int rc = query_print(&options, sql, format, limit, f, &e);
    fclose(f);
    CHECK_INT(rc, *e.text ? -1 : 0);
    return text;
}
#define CHECK_ANSWER(sql, format, expected)                                                                            \
    do {                                                                                                               \
        char *found_ = ask(sql, format);                                                                               \
        CHECK_TEXT(e.text, "");                                                                                        \
        CHECK_TEXT(found_, expected);                                                                                  \
        free(found_);                                                                                                  \
    } while (0)

static void test_formats(void)
{
    static const char sql[] =
        "SELECT 'ä,b' AS name, 0.1 AS x, 12 AS n, NULL AS none UNION ALL SELECT 'q\"|', 5e-9, 3, NULL";
    CHECK_ANSWER(sql, QUERY_TEXT, "name      x   n  none\nä,b     0.1  12      \nq\"|   5e-09   3      \n");
    CHECK_ANSWER(sql, QUERY_CSV, "name,x,n,none\r\n\"ä,b\",0.1,12,\r\n\"q\"\"|\",5e-09,3,\r\n");
    CHECK_ANSWER(sql, QUERY_JSON,
                 "[\n{\"name\":\"ä,b\",\"x\":0.1,\"n\":12,\"none\":null},\n{\"name\":\"q\\\"|\",\"x\":5e-09,"
                 "\"n\":3,\"none\":null}\n]\n");
    CHECK_ANSWER(sql, QUERY_MD,
                 "| name | x | n | none |\n|---|---:|---:|---:|\n| ä,b | 0.1 | 12 |  |\n| q\"\\| | 5e-09 | 3 |  |\n");
    CHECK_ANSWER("SELECT 1 AS a WHERE 0", QUERY_TEXT, "a\n");
    CHECK_ANSWER("SELECT 1 AS a WHERE 0;  ", QUERY_JSON, "[\n]\n");
    CHECK_ANSWER("SELECT 1/3.0 AS x, 1795554321.25 AS t", QUERY_TEXT,
                 "       x              t\n0.333333  1795554321.25\n");
    CHECK_ANSWER("SELECT 1/3.0 AS x", QUERY_CSV, "x\r\n0.3333333333333333\r\n");
    CHECK_ANSWER("SELECT x'00ff' AS b", QUERY_TEXT, "b\n(2 bytes)\n");
    CHECK_ANSWER("SELECT 'a'||char(10)||'b' AS t", QUERY_TEXT, "t\na b\n");
    CHECK_ANSWER("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c WHERE n<3) SELECT sum(n) s FROM c",
                 QUERY_CSV, "s\r\n6\r\n");
    CHECK_ANSWER("SELECT change, n FROM toy WHERE \"row\"='(A)' ORDER BY change", QUERY_CSV,
                 "change,n\r\nheads=1,0\r\nheads=8,0\r\n");
    CHECK_ANSWER("SELECT key, value FROM json_each('{\"a\":1,\"b\":2}')", QUERY_CSV, "key,value\r\na,1\r\nb,2\r\n");
    CHECK_ANSWER("SELECT fullkey FROM json_tree('[[7]]') WHERE atom=7", QUERY_CSV, "fullkey\r\n$[0][0]\r\n");
    CHECK_ANSWER("SELECT count(*) AS n FROM variant v, json_each(v.config_json) j WHERE j.key='heads' AND v.is_base",
                 QUERY_CSV, "n\r\n1\r\n");
    CHECK_ANSWER("SELECT name FROM pragma_table_info('blob')", QUERY_CSV, "name\r\nsha256\r\ndata\r\n");
    CHECK_ANSWER("PRAGMA user_version", QUERY_CSV, "user_version\r\n7\r\n");
}

static void test_endless(void)
{
    limit = 0.01;
    free(ask("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c) SELECT count(*) FROM c", QUERY_TEXT));
    CHECK_HAS(e.text, "query: not finished after 0.01 s; --time-limit SECONDS sets another limit (0: none)");
    limit = 600;
}

static void test_refused(void)
{
    static const char *const bad[][2] = {
        {"DELETE FROM run", "would change the database"},
        {"UPDATE run SET seed=1", "would change the database"},
        {"INSERT INTO tag VALUES(1,'a','b')", "would change the database"},
        {"DROP VIEW results", "would change the database"},
        {"CREATE TEMP TABLE t(x)", "would change the database"},
        {"ATTACH '/tmp/ablate-attached.db' AS x", "would change the database"},
        {"VACUUM INTO '/tmp/ablate-attached.db'", "would change the database"},
        {"PRAGMA journal_mode=DELETE", "would change the database"},
        {"PRAGMA application_id=3", "would change the database"},
        {"PRAGMA user_version=4", "would change the database"},
        {"PRAGMA writable_schema=ON", "would change the database"},
        {"UPDATE sqlite_master SET sql=''", "table sqlite_master may not be modified"},
        {"UPDATE run SET seed=(SELECT value FROM json_each('[1]'))", "would change the database"},
        {"BEGIN IMMEDIATE", "would change the database"},
        {"WITH x AS (SELECT 1) DELETE FROM run", "would change the database"},
        {"SELECT 1; DELETE FROM run", "found a second statement at \"DELETE FROM run\""},
        {"  -- nothing", "found no SQL"},
        {"SELECT * FROM resalts", "no such table: resalts; did you mean \"results\"?"},
        {"SELECT sead FROM run", "did you mean \"seed\"?"},
        {"SELEC 1", "syntax error, at \"SELEC 1\""},
    };
    for (size_t i = 0; i < LENGTH(bad); i++) {
        char *text = ask(bad[i][0], QUERY_TEXT);
        CHECK_HAS(e.text, bad[i][1]);
        CHECK_TEXT(text, "");
        free(text);
    }
    CHECK_INT(access("/tmp/ablate-attached.db", F_OK), -1);
    CHECK_NEAR(fixture_number(path, "SELECT count(*) FROM run"), 6, 0);
    CHECK_NEAR(fixture_number(path, "PRAGMA user_version"), DB_VERSION, 0);
}

int main(void)
{
    folder = fixture_folder();
    path = path_join(folder, "results.db");
    options = (db_options){.path = path};
    db_frozen *runs;
    size_t n;
    db *d = db_open(&options, &e);
    db_experiment_spec x = fixture_spec("toy");
    CHECK_OK(db_freeze(d, &x, &runs, &n, &e));
    free(runs);
    test_formats(); /* while another process has it open for writing */
    db_close(d);
    test_refused();
    test_endless();
    free(path);
    fixture_remove(folder);
    return test_end();
}
