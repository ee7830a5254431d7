/* The life of runs: freezing, claiming, fences, finishing, queueing again. Also the refusal of files that are not a
 * database of ablate. */
#include "fixture.h"
#include "lab/results/internal.h"
#include <sys/stat.h>
#include <sys/wait.h>

static char *folder, *path;
static db_options options;
static err e;

static void test_freeze_and_claim(db *d)
{
    db_frozen *runs;
    size_t n;
    db_experiment_spec x = fixture_spec("toy");
    CHECK_OK(db_freeze(d, &x, &runs, &n, &e));
    /* three configurations with two seeds each: a fourth row, equal to another one, has no runs of its own */
    CHECK_INT(n, 6);
    CHECK_INT(runs[0].row, 0);
    CHECK_INT(runs[1].row, 1);
    CHECK_INT(runs[2].row, 3);
    CHECK_INT(runs[3].seed, 2);
    CHECK_SQL(path, "SELECT group_concat(name,',') FROM (SELECT name FROM table_row ORDER BY place)",
              "base,A/heads=1,A/heads=8,big");
    CHECK_SQL(path, "SELECT same_as FROM table_row WHERE name='A/heads=8'", "base");
    CHECK_SQL(path, "SELECT typeof(value)||' '||value FROM param WHERE key='heads' AND is_swept", "integer 1");
    CHECK_SQL(path, "SELECT what FROM changed", "heads=1");

    db_claim c, other;
    CHECK_INT(db_claim_next(d, "toy", NULL, "me", 100, &c, &e), 1);
    CHECK_INT(c.run, runs[0].id);
    CHECK_INT(c.attempt, 1);
    CHECK_INT(c.seed, 1);
    CHECK_TEXT(c.name, "base");
    CHECK_HAS(c.config_json, "\"heads\":8");
    int64_t among[] = {runs[4].id, runs[1].id}; /* claims only from these, in this order */
    CHECK_INT(db_claim_next(d, "toy", &(db_queue){among, LENGTH(among), 0}, "me", 100, &other, &e), 1);
    CHECK_INT(other.run, runs[4].id);
    CHECK_OK(db_finish(d, &other, DB_QUEUED, -1, -1, NULL, &e)); /* queued again */
    db_claim_free(&other);

    db_point points[] = {{"loss", 1, 9.5}, {"loss", 2, NAN}, {"lr", 1, 1e-3}, {"loss", 2, 8.5}, {"loss", 3, INFINITY}};
    CHECK_OK(db_points(d, &c, points, LENGTH(points), &e));
    CHECK_NEAR(fixture_number(path, "SELECT count(*) FROM point"), 4, 0);
    CHECK_NEAR(fixture_number(path, "SELECT value FROM point p JOIN metric m ON m.id=p.metric_id WHERE step=2"), 8.5,
               0);
    CHECK_SQL(path, "SELECT value IS NULL FROM point WHERE step=3", "1");
    CHECK_OK(db_heartbeat(d, &c, 3, 100, 100, &e));
    CHECK_SQL(path, "SELECT step||'/'||total_steps FROM run WHERE id=1", "3/100");

    db_provenance p = DB_PROVENANCE_UNKNOWN;
    p.host = "here", p.git_dirty = 1, p.diff = "- a\n+ b\n", p.parameters = 1500000;
    CHECK_OK(db_attempt(d, &c, &p, &e));
    p = DB_PROVENANCE_UNKNOWN;
    p.tokens_second = 1234.5, p.log_path = "run.log";
    CHECK_OK(db_attempt(d, &c, &p, &e)); /* fields that are unset change nothing */
    CHECK_SQL(path, "SELECT host||git_dirty||log_path||tokens_second||parameters FROM attempt WHERE run_id=1",
              "here1run.log1234.51500000");
    CHECK_SQL(path, "SELECT CAST(data AS TEXT) FROM blob JOIN attempt ON sha256=diff_sha256", "- a\n+ b\n");

    db_result r = {.metric = "PPL", .direction = "min", .value = 4.5, .step = 100, .signature = "per subword"};
    CHECK_OK(db_put_result(d, &c, &r, &e));
    r.value = 4.25;
    CHECK_OK(db_put_result(d, &c, &r, &e));
    r.direction = "up";
    CHECK_INT(db_put_result(d, &c, &r, &e), -1);
    CHECK_HAS(e.text, "expected min or max");
    CHECK_OK(db_put_tag(d, &c, "note", "first", &e));
    const db_result ours = {.metric = "ms", .value = 2};
    CHECK_INT(db_put_beside(d, c.run, &ours, 1, NULL, 0, &e), -1);
    CHECK_HAS(e.text, "is not done");
    CHECK_OK(db_finish(d, &c, DB_DONE, 0, -1, NULL, &e));
    const db_point at[] = {{"layer ms", 16, 1}, {"layer ms", 32, 2}};
    for (int twice = 0; twice < 2; twice++) CHECK_OK(db_put_beside(d, c.run, &ours, 1, at, 2, &e));
    CHECK_SQL(
        path,
        "SELECT count(*)||','||sum(p.value) FROM point p JOIN metric m ON m.id=p.metric_id WHERE m.name='layer ms'",
        "2,3.0");
    CHECK_SQL(path, "SELECT value FROM result q JOIN metric m ON m.id=q.metric_id WHERE m.name='ms'", "2.0");
    CHECK_INT(db_finish(d, &c, DB_FAILED, 1, -1, "late", &e), -1);
    CHECK_HAS(e.text, "no longer held");
    CHECK_SQL(path, "SELECT exit_code||ifnull(term_signal,'none') FROM attempt WHERE run_id=1", "0none");
    CHECK_SQL(path, "SELECT n||' '||PPL||' '||params_M||' '||change FROM toy WHERE \"row\"='base'", "1 4.25 1.5 ");
    CHECK_SQL(path, "SELECT n||' '||PPL FROM toy WHERE name='A/heads=8'", "1 4.25");
    /* a single run has no standard deviation */
    CHECK_SQL(path, "SELECT PPL_sd IS NULL FROM toy WHERE name='base'", "1");
    CHECK_SQL(path, "SELECT group_concat(name,' ') FROM pragma_table_info('toy')",
              "row change n PPL PPL_sd ms ms_sd params_M name");
    CHECK_SQL(path, "SELECT group_concat(\"row\"||':'||change,' ') FROM toy",
              "base: (A):heads=1 (A):heads=8 big:d_model=1024");
    db_claim_free(&c);
    free(runs);
}

