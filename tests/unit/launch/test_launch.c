/* The host with workers that are small shell scripts: every way in which a worker can end is recorded. Also the event
 * lines that workers send. */
#include "lab/launch/event.h"
#include "lab/launch/launch.h"
#include "lab/results/read.h"
#include "test.h"
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[256];
static char *in_folder(const char *name) { return path_join(folder, name); }

/* Writes a worker: a script called as `worker --folder F ...`, in which $row is the row's name from its config. */
static char *worker_script(const char *name, const char *body)
{
    char *path = in_folder(name);
    char *text = xprintf("#!/bin/bash\nrow=$(cat \"$3/config.json\")\n%s\n", body);
    err e = {0};
    CHECK_INT(file_write(path, text, strlen(text), &e), 0);
    chmod(path, 0755);
    free(text);
    return path;
}

enum { MAX_ROWS = 16 };
typedef struct {
    db *d;
    db_options o;
    const char *rows[MAX_ROWS];
    int64_t ids[MAX_ROWS];
    size_t n;
} bench;

/* Makes a database with one run per row; a row's configuration is {"row":"NAME"}. */
static void bench_open(bench *b, const char *name, const char *const *rows, size_t n)
{
    char *path = in_folder(name);
    err e = {0};
    db_row_spec spec[MAX_ROWS] = {0};
    char config[MAX_ROWS][64], hash[MAX_ROWS][65];
    *b = (bench){.o = {.path = path}, .n = n};
    b->d = db_open(&b->o, &e);
    CHECK_TEXT(e.text, "");
    for (size_t i = 0; i < n; i++) {
        snprintf(config[i], sizeof config[i], "{\"row\":\"%s\"}", rows[i]);
        sha256_of(config[i], strlen(config[i]), hash[i]);
        spec[i] = (db_row_spec){.group = "",
                                .name = b->rows[i] = rows[i],
                                .change = i ? rows[i] : "",
                                .is_base = !i,
                                .config_hash = hash[i],
                                .config_json = config[i]};
    }
    int64_t seed = 7;
    db_experiment_spec x = {
        .name = "test", .spec_ini = "", .argv_json = "[]", .rows = spec, .n_rows = n, .seeds = &seed, .n_seeds = 1};
    db_frozen *f = NULL;
    size_t runs = 0;
    CHECK_INT(db_freeze(b->d, &x, &f, &runs, &e), 0);
    CHECK_INT(runs, n);
    for (size_t i = 0; i < runs; i++) b->ids[i] = f[i].id;
    free(f);
}

static launch_options options_of(const bench *b, const char *program)
{
    return (launch_options){.program = program,
                            .experiment = "test",
                            .runs = b->ids,
                            .n = b->n,
                            .folder = folder,
                            .data_dir = "data",
                            .cache_dir = "cache",
                            .device = "cpu",
                            .workers = 2,
                            .threads = 1,
                            .progress = PROGRESS_NONE,
                            .resume_command = "again"};
}

static const read_run *run_of(const read_experiment *x, const char *row)
{
    for (size_t i = 0; i < x->n_rows; i++)
        if (same(x->rows[i].name, row) && x->rows[i].n_runs) return &x->rows[i].runs[0];
    broken("no row %s", row);
}

static void check_run(const read_experiment *x, const char *row, const char *status, int code, int sig,
                      const char *error)
{
    const read_run *r = run_of(x, row);
    char *found =
             xprintf("%s: %s, exit %d, signal %d", row, db_status_text(r->status), (int)r->exit_code, (int)r->signal),
         *expected = xprintf("%s: %s, exit %d, signal %d", row, status, code, sig);
    CHECK_TEXT(found, expected);
    if (error)
        CHECK_HAS(r->error, error);
    else
        CHECK(!r->error);
    free(found);
    free(expected);
}

