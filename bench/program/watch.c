/* watch.c - times the frames of `ablate watch` for ablate-bench host. */
#include "bench/program/bench.h"
#include "bench/program/host.h"
#include "lab/report/watch.h"
#include <stdlib.h>
#include <sys/resource.h>

enum { SEEDS = 10, UNDER_WAY = 8, CURVE = 20, FRAMES = 40 };

static double processor_time(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* Starts a run, with a curve of CURVE points. */
static int begin(bench *b, const db_claim *c, err *e)
{
    db_point p[CURVE];
    for (int64_t k = 0; k < CURVE; k++) p[k] = (db_point){"dev_PPL", (k + 1) * 50, bench_value(c->run, k)};
    return db_points(b->d, c, p, CURVE, e) || db_heartbeat(b->d, c, CURVE * 50, CURVE * 100, BENCH_LEASE, e);
}

static int end(bench *b, const db_claim *c, err *e)
{
    db_result ppl = {.metric = "PPL", .direction = "min", .value = bench_value(c->run, 0), .how = "last"},
              acc = {.metric = "acc", .direction = "max", .value = 100 / bench_value(c->run, 1), .how = "last"};
    return db_put_result(b->d, c, &ppl, e) || db_put_result(b->d, c, &acc, e) ||
           db_finish(b->d, c, DB_DONE, 0, -1, NULL, e);
}

static int draw_frames(bench *b, db_claim *under_way, bench_frame *out, err *e)
{
    double clock[FRAMES], spent = 0;
    watch_view v = {.columns = 120, .lines = 50};
    watch_source *w = watch_source_open(&(db_options){.path = b->path}, "watched", e);
    int bad = !w;
    for (int64_t i = -1; i < FRAMES && !bad; i++) { /* the first frame reads all and is not counted */
        const db_claim *c = &under_way[(i + 1) % UNDER_WAY];
        db_point p = {"dev_PPL", 1100 + i, bench_value(c->run, i)};
        str frame = {0};
        size_t wrong;
        bad = db_points(b->d, c, &p, 1, e) || db_heartbeat(b->d, c, 1100 + i, CURVE * 100, BENCH_LEASE, e);
        double start = ticks(), cpu = processor_time();
        bad = bad || watch_source_draw(w, &v, now(), &frame, &wrong, e);
        if (i >= 0) clock[i] = ticks() - start, spent += processor_time() - cpu;
        str_free(&frame);
    }
    watch_source_close(w);
    if (!bad) *out = (bench_frame){stats_median(clock, FRAMES), spent / FRAMES};
    return bad ? -1 : 0;
}

int bench_watch(bench *b, bench_frame *out, err *e)
{
    int64_t *ids = NULL, rows = (b->o->watched + SEEDS - 1) / SEEDS, n = rows * SEEDS, done = n * 9 / 10;
    db_claim under_way[UNDER_WAY] = {0};
    int bad = bench_make(b, "watched", (size_t)rows, SEEDS, &ids, e);
    for (int64_t i = 0; i < done + UNDER_WAY && !bad; i++) {
        db_claim done_one, *c = i < done ? &done_one : &under_way[i - done];
        if ((bad = bench_claim(b, "watched", &ids[i % n], c, e))) break;
        bad = begin(b, c, e) || (i < done && end(b, c, e));
        if (i < done) db_claim_free(c);
    }
    if (!bad) bad = draw_frames(b, under_way, out, e);
    for (size_t i = 0; i < UNDER_WAY; i++) db_claim_free(&under_way[i]);
    free(ids);
    return bad ? -1 : 0;
}