/* A claim whose lease has ended can be taken over by another process; the first holder can then no longer write. */
static void test_fence(db *d)
{
    db_claim old, new;
    e.text[0] = 0;
    CHECK_INT(db_claim_next(d, "toy", NULL, "slow", 0.01, &old, &e), 1);
    CHECK_TEXT(old.name, "A/heads=1");
    usleep(30000);
    CHECK_INT(db_claim_next(d, "toy", NULL, "quick", 100, &new, &e), 1);
    CHECK_INT(new.run, old.run);
    CHECK_INT(new.attempt, 2);
    db_point p = {"loss", 1, 1};
    db_result r = {.metric = "PPL", .value = 1};
    db_provenance from = DB_PROVENANCE_UNKNOWN;
    CHECK_INT(db_points(d, &old, &p, 1, &e), -1);
    CHECK_INT(db_put_result(d, &old, &r, &e), -1);
    CHECK_INT(db_heartbeat(d, &old, 1, 2, 10, &e), -1);
    CHECK_INT(db_attempt(d, &old, &from, &e), -1);
    CHECK_INT(db_put_tag(d, &old, "a", "b", &e), -1);
    CHECK_INT(db_finish(d, &old, DB_DONE, 0, -1, NULL, &e), -1);
    CHECK_HAS(e.text, "owner quick");
    CHECK_SQL(path, "SELECT error FROM attempt WHERE run_id=2 AND n=1",
              "its lease expired and another process took over the run");
    CHECK_NEAR(fixture_number(path, "SELECT count(*) FROM point WHERE run_id=2"), 0, 0);
    db_claim first = new; /* this owner's earlier claim on the run */
    first.attempt = 1;
    e.text[0] = 0;
    CHECK_INT(db_heartbeat(d, &first, 1, 2, 10, &e), -1);
    CHECK_HAS(e.text, "attempt 1: no longer held by this process (now running, attempt 2");
    e.text[0] = 0;
    CHECK_OK(db_finish(d, &new, DB_FAILED, 1, -1, "out of memory", &e));
    db_claim_free(&old);
    db_claim_free(&new);
}

static int64_t steps; /* steps of SQLite's virtual machine */
static int count_step(void *none)
{
    (void)none;
    steps++;
    return 0;
}