static void test_ends(void)
{
    static const char *const rows[] = {"done",   "fails",   "silent", "diverges", "stops", "crashes",
                                       "killed", "garbled", "cut",    "large",    "exits"};
    char *program = worker_script(
        "ends.sh", //
        "say() { printf \"$@\" >&3; }\n"
        "say 'progress\\t5\\t10\\t9.5\\t1000\\n'\n"
        "case $row in\n"
        "*done*) say 'phase\\tscore\\nresult\\tPPL\\tmin\\t\\tperplexity\\tsig \\\\\\\\t "
        "x\\t1.5\\t10\\tlast\\t2\\t1\\t3\\t4\\n'\n"
        "   say 'point\\tdev_PPL\\t5\\t2.25\\nfact\\tparameters\\t77\\nfact\\tcolour\\tblue\\n' ;;\n"
        "*fails*) say 'error\\tno\\\\nway\\n'; echo last words; exit 1 ;;\n"
        "*silent*) exit 9 ;;\n"
        "*diverges*) say 'diverged\\tat step 5\\n'; exit 3 ;;\n"
        "*stops*) exit 75 ;;\n"
        "*crashes*) kill -SEGV $$ ;;\n"
        "*killed*) kill -KILL $$ ;;\n"
        "*garbled*) say "
        "'what\\nresult\\tPPL\\npoint\\n\\n\\t\\t\\nresult\\tPPL\\tmin\\t\\tperplexity\\t\\t2\\t1\\tlast\\t5\\t2\\t1\\n"
        "' ;;\n"
        "*cut*) say 'result\\tPPL\\tmin\\t\\tperplexity\\t\\t9\\t1\\tlast\\t0\\t0'; exit 0 ;;\n"
        "*exits*) say 'phase\\ttrain\\nresult\\tPPL\\tmin\\t\\tperplexity\\t\\t9\\t1\\tlast\\t0\\t0\\n'; exit 0 ;;\n"
        "*large*) printf 'result\\tPPL\\tmin\\t\\tperplexity\\t\\t4\\t1\\tlast\\t40000\\t2' >&3\n"
        "   for i in $(seq 80000); do echo -ne '\\t1.25'; done >&3; say '\\n' ;;\n"
        "esac\nsay 'end\\n'\n");
    bench b;
    err e = {0};
    launch_result got;
    bench_open(&b, "ends.db", rows, LENGTH(rows));
    launch_options o = options_of(&b, program);
    CHECK_INT(launch_runs(b.d, &o, &got, &e), 0);
    CHECK_TEXT(e.text, "");
    CHECK_INT(got.interrupted, 0);
    db_close(b.d);

    arena a = {0};
    read_experiment x;
    reader *r = reader_open(&b.o, &e);
    CHECK_INT(reader_experiment(r, "test", READ_STATS, &a, &x, &e), 0);
    check_run(&x, "done", "done", 0, -1, NULL);
    check_run(&x, "fails", "failed", 1, -1, "no\nway");
    check_run(&x, "silent", "failed", 9, -1, "exit status 9");
    check_run(&x, "diverges", "done", 3, -1, "at step 5");
    check_run(&x, "crashes", "failed", -1, SIGSEGV, "signal 11");
    check_run(&x, "killed", "killed", -1, SIGKILL, "signal 9");
    check_run(&x, "garbled", "done", 0, -1, NULL);
    check_run(&x, "cut", "failed", 0, -1, "before finishing");
    check_run(&x, "exits", "failed", 0, -1,
              "exited in train with status 0 before finishing: a plugin or library called exit");
    check_run(&x, "large", "done", 0, -1, NULL);
    const read_run *done = run_of(&x, "done"), *large = run_of(&x, "large");
    CHECK_INT(done->n_results, 1);
    CHECK_NEAR(done->results[0].value, 1.5, 0);
    CHECK_TEXT(done->results[0].signature, "sig \\t x");
    CHECK_TEXT(done->results[0].unit, "");
    CHECK_TEXT(done->results[0].aggregation, "perplexity");
    CHECK_INT(done->results[0].stats.n, 2);
    CHECK_NEAR(done->results[0].stats.value[1], 4, 0);
    CHECK_NEAR(done->parameters, 77, 0);
    CHECK_INT(done->step, 5);
    CHECK_INT(done->total_steps, 10);
    CHECK_INT(done->attempts, 1);
    CHECK_INT(run_of(&x, "diverges")->n_results, 1);
    CHECK(isnan(run_of(&x, "diverges")->results[0].value));
    /* the line has fewer numbers than it announces, so no number is stored */
    CHECK_INT(run_of(&x, "garbled")->results[0].stats.n, 0);
    CHECK_INT(run_of(&x, "cut")->n_results, 0); /* a line without its newline is ignored */
    CHECK_INT(large->results[0].stats.n, 40000);
    CHECK_NEAR(large->results[0].stats.value[79999], 1.25, 0);
    check_run(&x, "stops", "killed", 75, -1, "stopped by another process");
    arena_free(&a);
    reader_close(r);
    free(program);
    free((char *)b.o.path);
}

