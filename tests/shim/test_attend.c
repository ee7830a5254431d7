/* test_attend.c - ATTEND and ATTEND_BACK: sentences shorter and longer than a tile and than one step of the backward
 * pass covers, empty sentences, batches without a sentence, heads of every width; q, k and v in one tensor or in two,
 * beside columns that no operand uses and at addresses that 16-byte loads cannot use. Rows outside of sentences are NaN
 * at first: no kernel may read them. */
#include "attend_setting.h"

/* A sentence's bits do not depend on the batch's other sentences (batch_invariant). */
static void check_company(dtype type)
{
    enum { LONG = 37, BEFORE = 5, ROWS = 63, HEADS = 2, WIDTH = HEADS * 16 };
    view q = randoms(tensor(type, 1, 1, ROWS, 3 * WIDTH)), y = tensor(type, 1, 1, ROWS, WIDTH),
         lse = tensor(F32, 1, 1, ROWS, HEADS);
    view all = ids_of(5, (int32_t[]){0, BEFORE, BEFORE + LONG, BEFORE + LONG + 1, ROWS}),
         alone = ids_of(2, (int32_t[]){0, LONG});
    size_t row = (size_t)WIDTH * dtype_size(type);
    char *bits[2];
    float sum[2][ROWS * HEADS];
    for (int run = 0; run < 2; run++) {
        view off = run ? alone : all, x = q, out = y, sums = lse;
        x.data = gpu_copy_of((char *)q.data + (run ? BEFORE * 3 * row : 0), (run ? LONG : ROWS) * 3 * row);
        out.data = gpu_alloc(bytes_of_view(&y)), sums.data = gpu_alloc(bytes_of_view(&lse));
        off.data = gpu_copy_of(off.data, bytes_of_view(&off));
        x.dim[2] = out.dim[2] = sums.dim[2] = run ? LONG : ROWS;
        call k = {.op = OP_ATTEND,
                  .n_in = 5,
                  .n_out = 2,
                  .in = {x, x, x, off, off},
                  .out = {out, sums},
                  .a = {.ATTEND = {.scale = 0.3,
                                   .k_column = WIDTH,
                                   .v_column = 2 * WIDTH,
                                   .heads = HEADS,
                                   .d_k = 16,
                                   .d_v = 16,
                                   .causal = 1,
                                   .most_keys = LONG}}};
        err e = {{0}};
        CHECK_THAT(!cuda_ATTEND(&k, &e), "%s", e.text);
        bits[run] = xmalloc(ROWS * row);
        gpu_copy_out(bits[run], out.data, bytes_of_view(&out));
        gpu_copy_out(sum[run], sums.data, bytes_of_view(&sums));
        gpu_release(x.data), gpu_release(out.data), gpu_release(sums.data), gpu_release(off.data);
    }
    CHECK_THAT(!memcmp(bits[0] + BEFORE * row, bits[1], LONG * row), "%s: other bits in company than alone",
               dtype_name(type));
    CHECK_THAT(!memcmp(sum[0] + BEFORE * HEADS, sum[1], LONG * HEADS * sizeof(float)),
               "%s: other sums in company than alone", dtype_name(type));
    free(bits[0]), free(bits[1]);
    free(q.data), free(y.data), free(lse.data), free(all.data), free(alone.data);
}

/* ---- tables of tiles ---- */

/* mirrors attend_place of attend_tile.h */
typedef struct {
    int32_t own, n_own, other, n_other, first, n, sentence, whole;
} listed;

/* Lists the tiles that the table must have, sentence by sentence; returns their number. */
static int64_t expected_tiles(const gpu_tile_shape *s, const int32_t *own, const int32_t *other, listed *at)
{
    int64_t n = 0;
    for (int b = 0; b <= s->sentences; b++) {
        bool dummies = b == s->sentences;
        int32_t mine = (dummies ? s->own_rows : own[b + 1]) - own[b],
                theirs = (dummies ? s->other_rows : other[b + 1]) - other[b];
        int32_t longest = s->both && theirs > mine ? theirs : mine;
        if (!s->both && dummies) theirs = 0;
        bool whole = s->both && !dummies && longest <= s->whole;
        for (int32_t i = 0; i < longest && !(whole && i); i += s->rows) {
            int32_t rows = mine - i < s->rows ? mine - i : s->rows;
            at[n++] = (listed){own[b], mine, !s->both && dummies ? 0 : other[b], theirs, i, rows, b, whole};
        }
    }
    return n;
}

