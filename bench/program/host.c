/* host.c - ablate-bench host: measures the host and its database at the load of a large cluster, with simulated
 * workers. Their events take the real path: lines of text that the launcher's own functions read and record. */
#include "bench/program/bench.h"
#include "bench/program/host.h"
#include "cli/options.h"
#include "lab/report/table.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RUNS_OF_ONE = 1000 };

double bench_value(int64_t run, int64_t step) { return 5 + (double)((run * 7919 + step * 104729) % 1000003) / 1e5; }

int bench_make(bench *b, const char *name, size_t rows, size_t seeds, int64_t **ids, err *e)
{
    arena a = {0};
    db_row_spec *row = arena_alloc(&a, rows * sizeof *row);
    int64_t *seed = arena_alloc(&a, seeds * sizeof *seed);
    for (size_t i = 0; i < seeds; i++) seed[i] = (int64_t)i + 1;
    for (size_t i = 0; i < rows; i++) {
        char *json = arena_printf(&a, "{\"steps\":%zu}", i + 1);
        row[i] = (db_row_spec){.group = i ? "a" : "",
                               .name = i ? arena_printf(&a, "a/steps=%zu", i + 1) : "base",
                               .change = i ? arena_printf(&a, "steps=%zu", i + 1) : "",
                               .is_base = !i,
                               .config_json = json,
                               .config_hash = arena_printf(&a, "%s-%012zu", name, i)};
    }
    db_experiment_spec x = {.name = name, .spec_ini = "", .rows = row, .n_rows = rows, .seeds = seed, .n_seeds = seeds};
    db_frozen *frozen = NULL;
    size_t n = 0;
    int bad = db_freeze(b->d, &x, &frozen, &n, e);
    *ids = xcalloc(n + 1, sizeof **ids);
    for (size_t i = 0; i < n; i++) (*ids)[i] = frozen[i].id;
    free(frozen);
    arena_free(&a);
    return bad;
}

int bench_claim(bench *b, const char *name, const int64_t *id, db_claim *out, err *e)
{
    int got = db_claim_next(b->d, name, &(db_queue){id, 1, 0}, b->l->owner, BENCH_LEASE, out, e);
    return got == 1 ? 0 : got < 0 ? -1 : fail(e, "%s: found no run left to claim", name);
}

/* Records events of many workers, interleaved, as they arrive over pipes. */
static int measure_events(bench *b, double *per_second, err *e)
{
    enum { TOGETHER = 8 };
    const host_options *o = b->o;
    size_t n = (size_t)o->workers;
    int64_t *ids = NULL, told = 0;
    worker *w = xcalloc(n, sizeof *w);
    int bad = bench_make(b, "events", n, 1, &ids, e);
    for (size_t i = 0; i < n && !bad; i++) w[i].fd = -1, bad = bench_claim(b, "events", &ids[i], &w[i].claim, e);
    double start = ticks();
    for (int64_t step = 0; told < o->events && !bad; step += TOGETHER)
        for (size_t i = 0; i < n && !bad; i++) {
            for (int64_t k = step + 1; k <= step + TOGETHER; k++, told++)
                str_addf(&w[i].buffer, "point\ttrain_PPL\t%lld\t%.17g\n", (long long)k, bench_value((int64_t)i, k));
            bad = launch_collect_events(b->l, &w[i], e);
        }
    *per_second = (double)told / (ticks() - start);
    for (size_t i = 0; i < n; i++) worker_clear(&w[i]);
    free(w);
    free(ids);
    return bad;
}

/* Records runs with their whole curves, in experiments of RUNS_OF_ONE runs. */
static int time_runs(bench *b, double *per_second, double *claims_second, err *e)
{
    const host_options *o = b->o;
    db_point *p = xcalloc((size_t)o->points + 1, sizeof *p);
    double claiming = 0, start = ticks();
    int64_t done = 0;
    int bad = 0;
    for (int64_t x = 0; done < o->runs && !bad; x++) {
        int64_t *ids = NULL, left = o->runs - done, n = left < RUNS_OF_ONE ? left : RUNS_OF_ONE;
        char name[32];
        snprintf(name, sizeof name, "runs%lld", (long long)x);
        bad = bench_make(b, name, (size_t)((n + 9) / 10), 10, &ids, e);
        for (int64_t i = 0; i < n && !bad; i++, done++) {
            db_claim c;
            double t = ticks();
            if ((bad = bench_claim(b, name, &ids[i], &c, e))) break;
            claiming += ticks() - t;
            for (int64_t k = 0; k < o->points; k++) p[k] = (db_point){"train_PPL", k * 50, bench_value(done, k)};
            bad = db_points(b->d, &c, p, (size_t)o->points, e) || db_finish(b->d, &c, DB_DONE, 0, -1, NULL, e);
            db_claim_free(&c);
        }
        free(ids);
    }
    *per_second = (double)(done * o->points) / (ticks() - start);
    *claims_second = (double)done / claiming;
    free(p);
    return bad;
}