/* A worker that gives back its run at once is not started again and again. */
static void test_given_back(void)
{
    char *program = worker_script("back.sh", "exit 75");
    static const char *const rows[] = {"one"};
    bench b;
    err e = {0};
    launch_result got;
    bench_open(&b, "back.db", rows, 1);
    launch_options o = options_of(&b, program);
    CHECK_INT(launch_runs(b.d, &o, &got, &e), 0);
    CHECK_INT(got.killed, 1);
    CHECK_INT(got.left, 1);
    db_close(b.d);
    free(program);
    free((char *)b.o.path);
}

static void test_no_program(void)
{
    static const char *const rows[] = {"one", "two"};
    bench b;
    err e = {0};
    launch_result got;
    bench_open(&b, "none.db", rows, LENGTH(rows));
    launch_options o = options_of(&b, "/nowhere/ablate");
    CHECK_INT(launch_runs(b.d, &o, &got, &e), 0);
    CHECK_INT(got.failed, 2);
    CHECK_INT(got.left, 0);
    db_close(b.d);
    free((char *)b.o.path);
}

static void test_events(void)
{
    int ends[2];
    char text[512], *f[8];
    CHECK_INT(pipe(ends), 0);
    events_open(ends[1]);
    event_fact("a\tkey", "back\\slash, tab\t, line\nend");
    event_point("dev_PPL", 3, 0.1);
    ssize_t n = read(ends[0], text, sizeof text - 1);
    text[n > 0 ? n : 0] = 0;
    char *second = strchr(text, '\n');
    CHECK(second != NULL);
    *second++ = 0;
    CHECK_INT(event_split(text, f, 8), 3);
    CHECK_TEXT(f[1], "a\tkey");
    CHECK_TEXT(f[2], "back\\slash, tab\t, line\nend");
    CHECK_INT(event_split(second, f, 8), 4);
    CHECK_NEAR(strtod(f[3], NULL), 0.1, 0);
    char three[] = "a\tb\tc\td";
    CHECK_INT(event_split(three, f, 3), 3);
    CHECK_TEXT(f[2], "c\td");
    char empty[] = "";
    CHECK_INT(event_split(empty, f, 3), 1);
    double *v = event_stats("1\t2.5\t-3\t4", 2, 2);
    CHECK(v != NULL);
    CHECK_NEAR(v ? v[1] : 0, 2.5, 0);
    free(v);
    CHECK(!event_stats("1\t2", 3, 1));
    CHECK(!event_stats("1\tx", 2, 1));
    CHECK(!event_stats("1\t2", SIZE_MAX / 2 + 2, 2)); /* the product overflows 64 bits, to 4 */
    CHECK(!event_stats("1\t2", (size_t)1 << 40, 1));
    close(ends[0]);
    CHECK(!events_broken());
    event_phase("alone");
    CHECK(events_broken());
    close(ends[1]);
    /* after one line is lost no further line is sent, though the pipe works again */
    int was = ends[1];
    CHECK_INT(pipe(ends), 0);
    CHECK_INT(dup2(ends[1], was), was);
    event_phase("after");
    close(was);
    close(ends[1]);
    CHECK_INT(read(ends[0], text, 1), 0);
    close(ends[0]);
    events_open(-1);
}

/* Interrupted while a worker runs: the host stops the worker, counts the remaining runs and starts none. */
static void test_interrupt(void)
{
    static const char *const rows[] = {"one", "two", "three"};
    char *program = worker_script(
        "waits.sh", "trap 'exit 75' TERM\nkill -INT $PPID\nfor i in $(seq 600); do sleep 0.05; done\nexit 1");
    bench b;
    err e = {0};
    launch_result got;
    bench_open(&b, "waits.db", rows, LENGTH(rows));
    launch_options o = options_of(&b, program);
    o.workers = 1;
    CHECK_INT(launch_runs(b.d, &o, &got, &e), 0);
    CHECK_INT(got.interrupted, SIGINT);
    CHECK_INT(got.left, 3);
    CHECK_INT(got.failed, 0);
    struct sigaction now;
    sigaction(SIGINT, NULL, &now);
    CHECK(now.sa_handler == SIG_DFL);
    db_close(b.d);
    free(program);
    free((char *)b.o.path);
}