/* Steps per claim: two hosts alternately claim all runs but the first tenth, which is done. */
static double steps_of_claims(db *d, db *other, const char *name, size_t n_seeds)
{
    db_frozen *runs;
    size_t n, claimed = 0;
    int64_t *seeds = xcalloc(n_seeds, sizeof *seeds), *ids = xcalloc(3 * n_seeds, sizeof *ids);
    for (size_t i = 0; i < n_seeds; i++) seeds[i] = (int64_t)i;
    db_experiment_spec x = fixture_spec(name);
    x.seeds = seeds, x.n_seeds = n_seeds;
    CHECK_OK(db_freeze(d, &x, &runs, &n, &e));
    for (size_t i = 0; i < n; i++) ids[i] = runs[i].id;
    db_claim c = {0};
    db_queue queue[2] = {{ids, n, 0}, {ids, n, 0}}, first = {ids, n / 10, 0};
    while (db_claim_next(d, name, &first, "me", 100, &c, &e) == 1) {
        CHECK_OK(db_finish(d, &c, DB_DONE, 0, -1, NULL, &e));
        db_claim_free(&c);
    }
    steps = 0;
    sqlite3_progress_handler(d->q, 1, count_step, NULL);
    sqlite3_progress_handler(other->q, 1, count_step, NULL);
    while (db_claim_next(claimed % 2 ? d : other, name, &queue[claimed % 2], claimed % 2 ? "me" : "you", 100, &c, &e) ==
           1) {
        db_claim_free(&c);
        claimed++;
    }
    CHECK_INT(claimed, n - n / 10);
    sqlite3_progress_handler(d->q, 0, NULL, NULL);
    sqlite3_progress_handler(other->q, 0, NULL, NULL);
    free(runs), free(seeds), free(ids);
    return (double)steps / (double)claimed;
}

/* A claim does not search a list of runs: it takes equal work in a sweep of any size. */
static void test_large_queue(db *d)
{
    db *other = db_open(&options, &e);
    CHECK(other);
    if (!other) return;
    double few = steps_of_claims(d, other, "few", 20), many = steps_of_claims(d, other, "many", 600);
    CHECK_NEAR(many / few, 1, 0.1);
    /* a run that both hosts have already passed in their search is queued again: it must be claimed */
    db_claim c = {0};
    int64_t ids[2] = {0, 0};
    ids[0] = (int64_t)fixture_number(
        path,
        "SELECT min(r.id) FROM runs r0 JOIN run r ON r.id=r0.run WHERE r0.experiment='few' AND r.status='running'");
    ids[1] = ids[0] + 1;
    CHECK_OK(db_release_owner(d, "you", &e));
    db_queue at_end = {ids, 2, 2};
    CHECK_INT(db_claim_next(d, "few", &at_end, "me", 100, &c, &e), 1);
    CHECK_OK(db_finish(d, &c, DB_QUEUED, -1, -1, NULL, &e));
    db_claim_free(&c);
    CHECK_OK(db_release_owner(d, "me", &e));
    db_close(other);
}