static void check_table(const char *name, int sentences, int rows, bool both, int whole, const view *own,
                        const view *other)
{
    gpu_tile_shape s = {.sentences = sentences,
                        .own_rows = (int)get(own, sentences) + 40,
                        .other_rows = (int)get(other, sentences) + 100,
                        .rows = rows,
                        .both = both,
                        .whole = whole};
    s.own = gpu_copy_of(own->data, bytes_of_view(own)), s.other = gpu_copy_of(other->data, bytes_of_view(other));
    size_t bytes = gpu_tile_bytes(&s);
    int32_t *to = gpu_alloc(bytes), *found = xmalloc(bytes);
    listed *expected = xcalloc((size_t)(s.own_rows + s.other_rows), sizeof *expected);
    int64_t n = expected_tiles(&s, own->data, other->data, expected), wrong = -1;
    CHECK_THAT(!gpu_list_tiles(1, &s, &to), "%s: %s", name, gpu_error());
    gpu_copy_out(found, to, bytes);
    CHECK_THAT(found[0] == n && (size_t)(n + 1) * sizeof(listed) <= bytes, "%s: %d tiles in %zu bytes, expected %lld",
               name, found[0], bytes, (long long)n);
    for (int64_t i = 0; i < n && found[0] == n && wrong < 0; i++)
        if (memcmp((listed *)found + 1 + i, &expected[i], sizeof *expected)) wrong = i;
    const listed *f = (listed *)found + 1 + (wrong < 0 ? 0 : wrong), *e = &expected[wrong < 0 ? 0 : wrong];
    CHECK_THAT(wrong < 0, "%s: tile %lld is %d %d | %d %d | %d %d | %d %d, expected %d %d | %d %d | %d %d | %d %d",
               name, (long long)wrong, f->own, f->n_own, f->other, f->n_other, f->first, f->n, f->sentence, f->whole,
               e->own, e->n_own, e->other, e->n_other, e->first, e->n, e->sentence, e->whole);
    gpu_release((void *)s.own), gpu_release((void *)s.other), gpu_release(to);
    free(found), free(expected);
}

static void check_tables(void)
{
    enum { MANY = 700 };
    int64_t longest;
    int32_t lengths[2][10] = {{0, 1, 16, 17, 64, 65, 130, 3, 0, 32}, {5, 0, 64, 65, 64, 2, 20, 70, 0, 33}};
    /* the numbers of sentences: a block lists 256 of them, dummies included */
    const int counts[] = {0, 5, 10, 255, 256, 257, MANY};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        int n = counts[i];
        view own = offsets_of(n, lengths[0], &longest), other = offsets_of(n, lengths[1], &longest);
        check_table("tiles of 16", n, 16, false, 0, &own, &other);
        check_table("tiles of 32", n, 32, false, 0, &other, &own);
        check_table("tiles of both sides", n, 16, true, 0, &own, &other);
        check_table("whole sentences", n, 32, true, 64, &own, &other);
        free(own.data), free(other.data);
    }
    all_pairs = true;
    view pairs = offsets_of(MANY, lengths[0], &longest);
    all_pairs = false;
    check_table("pairs", MANY, 16, false, 0, &pairs, &pairs);
    check_table("whole pairs", MANY, 16, true, 64, &pairs, &pairs);
    free(pairs.data);
}

/* ---- warps ---- */

#ifdef GPU_ON_CPU

/* Counts the warps that start if a graph captured for thousands of sentences runs a batch of fewer; nothing is
 * computed. */