/* Waits for the file `when`, gives the running run to another owner, as after an expired lease, and creates the file
 * `done`. */
static void steal(const char *path, const char *when, const char *done)
{
    sqlite3 *q = NULL;
    for (int i = 0; i < 1500 && !file_exists(when); i++) usleep(20000);
    int bad =
        sqlite3_open(path, &q) || sqlite3_busy_timeout(q, 20000) ||
        sqlite3_exec(q, "UPDATE run SET owner='thief', attempt=attempt+1 WHERE status='running'", NULL, NULL, NULL);
    sqlite3_close(q);
    bad |= file_write(done, "", 0, NULL) != 0;
    _exit(bad ? 1 : 0);
}

/* Another process takes over a run while its worker runs: the host kills that worker and continues with the other
 * runs. */
static void test_taken_over(void)
{
    static const char *const rows[] = {"lost", "kept"};
    char *when = in_folder("when"), *done = in_folder("done"), *path = in_folder("taken.db");
    char *body = xprintf("case $row in *lost*) touch %s; while ! [ -e %s ]; do sleep 0.02; done\n"
                         "    printf 'point\\tx\\t1\\t1\\n' >&3; sleep 60;;\nesac\necho end >&3",
                         when, done);
    char *program = worker_script("taken.sh", body);
    int status = -1;
    pid_t thief = fork(); /* must fork before this process opens the database */
    if (thief == 0) steal(path, when, done);
    bench b;
    err e = {0};
    launch_result got;
    bench_open(&b, "taken.db", rows, LENGTH(rows));
    launch_options o = options_of(&b, program);
    o.workers = 1;
    double start = ticks();
    CHECK_INT(launch_runs(b.d, &o, &got, &e), 0);
    CHECK_TEXT(e.text, "");
    CHECK(ticks() - start < 40);
    CHECK_INT(got.done, 1);
    CHECK_INT(got.left, 1);
    CHECK_INT(waitpid(thief, &status, 0), thief);
    CHECK_INT(status, 0);
    db_close(b.d);
    free(program), free(body), free(when), free(done), free(path);
    free((char *)b.o.path);
}

/* A step that never ends: the host warns, asks the worker to stop, and kills it. The run fails with this reason; the
 * others continue. */
static void test_watchdog(void)
{
    static const char *const rows[] = {"loops", "naps", "after"};
    char *program = worker_script(
        "loops.sh", "printf 'phase\ttrain\nprogress\t5\t10\t9\t9\n' >&3\n"
                    "case $row in *loops*) trap '' TERM; while :; do sleep 0.02; done ;;\n"
                    "*naps*) (sleep 2.5; kill -CONT $$) >/dev/null 3>&- & kill -STOP $$ ;; esac\necho end >&3");
    bench b;
    err e = {0};
    launch_result got;
    bench_open(&b, "loops.db", rows, LENGTH(rows));
    launch_options o = options_of(&b, program);
    o.step_limit = 1;
    CHECK_INT(launch_runs(b.d, &o, &got, &e), 0);
    CHECK_INT(got.done, 2);
    CHECK_INT(got.failed, 1);
    db_close(b.d);
    arena a = {0};
    read_experiment x;
    reader *r = reader_open(&b.o, &e);
    CHECK_INT(reader_experiment(r, "test", READ_VALUES, &a, &x, &e), 0);
    check_run(&x, "loops", "failed", -1, SIGKILL, "ended after 1 s without a step, after step 5 (--step-limit)");
    check_run(&x, "naps", "done", 0, -1, NULL); /* the worker was stopped by a signal for longer than the limit */
    check_run(&x, "after", "done", 0, -1, NULL);
    arena_free(&a);
    reader_close(r);
    free(program);
    free((char *)b.o.path);
}

int main(void)
{
    snprintf(folder, sizeof folder, "%s", "/tmp/ablate-launch-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    signal(SIGINT, SIG_DFL);
    test_events();
    test_ends();
    test_watchdog();
    test_given_back();
    test_no_program();
    test_interrupt();
    test_taken_over();
    char *away = xprintf("rm -rf %s", folder);
    if (system(away)) printf("%s is left\n", folder);
    free(away);
    return test_end();
}
