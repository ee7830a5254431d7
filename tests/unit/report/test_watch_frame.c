/* ablate watch draws a frame every second beside a sweep. Reading a frame must take work in proportion to the number of
 * runs, not to its square; if the database has not changed, it reads no run. */
#include "../results/fixture.h"
#include "lab/report/watch.h"

static int64_t steps; /* steps of SQLite's virtual machine, in hundreds, over all connections opened afterwards */
static int count(void *unused) { return (void)unused, steps++, 0; }
static int install(sqlite3 *q, const char **message, const void *api)
{
    (void)message, (void)api;
    return sqlite3_progress_handler(q, 100, count, NULL), SQLITE_OK;
}

enum { SEEDS = 10 };

static void change(const char *path, const char *sql)
{
    sqlite3 *q;
    char *said = NULL;
    CHECK_INT(sqlite3_open(path, &q), SQLITE_OK);
    CHECK_INT(sqlite3_exec(q, sql, NULL, NULL, &said), SQLITE_OK);
    if (said) printf("%s\n", said);
    sqlite3_free(said);
    sqlite3_close(q);
}

/* Makes a database of rows x SEEDS runs: nine tenths done with two results each, one running, the rest queued. */
static char *database(const char *folder, int rows)
{
    char *path = xprintf("%s/%d.db", folder, rows);
    err e = {0};
    db *d = db_open(&(db_options){.path = path}, &e);
    CHECK(d != NULL);
    db_close(d);
    char *sql = xprintf(
        "INSERT INTO experiment(id,name,spec_sha256,spec_ini,argv,created_at) VALUES(1,'many','','','[]',1);"
        "INSERT INTO metric(id,name,direction) VALUES(1,'PPL','min'),(2,'acc','max');"
        "WITH n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i<%d) INSERT INTO variant(id,experiment_id,"
        "group_name,place,name,change,is_base,config_hash,config_json) SELECT i+1,1,'',i,'row '||i,'',i=0,'h'||i,'{}' "
        "FROM n;"
        "WITH n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i<%d) INSERT INTO run(id,variant_id,seed,status,"
        "attempt,queued_at,started_at,step,total_steps) SELECT i+1,i/%d+1,i%%%d,CASE WHEN i<%d THEN 'done' WHEN i=%d "
        "THEN 'running' ELSE 'queued' END,i<=%d,1,2,7,10 FROM n;"
        "INSERT INTO result(run_id,metric_id,value) SELECT r.id,m.id,2.5 FROM run r,metric m WHERE r.status='done'",
        rows - 1, rows * SEEDS - 1, SEEDS, SEEDS, rows * SEEDS * 9 / 10, rows * SEEDS * 9 / 10, rows * SEEDS * 9 / 10);
    change(path, sql);
    free(sql);
    return path;
}

static int64_t steps_of(watch_source *w, char **text)
{
    watch_view v = {.columns = 80, .lines = 24};
    str out = {0};
    err e = {0};
    size_t wrong;
    int64_t before = steps;
    CHECK_INT(watch_source_draw(w, &v, 100, &out, &wrong, &e), 0);
    CHECK_TEXT(e.text, "");
    free(*text);
    *text = out.s;
    return steps - before;
}

static void test_steps(const char *folder)
{
    char *small = database(folder, 100), *large = database(folder, 400), *text = NULL;
    err e = {0};
    watch_source *w = watch_source_open(&(db_options){.path = small}, NULL, &e),
                 *x = watch_source_open(&(db_options){.path = large}, NULL, &e);
    CHECK(w && x);
    int64_t few = steps_of(w, &text), many = steps_of(x, &text);
    printf("hundreds of steps: %lld for 1,000 runs, %lld for 4,000\n", (long long)few, (long long)many);
    CHECK(few > 0);
    CHECK_THAT(many < 6 * few, "%lld for four times the runs of %lld", (long long)many, (long long)few);
    CHECK_THAT(many * 100 < 200 * 4000, "%lld for each run with its results", (long long)many * 100 / 4000);
    CHECK_HAS(text, "many  4000 runs: 399 queued, 1 running, 3600 done");
    int64_t still = steps_of(x, &text);
    printf("hundreds of steps of a database at rest: %lld\n", (long long)still);
    CHECK_THAT(still * 20 < many, "%lld, after %lld that read all", (long long)still, (long long)many);
    CHECK_HAS(text, "399 queued, 1 running, 3600 done");
    change(large, "UPDATE run SET status='done' WHERE status='running'");
    steps_of(x, &text);
    CHECK_HAS(text, "399 queued, 3601 done");
    change(large,
           "UPDATE result SET value=7.25 WHERE run_id<=10"); /* results that are measured later (db_put_beside) */
    steps_of(x, &text);
    CHECK_HAS(text, "7.25 ± 0");
    CHECK_INT(rename(small, large), 0); /* another file under this name */
    steps_of(x, &text);
    CHECK_HAS(text, "many  1000 runs: ");
    watch_source_close(w);
    watch_source_close(x);
    free(text);
    free(small);
    free(large);
}

int main(void)
{
    char *folder = fixture_folder();
    sqlite3_auto_extension((void (*)(void))install);
    test_steps(folder);
    fixture_remove(folder);
    return test_end();
}