static void check_warps(void)
{
    enum { ROWS = 25000, SENTENCES = 12500, USUAL = 1000, HEADS = 8, WIDTH = HEADS * 8 };
    view q = tensor(BF16, 1, 1, ROWS, 3 * WIDTH), y = tensor(BF16, 1, 1, ROWS, WIDTH),
         lse = tensor(F32, 1, 1, ROWS, HEADS);
    view off = tensor(I32, 1, 1, 1, SENTENCES + 1);
    call k = {.op = OP_ATTEND,
              .n_in = 5,
              .n_out = 2,
              .in = {q, q, q, off, off, y, lse, y},
              .out = {y, lse},
              .a = {.ATTEND = {.scale = 1,
                               .k_column = WIDTH,
                               .v_column = 2 * WIDTH,
                               .heads = HEADS,
                               .d_k = 8,
                               .d_v = 8,
                               .most_keys = 64,
                               .most_queries = 64}}};
    int64_t tiles = USUAL * 2 /* for sentences of 25 rows */, warps[2];
    err e = {{0}};
    gpu_dry = 1;
    for (int back = 0; back < 2; back++) {
        gpu_tally before = gpu_done;
        if (back) k.op = OP_ATTEND_BACK, k.n_in = 8, k.out[0] = q, k.out[1] = (view){.type = BF16, .param = -1};
        CHECK_THAT(!(back ? cuda_ATTEND_BACK : cuda_ATTEND)(&k, &e), "%s", e.text);
        warps[back] = gpu_done.warps - before.warps;
    }
    gpu_dry = 0;
    CHECK_THAT(warps[0] <= 2 * tiles * HEADS, "forward: %lld warps for %lld tiles of %d heads", (long long)warps[0],
               (long long)tiles, HEADS);
    CHECK_THAT(warps[1] <= 2 * 2 * USUAL * HEADS, "backward: %lld warps for %d sentences of %d heads",
               (long long)warps[1], USUAL, HEADS);
    free(q.data), free(y.data), free(lse.data), free(off.data);
}
#endif

static void check_refusals(void)
{
    view q = randoms(tensor(F32, 1, 1, 4, 12)), off = ids_of(2, (int32_t[]){0, 4});
    view y = tensor(F32, 1, 1, 4, 4), lse = tensor(F32, 1, 1, 4, 1);
    call k = {
        .op = OP_ATTEND,
        .n_in = 5,
        .n_out = 2,
        .in = {q, q, q, off, off},
        .out = {y, lse},
        .a = {.ATTEND = {.scale = 1, .k_column = 4, .v_column = 8, .heads = 1, .d_k = 4, .d_v = 4, .most_keys = 4}}};
    err e = {{0}};
    k.a.ATTEND.d_k = 513;
    CHECK_REFUSED(cuda_ATTEND(&k, &e), &e, "513");
    k.a.ATTEND.d_k = 4, k.in[0].type = F64, e = (err){{0}};
    CHECK_REFUSED(cuda_ATTEND(&k, &e), &e, "fp64");
    release_views(&k);
}