/* Records the runs of a table, each with two metrics and statistics of o->sentences sentences. */
static int fill_table(bench *b, err *e)
{
    const host_options *o = b->o;
    int64_t *ids = NULL, n = o->rows * o->seeds;
    double *stats = xcalloc((size_t)o->sentences * 2 + 1, sizeof *stats);
    int bad = bench_make(b, "wide", (size_t)o->rows, (size_t)o->seeds, &ids, e);
    for (int64_t i = 0; i < n && !bad; i++) {
        db_claim c;
        if ((bad = bench_claim(b, "wide", &ids[i], &c, e))) break;
        for (int64_t k = 0; k < o->sentences; k++) stats[2 * k] = bench_value(i, k), stats[2 * k + 1] = 20;
        db_result ppl = {.metric = "PPL",
                         .direction = "min",
                         .signature = "exp(nll/token), EOS counted, dev",
                         .value = bench_value(i, 0),
                         .how = "last",
                         .stats = {(size_t)o->sentences, o->sentences ? 2 : 0, stats}};
        db_result f = {.metric = "acc", .direction = "max", .value = 100 / bench_value(i, 1), .how = "last"};
        bad = db_put_result(b->d, &c, &ppl, e) || db_put_result(b->d, &c, &f, e) ||
              db_finish(b->d, &c, DB_DONE, 0, -1, NULL, e);
        db_claim_free(&c);
    }
    free(stats);
    free(ids);
    return bad;
}

/* Returns the seconds that `ablate COMMAND WORD --db ...` takes, its start included; discards its output. */
static double seconds_of(const char *program, const char *line, const char *path, err *e)
{
    char *all = xprintf("'%s' %s --db '%s' >/dev/null 2>&1", program, line, path);
    double start = ticks();
    if (system(all)) fail(e, "`ablate %s` failed", line);
    free(all);
    return ticks() - start;
}

static double bytes_in(const char *path)
{
    struct stat s;
    return stat(path, &s) ? 0 : (double)s.st_size;
}

static void print_number(const char *key, double x, bool last) { printf("\"%s\":%.6g%s", key, x, last ? "}\n" : ","); }

static int measure_all(bench *b, const char *program, err *e)
{
    const host_options *o = b->o;
    double events, points, claims, before, few, many;
    bench_frame frame;
    if (bench_watch(b, &frame, e) || fill_table(b, e)) return -1;
    double first = seconds_of(program, "table wide", b->path, e), table = seconds_of(program, "table wide", b->path, e);
    if (measure_events(b, &events, e)) return -1;
    db_close(b->d); /* merges the write-ahead log, because the file's size is measured */
    before = bytes_in(b->path);
    if (!(b->l->d = b->d = db_open(&(db_options){.path = b->path}, e)) || time_runs(b, &points, &claims, e)) return -1;
    db_close(b->d);
    b->l->d = b->d = NULL;
    double bytes = (bytes_in(b->path) - before) / (double)(o->runs * o->points),
           ls = seconds_of(program, "ls", b->path, e);
    double ls_one = seconds_of(program, "ls runs0", b->path, e);
    if (e->text[0]) return -1;
    b->l->d = b->d = db_open(&(db_options){.path = b->path}, e);
    if (!b->d || bench_hosts(b, "few", 100, &few, e) || bench_hosts(b, "many", (size_t)o->queued, &many, e)) return -1;
    printf("{\"runs\":%lld,\"points\":%lld,\"workers\":%lld,\"rows\":%lld,\"seeds\":%lld,", (long long)o->runs,
           (long long)o->points, (long long)o->workers, (long long)o->rows, (long long)o->seeds);
    print_number("events_second", events, false);
    print_number("points_second", points, false);
    print_number("claims_second", claims, false);
    print_number("host_run_seconds_of_100", few, false);
    printf("\"queued\":%lld,", (long long)o->queued);
    print_number("host_run_seconds", many, false);
    print_number("bytes_point", bytes, false);
    print_number("table_first_seconds", first, false);
    print_number("table_seconds", table, false);
    print_number("ls_seconds", ls, false);
    print_number("ls_runs_seconds", ls_one, false);
    printf("\"watched\":%lld,", (long long)o->watched);
    print_number("watch_frame_seconds", frame.clock, false);
    print_number("watch_frame_processor_seconds", frame.processor, true);
    return 0;
}

