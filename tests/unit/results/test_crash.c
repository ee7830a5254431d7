/* kill -9 of the writing process at random moments: the database stays intact, and nothing is lost or doubled. */
#include "fixture.h"
#include <signal.h>
#include <sys/wait.h>

enum { ROWS = 12, SEEDS = 4, POINTS = 30, KILLS = 60, CREATIONS = 25 };

static char *folder, *path;
static db_options options;
static err e;

/* The value that a run must record: different for each run. */
static double value_of(int64_t run) { return (double)run + 0.5; }

static int freeze(db *d)
{
    db_row_spec rows[ROWS];
    int64_t seeds[SEEDS];
    char names[ROWS][16];
    for (int i = 0; i < ROWS; i++) {
        snprintf(names[i], sizeof names[i], "row%d", i);
        rows[i] = (db_row_spec){.name = names[i], .is_base = !i, .config_hash = names[i], .config_json = "{}"};
    }
    for (int i = 0; i < SEEDS; i++) seeds[i] = i;
    db_experiment_spec x = {
        .name = "crash", .spec_ini = "", .rows = rows, .n_rows = ROWS, .seeds = seeds, .n_seeds = SEEDS};
    db_frozen *runs;
    size_t n;
    int rc = db_freeze(d, &x, &runs, &n, &e);
    free(runs);
    return rc;
}

static int do_run(db *d, const db_claim *c)
{
    for (int i = 0; i < POINTS; i += 5) {
        db_point p[5];
        for (int k = 0; k < 5; k++) p[k] = (db_point){"loss", i + k + 1, (double)(i + k) / 7};
        if (db_points(d, c, p, 5, &e) || db_heartbeat(d, c, i, POINTS, 1000, &e)) return -1;
    }
    db_result r = {.metric = "PPL", .direction = "min", .value = value_of(c->run), .step = POINTS};
    return db_put_result(d, c, &r, &e) || db_finish(d, c, DB_DONE, 0, -1, NULL, &e) ? -1 : 0;
}

/* The host: does all that repeating the command does. */
static int host(void)
{
    char owner[128];
    int found;
    db_claim c;
    db_owner(owner);
    db *d = db_open(&options, &e);
    if (!d || freeze(d) || db_release_dead(d, "crash", NULL, &e)) return -1;
    while ((found = db_claim_next(d, "crash", NULL, owner, 1000, &c, &e)) == 1) {
        if (do_run(d, &c)) return -1;
        db_claim_free(&c);
    }
    db_close(d);
    return found;
}

static pid_t start(void)
{
    pid_t child = fork();
    if (child) return child;
    int rc = host();
    if (rc) fprintf(stderr, "host: %s\n", e.text);
    _exit(rc ? 1 : 0);
}

static void check_whole(void)
{
    CHECK_SQL(path, "PRAGMA integrity_check", "ok");
    CHECK_NEAR(fixture_number(path, "SELECT count(*) FROM pragma_foreign_key_check"), 0, 0);
    CHECK_NEAR(fixture_number(path, "SELECT count(*) FROM run"), ROWS * SEEDS, 0);
    CHECK_NEAR(fixture_number(path, "SELECT count(*) FROM experiment"), 1, 0);
    /* A run that is marked done always has all its records. */
    CHECK_NEAR(fixture_number(path,
                              "SELECT count(*) FROM run r WHERE status='done' AND (NOT EXISTS(SELECT 1 FROM result"
                              " x WHERE x.run_id=r.id AND x.value=r.id+0.5) OR 30<>(SELECT count(*) FROM point p"
                              " WHERE p.run_id=r.id))"),
               0, 0);
    CHECK_NEAR(fixture_number(path, "SELECT count(*) FROM run r WHERE attempt<>(SELECT count(*) FROM attempt a WHERE"
                                    " a.run_id=r.id)"),
               0, 0);
}

static void requeue_all(void)
{
    int64_t ids[ROWS * SEEDS];
    db *d = db_open(&options, &e);
    CHECK(d);
    if (!d) return;
    for (int i = 0; i < ROWS * SEEDS; i++) ids[i] = i + 1;
    CHECK_OK(db_requeue(d, ids, ROWS * SEEDS, DB_RERUN_ALL, NULL, &e));
    db_close(d);
}

static void test_kill_hosts(rng *r)
{
    int kills = 0, status;
    while (kills < KILLS) {
        pid_t child = start();
        usleep((useconds_t)(500 + rng_below(r, 60000)));
        bool was_alive = waitpid(child, &status, WNOHANG) == 0;
        if (was_alive) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
        }
        if (was_alive && WIFSIGNALED(status)) {
            kills++;
            e.text[0] = 0;
            reader_close(reader_open(&options, &e));              /* as any command does that reads results */
            bool nothing = has_prefix(e.text, "no database at "); /* killed before the file had its first page */
            if (!nothing) CHECK_TEXT(e.text, "");
            if (!nothing && fixture_number(path, "SELECT count(*) FROM run") > 0) check_whole();
        } else {
            CHECK_INT(status, 0);
            requeue_all();
        }
    }
    pid_t child = start();
    waitpid(child, &status, 0);
    CHECK_INT(status, 0);
    check_whole();
    CHECK_NEAR(fixture_number(path, "SELECT count(*) FROM run WHERE status='done'"), ROWS * SEEDS, 0);
    CHECK_NEAR(fixture_number(path, "SELECT count(*) FROM result"), ROWS * SEEDS, 0);
    CHECK_NEAR(fixture_number(path, "SELECT count(*) FROM point"), ROWS * SEEDS * POINTS, 0);
    CHECK_NEAR(fixture_number(path, "SELECT max(n) FROM crash"), SEEDS, 0);
    printf("%d kills, %g attempts that were cut off\n", kills,
           fixture_number(path, "SELECT count(*) FROM attempt WHERE exit_code IS NULL"));
}

/* Killed while the file is being created: the next open completes it. */
static void test_kill_creation(rng *r)
{
    for (int i = 0; i < CREATIONS; i++) {
        char name[32];
        snprintf(name, sizeof name, "new%d.db", i);
        char *file = path_join(folder, name);
        db_options o = {.path = file};
        pid_t child = fork();
        if (child == 0) {
            db_close(db_open(&o, &e));
            _exit(0);
        }
        usleep((useconds_t)rng_below(r, 15000));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        e.text[0] = 0;
        db *d = db_open(&o, &e);
        CHECK_TEXT(e.text, "");
        db_close(d);
        CHECK_SQL(file, "PRAGMA integrity_check", "ok");
        CHECK_NEAR(fixture_number(file, "SELECT count(*) FROM published_table3"), 20, 0);
        free(file);
    }
}

int main(void)
{
    folder = fixture_folder();
    path = path_join(folder, "results.db");
    options = (db_options){.path = path};
    rng r = rng_seed((uint64_t)getpid(), 0);
    test_kill_hosts(&r);
    test_kill_creation(&r);
    free(path);
    fixture_remove(folder);
    return test_end();
}