static void test_requeue_and_change(db *d)
{
    db_frozen *runs;
    size_t n, changed;
    db_experiment_spec x = fixture_spec("toy");
    CHECK_OK(db_freeze(d, &x, &runs, &n, &e));
    CHECK_INT(runs[0].status, DB_DONE);   /* a finished run stays done */
    CHECK_INT(runs[1].status, DB_FAILED); /* a failed run stays failed until requested again */
    int64_t ids[6];
    for (int i = 0; i < 6; i++) ids[i] = runs[i].id;
    CHECK_OK(db_requeue(d, ids, 6, DB_RERUN_FAILED, &changed, &e));
    CHECK_INT(changed, 1);
    db_claim c;
    CHECK_INT(db_claim_next(d, "toy", NULL, "me", 100, &c, &e), 1);
    CHECK_INT(c.run, ids[1]);
    CHECK_INT(c.attempt, 3);
    CHECK_INT(c.generation, 0); /* continues from its last complete state */
    CHECK_OK(db_finish(d, &c, DB_KILLED, -1, 9, NULL, &e));
    db_claim_free(&c);
    free(runs);
    CHECK_OK(db_freeze(d, &x, &runs, &n, &e));
    CHECK_INT(runs[1].status, DB_QUEUED); /* killed runs are queued again automatically */
    free(runs);

    /* "big" gets another configuration, there is one seed only, and one row cannot run. */
    db_row_spec rows[4];
    memcpy(rows, fixture_rows, sizeof rows);
    rows[3].config_hash = "h3";
    rows[1].not_applicable = "rotary needs an even d_k";
    x.rows = rows, x.n_seeds = 1;
    CHECK_OK(db_freeze(d, &x, &runs, &n, &e));
    CHECK_INT(n, 3);
    CHECK_INT(runs[0].status, DB_DONE);
    CHECK_INT(runs[1].status, DB_SKIPPED);
    CHECK_INT(runs[2].status, DB_QUEUED);
    CHECK(runs[2].id != ids[2]);
    CHECK_NEAR(fixture_number(path, "SELECT count(*) FROM variant WHERE archived=1"), 1, 0);
    CHECK_NEAR(fixture_number(path, "SELECT count(*) FROM table_row"), 4, 0);
    free(runs);
    x = fixture_spec("toy");
    CHECK_OK(db_freeze(d, &x, &runs, &n, &e)); /* and back */
    CHECK_INT(runs[2].id, ids[2]);
    CHECK_INT(runs[1].status, DB_QUEUED);
    CHECK_INT(runs[5].id, ids[5]);
    CHECK_OK(db_requeue(d, ids, 6, DB_RERUN_ALL, &changed, &e));
    CHECK_INT(changed, 1); /* only the run that was done */
    CHECK_NEAR(fixture_number(path, "SELECT count(*) FROM result"), 0, 0);
    CHECK_NEAR(fixture_number(path, "SELECT count(*) FROM attempt WHERE run_id=1"), 1, 0);
    free(runs);
}

static void test_names(db *d)
{
    static const char *const bad[][2] = {{"", "expected a name"}, {"a/b", "expected none of"}};
    /* An experiment's view in SQL gets a unique name that is valid without quotes. */
    static const char *const views[][2] = {{"run", "run_2"},
                                           {"Results", "Results_2"},
                                           {"sqlite_x", "e_sqlite_x_"},
                                           {"Toy", "Toy_2"},
                                           {"table3-multi30k", "table3_multi30k"},
                                           {"order", "order_"},
                                           {"8.heads", "e_8_heads"},
                                           {"settings", "settings_2"},
                                           {"variant_name", "variant_name_2"}};
    db_frozen *runs;
    size_t n;
    for (size_t i = 0; i < LENGTH(bad); i++) {
        db_experiment_spec x = fixture_spec(bad[i][0]);
        e.text[0] = 0;
        CHECK_INT(db_freeze(d, &x, &runs, &n, &e), -1);
        CHECK_HAS(e.text, bad[i][1]);
    }
    for (size_t i = 0; i < LENGTH(views); i++) {
        db_experiment_spec x = fixture_spec(views[i][0]);
        CHECK_OK(db_freeze(d, &x, &runs, &n, &e));
        free(runs);
        char *sql = xprintf("SELECT count(*) FROM %s", views[i][1]);
        CHECK_NEAR(fixture_number(path, sql), 4, 0);
        free(sql);
        CHECK_OK(fixture_remove_experiment(d, path, views[i][0], &e));
    }
    db_experiment_spec odd = fixture_spec("it's \"odd\"; DROP TABLE run");
    CHECK_OK(db_freeze(d, &odd, &runs, &n, &e));
    free(runs);
    CHECK_NEAR(fixture_number(path, "SELECT count(*) FROM it_s__odd___DROP_TABLE_run"), 4, 0);
    CHECK_OK(fixture_remove_experiment(d, path, odd.name, &e));
    CHECK_NEAR(fixture_number(path, "SELECT count(*) FROM experiment"), 1, 0);
    CHECK_INT(fixture_remove_experiment(d, path, odd.name, &e), -1);
    CHECK_HAS(e.text, "not in the database");
}