static int host(const invocation *c, void *options)
{
    err e = {0};
    bench b = {.o = options};
    char *folder = xprintf("%s/ablate-bench-XXXXXX", b.o->folder);
    static const char *const beside[] = {"ablate"};
    char *program = file_of_program(beside, 1);
    if (b.o->keep && file_exists(b.o->keep)) {
        fail(&e, "%s: found a file there, expected none", b.o->keep);
        free(folder);
        return call_failed(c, &e);
    }
    if (!mkdtemp(folder)) {
        fail(&e, "%s: cannot create a folder there", b.o->folder);
        free(folder);
        return call_failed(c, &e);
    }
    b.path = path_join(folder, "results.db");
    b.l = xcalloc(1, sizeof *b.l);
    b.launch = (launch_options){.progress = PROGRESS_NONE, .program = c->p.program};
    *b.l = (launcher){.o = &b.launch, .out = &b.result, .p = {.mode = PROGRESS_NONE}};
    db_owner(b.l->owner);
    b.l->d = b.d = db_open(&(db_options){.path = b.path}, &e);
    int bad = !b.d || measure_all(&b, program, &e);
    db_close(b.d);
    if (!bad && b.o->keep && rename(b.path, b.o->keep))
        bad = fail(&e, "%s: %s (it must be on the file system of --folder)", b.o->keep, strerror(errno));
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < LENGTH(endings); i++) {
        char *file = xprintf("%s%s", b.path, endings[i]);
        unlink(file);
        free(file);
    }
    char *runs = xprintf("rm -rf '%s.runs'", b.path);
    if (system(runs)) log_line(LOG_WARN, "%s.runs: cannot be removed", b.path);
    free(runs);
    rmdir(folder);
    free(folder);
    free(b.path);
    free(b.l);
    return bad ? call_failed(c, &e) : 0;
}

#define AT(field) offsetof(host_options, field)
static const host_options defaults = {.folder = "/tmp",
                                      .runs = 100000,
                                      .points = 1000,
                                      .workers = 1000,
                                      .events = 1000000,
                                      .rows = 300,
                                      .seeds = 10,
                                      .sentences = 1000,
                                      .watched = 10000,
                                      .queued = 100000};
static const option options[] = {
    {"--folder", "FOLDER", "folder for the temporary database [/tmp]", OPTION_TEXT, AT(folder)},
    {"--keep", "FILE", "keep the database as this file", OPTION_TEXT, AT(keep)},
    {"--runs", "N", "runs with complete curves [100000]", OPTION_COUNT, AT(runs), 1, 1e8},
    {"--points", "N", "points per curve [1000]", OPTION_COUNT, AT(points), 1, 1e6},
    {"--workers", "N", "simulated workers that send events at the same time [1000]", OPTION_COUNT, AT(workers), 1, 1e6},
    {"--events", "N", "total number of events [1000000]", OPTION_COUNT, AT(events), 1, 1e9},
    {"--rows", "N", "rows of the table [300]", OPTION_COUNT, AT(rows), 1, 1e6},
    {"--seeds", "N", "seeds of each row [10]", OPTION_COUNT, AT(seeds), 1, 1e6},
    {"--sentences", "N", "sentences with statistics in each run of the table; 0: none [1000]", OPTION_COUNT,
     AT(sentences), 0, 1e6},
    {"--watched", "N", "runs of an experiment that `ablate watch` shows, nine tenths done [10000]", OPTION_COUNT,
     AT(watched), 10, 1e6},
    {"--queued", "N", "queued runs that two hosts share for some seconds, compared with 100 [100000]", OPTION_COUNT,
     AT(queued), 100, 1e6},
    {0}};
const command host_command = {.name = "host",
                              .part = FOR_SPEED,
                              .does = "measure the host and its database at the size of a large cluster; prints JSON",
                              .about =
                                  "The default size takes some minutes and 4 GB of disk. docs/cluster.md has figures.",
                              .options = options,
                              .defaults = &defaults,
                              .size = sizeof defaults,
                              .run = host,
                              .example = "ablate-bench host --runs 1000 --points 100"};
