/* test_tiles.c - the kernels on AMX tiles (emulated by tests/amx if the processor has none) are right, and give the
 * same bits whatever the numbers of rows and threads. */
#include "base/vmath.h"
#include "tensor/cpu/gemm.h"
#include "fused_case.h"

static const int64_t shapes[][3] = {{1, 5, 3}, {32, 32, 32}, {40, 64, 70}, {70, 33, 96}, {130, 200, 45}}; /* m, k, n */

static view forward(const view *x, const view *w, const view *b, int64_t rows, bool transposed, const void *packed,
                    const view *added)
{
    int64_t n = b->dim[3];
    view y = new_view(BF16, rows, n);
    if (added) memcpy(y.data, added->data, (size_t)(rows * n) * 2);
    tiles_rows(&(gemm){.way = WAY_TILES,
                       .m = rows,
                       .n = n,
                       .k = x->dim[3],
                       .x = x->data,
                       .w = w->data,
                       .packed = packed,
                       .transposed = transposed,
                       .bias = b->data,
                       .add = added != NULL,
                       .relu = !added,
                       .y = y.data});
    return y;
}

static void check(int64_t m, int64_t k, int64_t n, bool transposed)
{
    view x = random_view(BF16, m, k, 1), w = random_view(F32, transposed ? n : k, transposed ? k : n, 2),
         b = random_view(F32, 1, n, 3), dy = random_view(BF16, m, n, 4), dw = new_view(F32, k, n);
    for (int64_t i = 0; i < count(&w); i++) set(&w, i, (double)from_bf16(to_bf16((float)get(&w, i))));
    void *packed = cpu_backend.alloc(tiles_packed_size(k, n));
    tiles_pack(k, n, w.data, transposed, packed);
    for (int add = 0; add < 2; add++) {
        omp_set_num_threads(1);
        view y = forward(&x, &w, &b, m, transposed, NULL, add ? &dy : NULL), want = new_view(F64, m, n);
        for (int64_t r = 0; r < m; r++)
            for (int64_t j = 0; j < n; j++) {
                double sum = get(&b, j) + (add ? get(&dy, r * n + j) : 0);
                for (int64_t i = 0; i < k; i++) sum += get(&x, r * k + i) * get(&w, transposed ? j * k + i : i * n + j);
                set(&want, r * n + j, !add && sum < 0 ? 0 : sum);
            }
        CHECK_ROWS(y, want, tolerance(BF16));
        omp_set_num_threads(3);
        for (int64_t rows = 1; rows <= m; rows += 7) {
            view few = forward(&x, &w, &b, rows, transposed, rows % 2 ? packed : NULL, add ? &dy : NULL);
            CHECK(!memcmp(few.data, y.data, (size_t)(rows * n) * 2));
            free(few.data);
        }
        free_views((view[]){y, want}, 2);
    }
    view sums = new_view(F64, k, n), again = new_view(F32, k, n);
    tiles_outer(m, k, n, x.data, dy.data, dw.data);
    omp_set_num_threads(1);
    tiles_outer(m, k, n, x.data, dy.data, again.data);
    CHECK_SAME_BITS(dw, again);
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t r = 0; r < m; r++) sum += get(&x, r * k + i) * get(&dy, r * n + j);
            set(&sums, i * n + j, sum);
        }
    CHECK_ROWS(dw, sums, 2e-5);
    cpu_backend.release(packed);
    free_views((view[]){x, w, b, dy, dw, sums, again}, 7);
}

int main(void)
{
    if (cpu_isa_lacks(ISA_AMX)) {
        printf("skipped: amx is %s\n", cpu_isa_lacks(ISA_AMX));
        return 77;
    }
    for (size_t i = 0; i < LENGTH(shapes); i++)
        for (int transposed = 0; transposed < 2; transposed++)
            check(shapes[i][0], shapes[i][1], shapes[i][2], transposed);
    return test_end();
}