/* A metric may have the name of one of the view's columns, or of another metric's deviation. */
static void test_view_columns(db *d)
{
    static const char *const metrics[] = {"n", "PPL", "ppl", "PPL_sd"};
    db_frozen *runs;
    size_t n;
    db_claim c;
    db_experiment_spec x = fixture_spec("clash");
    CHECK_OK(db_freeze(d, &x, &runs, &n, &e));
    CHECK_INT(db_claim_next(d, "clash", NULL, "me", 100, &c, &e), 1);
    for (size_t i = 0; i < LENGTH(metrics); i++) {
        db_result r = {.metric = metrics[i], .value = (double)i};
        CHECK_OK(db_put_result(d, &c, &r, &e));
    }
    CHECK_OK(db_finish(d, &c, DB_DONE, 0, -1, NULL, &e));
    CHECK_NEAR(fixture_number(path, "SELECT count(*) FROM pragma_table_info('clash')"), 13, 0);
    CHECK_NEAR(fixture_number(path, "SELECT count(DISTINCT lower(name)) FROM pragma_table_info('clash')"), 13, 0);
    CHECK_OK(db_remove(d, &c.run, 1, NULL, &e));
    CHECK_NEAR(fixture_number(path, "SELECT count(*) FROM result WHERE run_id NOT IN(SELECT id FROM run)"), 0, 0);
    CHECK_OK(fixture_remove_experiment(d, path, "clash", &e));
    db_claim_free(&c);
    free(runs);
}

static void test_release(db *d)
{
    char owner[128], text[128] = "";
    int out[2];
    db_claim c;
    size_t released;
    CHECK_INT(pipe(out), 0);
    pid_t child = fork();
    if (child == 0) {
        db_owner(owner);
        _exit(write(out[1], owner, sizeof owner) == sizeof owner ? 0 : 1);
    }
    CHECK_INT(read(out[0], text, sizeof text), sizeof text);
    waitpid(child, NULL, 0);
    close(out[0]), close(out[1]);
    db_owner(owner);
    CHECK(db_owner_is_gone(text));
    CHECK(!db_owner_is_gone(owner));
    CHECK(!db_owner_is_gone("elsewhere/12345678.9/1/1"));
    e.text[0] = 0;
    CHECK_INT(db_claim_next(d, "toy", NULL, text, 1e6, &c, &e), 1);
    int64_t dead = c.run;
    db_claim_free(&c);
    CHECK_INT(db_claim_next(d, "toy", NULL, owner, -1e5, &c, &e), 1);
    /* A process whose clock is far ahead does not take a run from a living process. */
    db_claim other = {0};
    CHECK_INT(db_claim_next(d, "toy", &(db_queue){&c.run, 1, 0}, "ahead", 100, &other, &e), 0);
    CHECK_OK(db_release_dead(d, "toy", &released, &e));
    CHECK_INT(released, 1);
    CHECK_INT(db_remove(d, &c.run, 1, NULL, &e), -1);
    CHECK_HAS(e.text, "is running");
    e.text[0] = 0;
    CHECK_INT(fixture_remove_experiment(d, path, "toy", &e), -1);
    CHECK_HAS(e.text, "is running");
    e.text[0] = 0;
    CHECK_OK(db_finish(d, &c, DB_QUEUED, -1, -1, NULL, &e));
    db_claim_free(&c);
    CHECK_INT(db_claim_next(d, "toy", NULL, owner, 1e6, &c, &e), 1);
    CHECK_INT(c.run, dead);
    CHECK_OK(db_finish(d, &c, DB_QUEUED, -1, -1, NULL, &e));
    db_claim_free(&c);
}

