/* test_sets.c - all instruction sets of this machine give equal results: on fp32 rows AVX2 and the AVX-512 sets agree
 * bit for bit; plain x86-64, which has no fused multiply-add, agrees but for rounding. */
#include "fused_case.h"
#include "tensor/graph/op.h"

enum { ROWS = 37, WIDTH = 150, HEADS = 3, D = 20, V = 1300 };

typedef struct { /* outputs computed with one instruction set */
    view v[16];
    int n;
} outcome;

static view kept(outcome *o, view v)
{
    o->v[o->n++] = v;
    return v;
}

static void norms(outcome *o)
{
    view x = random_view(F32, ROWS, WIDTH, 1), s = random_view(F32, ROWS, WIDTH, 2),
         gain = random_view(F32, 1, WIDTH, 3), bias = random_view(F32, 1, WIDTH, 4),
         dy = random_view(F32, ROWS, WIDTH, 5);
    view y = kept(o, new_view(F32, ROWS, WIDTH)), z = kept(o, new_view(F32, ROWS, WIDTH)),
         stats = kept(o, new_view(F32, ROWS, 2));
    attr a = {.NORM = {.p = 0.1, .eps = 1e-5, .place = 3, .has_sublayer = 1}};
    call f = {.op = OP_NORM,
              .n_in = 4,
              .n_out = 3,
              .in = {x, s, gain, bias},
              .out = {y, z, stats},
              .a = a,
              .training = true,
              .seed = 9};
    RUN(NORM, f);
    view dz = kept(o, new_view(F32, ROWS, WIDTH)), ds = kept(o, new_view(F32, ROWS, WIDTH)),
         dgain = kept(o, new_view(F32, 1, WIDTH)), dbias = kept(o, new_view(F32, 1, WIDTH));
    call g = {.op = OP_NORM_BACK,
              .n_in = 4,
              .n_out = 4,
              .in = {z, stats, gain, dy},
              .out = {dz, ds, dgain, dbias},
              .a = a,
              .training = true,
              .seed = 9};
    RUN(NORM_BACK, g);
    free_views((view[]){x, s, gain, bias, dy}, 5);
}

static void losses(outcome *o)
{
    view logits = kept(o, random_view(F32, ROWS, V, 6)), target = new_view(I32, 1, ROWS),
         norm = random_view(F32, 1, 1, 7);
    for (int r = 0; r < ROWS; r++) set(&target, r, r % 5 ? r * 31 % V : -1);
    view loss = kept(o, new_view(F32, ROWS, 2));
    call f = {.op = OP_CE,
              .n_in = 3,
              .n_out = 2,
              .in = {logits, target, norm},
              .out = {loss, logits},
              .a = {.CE = {.smoothing = 0.1, .gradient = 1}}};
    RUN(CE, f);
    free_views((view[]){target, norm}, 2);
}

static void attention(outcome *o)
{
    view qkv = random_view(F32, ROWS, 3 * HEADS * D, 8), off = ids_view(4, (int32_t[]){0, 3, 20, ROWS}),
         dy = random_view(F32, ROWS, HEADS * D, 9);
    view y = kept(o, new_view(F32, ROWS, HEADS * D)), lse = kept(o, new_view(F32, ROWS, HEADS)),
         d = kept(o, new_view(F32, ROWS, 3 * HEADS * D));
    attr a = {.ATTEND = {.p = 0.1,
                         .scale = 0.3,
                         .place = 2,
                         .k_column = HEADS * D,
                         .v_column = 2 * HEADS * D,
                         .heads = HEADS,
                         .d_k = D,
                         .d_v = D,
                         .causal = 1,
                         .most_keys = 17}};
    call f = {.op = OP_ATTEND,
              .n_in = 5,
              .n_out = 2,
              .in = {qkv, qkv, qkv, off, off},
              .out = {y, lse},
              .a = a,
              .training = true,
              .seed = 9};
    RUN(ATTEND, f);
    call g = {.op = OP_ATTEND_BACK,
              .n_in = 8,
              .n_out = 2,
              .in = {qkv, qkv, qkv, off, off, y, lse, dy},
              .out = {d},
              .a = a,
              .training = true,
              .seed = 9};
    RUN(ATTEND_BACK, g);
    free_views((view[]){qkv, off, dy}, 3);
}

static void generic(outcome *o)
{
    view x = random_view(F32, ROWS, WIDTH, 10), y = random_view(F32, ROWS, WIDTH, 11);
    for (int f = AB_EXP; f <= AB_TANH; f++) {
        call k = {.op = OP_MAP,
                  .n_in = 1,
                  .n_out = 1,
                  .in = {x},
                  .out = {new_view(F32, ROWS, WIDTH)},
                  .a.MAP = {.function = f}};
        if (f == AB_EXP || f == AB_TANH) kept(o, k.out[0]);
        RUN(MAP, k);
        if (f != AB_EXP && f != AB_TANH) free(k.out[0].data);
    }
    call softmax = {.op = OP_SOFTMAX, .n_in = 1, .n_out = 1, .in = {x}, .out = {kept(o, new_view(F32, ROWS, WIDTH))}};
    RUN(SOFTMAX, softmax);
    call back = {.op = OP_SOFTMAX_BACK,
                 .n_in = 2,
                 .n_out = 1,
                 .in = {softmax.out[0], y},
                 .out = {kept(o, new_view(F32, ROWS, WIDTH))}};
    RUN(SOFTMAX_BACK, back);
    free_views((view[]){x, y}, 2);
}

static bool computes_alike(int isa) { return isa >= ISA_AVX2; }

int main(void)
{
    outcome first[ISA_COUNT] = {{.n = 0}};
    int before = -1;
    for (int isa = 0; cpu_isa_name(isa); isa++) {
        err e = {""};
        if (cpu_isa_lacks(isa)) continue;
        CHECK_INT(cpu_use(cpu_isa_name(isa), &e), 0);
        outcome *o = &first[isa];
        norms(o), losses(o), attention(o), generic(o);
        for (int i = 0; before >= 0 && i < o->n; i++) {
            const view *mine = &o->v[i], *theirs = &first[before].v[i];
            if (computes_alike(before) && memcmp(mine->data, theirs->data, (size_t)count(mine) * sizeof(float)))
                printf("output %d differs between %s and %s\n", i, cpu_isa_name(before), cpu_isa_name(isa));
            if (computes_alike(before)) CHECK_SAME_BITS(*mine, *theirs);
            view want = copy_as(theirs, F64);
            CHECK_ROWS(*mine, want, 1e-5);
            free(want.data);
        }
        before = isa;
    }
    for (int isa = 0; isa < ISA_COUNT; isa++) free_views(first[isa].v, first[isa].n);
    return test_end();
}