int main(void)
{
    start();
    static const setting settings[] = {
        {"all lengths", 1, 16, 16, 0, true, false, 0, 9, {0, 1, 15, 16, 17, 28, 64, 65, 130}, {0}},
        {"all lengths, causal, dropout", 1, 32, 32, 0, true, true, 0.3, 9, {130, 65, 64, 28, 17, 16, 15, 1, 0}, {0}},
        {"cross, dropout", 1, 64, 64, 0, false, false, 0.1, 7, {3, 0, 40, 1, 17, 5, 33}, {35, 4, 0, 70, 16, 1, 33}},
        {"cross, causal", 1, 16, 24, 8, false, true, 0, 4, {20, 3, 40, 7}, {5, 9, 33, 0}},
        {"d 8", 2, 8, 8, 0, true, true, 0.2, 3, {33, 2, 18}, {0}},
        {"d 20", 2, 20, 20, 0, true, true, 0.2, 3, {5, 34, 16}, {0}},
        {"d 40 and 24", 2, 40, 24, 0, true, false, 0.1, 3, {17, 1, 20}, {0}},
        {"d 7 and 65, odd columns", 2, 7, 65, 1, false, false, 0.1, 3, {9, 20, 0}, {33, 2, 5}},
        {"d 64, columns of nobody", 1, 64, 64, 8, true, true, 0.1, 2, {28, 31}, {0}},
        {"d 64, odd columns", 1, 64, 64, 3, true, false, 0, 2, {18, 2}, {0}},
        {"d 128", 1, 128, 128, 0, true, true, 0.1, 2, {34, 3}, {0}},
        {"d 16 and 128", 1, 16, 128, 0, false, false, 0.1, 2, {17, 3}, {5, 40}},
        {"d 256 and 128", 1, 256, 128, 0, true, false, 0, 2, {17, 1}, {0}},
        {"d 512", 1, 512, 512, 0, true, true, 0.1, 1, {17}, {0}},
        {"d 64 and 512", 1, 64, 512, 0, false, false, 0, 1, {5}, {33}},
        {"d 510 and 1", 1, 510, 1, 0, true, false, 0.5, 1, {17}, {0}},
        {"short and long, causal, dropout",
         3,
         16,
         24,
         8,
         true,
         true,
         0.25,
         10,
         {1, 70, 64, 65, 33, 0, 48, 2, 63, 17},
         {0}},
        {"short and long, cross",
         2,
         8,
         8,
         0,
         false,
         false,
         0.25,
         10,
         {64, 1, 65, 64, 33, 0, 16, 2, 70, 40},
         {64, 70, 3, 65, 48, 5, 0, 63, 1, 17}},
        {"short and long, cross, causal",
         1,
         32,
         32,
         0,
         false,
         true,
         0.25,
         6,
         {64, 20, 65, 33, 1, 50},
         {20, 64, 30, 48, 60, 49}},
        {"d 128, cross, dropout", 1, 128, 128, 0, false, true, 0.1, 3, {60, 17, 1}, {33, 64, 50}},
        {"one sentence of one", 1, 64, 64, 0, true, true, 0, 1, {1}, {0}},
        {"no sentence at all", 2, 16, 16, 0, true, true, 0.1, 0, {0}, {0}},
        {"empty sentences", 2, 16, 16, 0, false, false, 0.1, 4, {0, 0, 0, 0}, {0, 0, 0, 0}},
        {"counters beyond 32 bits", 64, 8, 8, 0, false, false, 0.2, 2, {513, 9}, {3, 40}},
        {"keys without queries", 1, 32, 32, 0, false, false, 0.1, 2, {0, 0}, {5, 40}},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        /* under a sanitizer 64 heads take a minute, so fp32 is left out: it differs from bf16 only in its products */
        if (!TEST_SANITIZED || settings[i].heads < 64) check_setting(F32, &settings[i], true);
        check_setting(BF16, &settings[i], true);
    }
    /* scale 0 gives all keys equal weight; scale -1 gives the most weight to the keys that are least like a query */
    for (times = 0; times >= -1 && !TEST_SANITIZED; times--)
        for (size_t i = 0; i < 7; i++) {
            check_setting(F32, &settings[i], true);
            check_setting(BF16, &settings[i], true);
        }
    times = 1;
    /* more sentences than a warp searches at once, most of them empty */
    setting many = {"many sentences", 1, 8, 8, 0, true, false, 0, 200, {2, 0, 0, 1, 0, 20}, {0}};
    check_setting(BF16, &many, true);
    /* more tiles than the grid processes at once */
    setting pairs = {"pairs", 1, 8, 8, 0, true, true, 0.3, 150, {0}, {0}};
    all_pairs = true;
    check_setting(BF16, &pairs, true);
    check_setting(F32, &pairs, true);
    all_pairs = false;
    check_company(F32);
    check_company(BF16);
    check_tables();
#ifdef GPU_ON_CPU
    check_warps();
#endif
    for (size_t i = 0; i < LENGTH(settings); i++) { /* one long sentence, for heads of all widths */
        setting one = settings[i];
        if (one.d_k < 40 || (one.d_k != 128 && !test_long())) continue;
        one.n = 1, one.q[0] = 66, one.k[0] = one.self ? 0 : 67;
        check_setting(F32, &one, true);
        check_setting(BF16, &one, true);
    }
    check_refusals();
    return finish();
}