/* A forked child must not write through its parent's connection. */
static void test_fork(db *d)
{
    pid_t child = fork();
    if (child == 0) {
        err mine = {0};
        int rc = db_remove(d, &(int64_t){1}, 1, NULL, &mine);
        db_close(d);
        _exit(rc == -1 && strstr(mine.text, "only the host process may") ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_INT(status, 0);
}

static void test_refused_files(void)
{
    db_options o = options;
    char *other = path_join(folder, "other.db");
    o.path = other;
    e.text[0] = 0;
    CHECK_INT(file_write(other,
                         "this is a text file, long enough to be no database at all .........................."
                         "...........................................",
                         125, &e),
              0);
    CHECK(!db_open(&o, &e));
    CHECK_HAS(e.text, "not an SQLite database");
    remove(other);
    sqlite3 *q;
    sqlite3_open(other, &q);
    sqlite3_exec(q, "CREATE TABLE mine(x)", NULL, NULL, NULL);
    e.text[0] = 0;
    CHECK(!db_open(&o, &e));
    CHECK_HAS(e.text, "another program");
    sqlite3_exec(q, "PRAGMA application_id=1094861651; PRAGMA user_version=99", NULL, NULL, NULL);
    e.text[0] = 0;
    CHECK(!db_open(&o, &e));
    CHECK_HAS(e.text, "version 99");
    CHECK_HAS(e.text, "newer");
    e.text[0] = 0;
    CHECK(!reader_open(&o, &e));
    CHECK_HAS(e.text, "version 99");
    sqlite3_close(q);
    o.path = folder;
    e.text[0] = 0;
    CHECK(!db_open(&o, &e));
    CHECK_HAS(e.text, "found a folder");
    free(other);
}

/* A user without write permission opens the database (root always has it, so the child becomes nobody). */
static void test_read_only(void)
{
    if (chmod(folder, 0755) || chmod(path, 0444)) CHECK(false);
    pid_t child = fork();
    if (child == 0) {
        err mine = {0};
        if (getuid() == 0 && setuid(65534)) _exit(2);
        db *d = db_open(&options, &mine);
        if (d || !strstr(mine.text, "read-only")) printf("found \"%s\"\n", mine.text), fflush(stdout), _exit(1);
        _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_INT(status, 0);
    chmod(path, 0644);
}

static void test_migrate(db *d)
{
    static const migration good[] = {{DB_VERSION, "ALTER TABLE run ADD COLUMN colour TEXT", NULL},
                                     {DB_VERSION + 1, "UPDATE run SET colour='red'", NULL}};
    static const migration bad[] = {{DB_VERSION + 2, "UPDATE run SET colour='blue'; CREATE TABLE run(x)", NULL}};
    char *backup;
    int64_t runs = (int64_t)fixture_number(path, "SELECT count(*) FROM run");
    CHECK_OK(db_migrate(d, good, 2, &backup, &e));
    CHECK_NEAR(fixture_number(path, "PRAGMA user_version"), DB_VERSION + 2, 0);
    CHECK_NEAR(fixture_number(path, "SELECT count(*) FROM run WHERE colour='red'"), (double)runs, 0);
    CHECK(backup && file_exists(backup));
    CHECK_NEAR(fixture_number(backup ? backup : path, "PRAGMA user_version"), DB_VERSION, 0);
    CHECK_NEAR(fixture_number(backup ? backup : path, "SELECT count(*) FROM run"), (double)runs, 0);
    free(backup);
    CHECK_OK(db_migrate(d, good, 2, &backup, &e));
    CHECK(!backup);
    log_to(stderr, LOG_ERROR);
    CHECK_INT(db_migrate(d, bad, 1, &backup, &e), -1);
    CHECK_HAS(e.text, "it stays as it was");
    char *part = xprintf("%s.version%d.part", path, DB_VERSION + 2),
         *kept = xprintf("%s.version%d.1.bak", path, DB_VERSION);
    CHECK(!file_exists(part)); /* no copy is made if nothing is upgraded */
    free(part);
    part = xprintf("%s.version%d.part", path, DB_VERSION); /* a part file that a killed upgrade left behind */
    CHECK_OK(file_write(part, "copy", 4, &e));
    CHECK_OK(db_migrate(d, good, 2, &backup, &e));
    CHECK_TEXT(backup ? backup : "none", kept);
    CHECK(!file_exists(part));
    free(backup), free(part), free(kept);
    CHECK_NEAR(fixture_number(path, "PRAGMA user_version"), DB_VERSION + 2, 0);
    CHECK_NEAR(fixture_number(path, "SELECT count(*) FROM run WHERE colour='blue'"), 0, 0);
}

int main(void)
{
    log_to(stderr, LOG_WARN);
    folder = fixture_folder();
    path = path_join(folder, "deep/er/results.db");
    options = (db_options){.path = path};
    db *d = db_open(&options, &e);
    CHECK_TEXT(e.text, "");
    if (!d) return test_end();
    CHECK_SQL(path, "PRAGMA journal_mode", "wal");
    CHECK_NEAR(fixture_number(path, "PRAGMA application_id"), DB_APPLICATION_ID, 0);
    CHECK(db_is_network(0x6969) && db_is_network(0xFF534D42) && !db_is_network(0xEF53));
    test_freeze_and_claim(d);
    test_fence(d);
    test_requeue_and_change(d);
    test_names(d);
    test_view_columns(d);
    test_release(d);
    test_large_queue(d);
    test_fork(d);
    CHECK_SQL(path, "PRAGMA integrity_check", "ok");
    db_close(d);
    test_refused_files();
    test_read_only();
    options.no_wal = true;
    e.text[0] = 0;
    d = db_open(&options, &e);
    CHECK_TEXT(e.text, "");
    CHECK_SQL(path, "PRAGMA journal_mode", "delete");
    if (d) test_migrate(d);
    db_close(d);
    free(path);
    fixture_remove(folder);
    return test_end();
}
