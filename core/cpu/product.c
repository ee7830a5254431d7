/* product.c - oneDNN behind two calls; a table of primitives and a list of packed weights. */
#include "cpu/product.h"
#include "cpu/cpu.h"
#include "cpu/tiles.h"
#include <dnnl.h>
#include <stdlib.h>
#include <string.h>

static dnnl_engine_t engine;
static dnnl_stream_t stream;

static const char *status_name(dnnl_status_t s)
{
    static const char *const names[] = {"success", "out of memory", "invalid arguments", "unimplemented",
                                        "end",     "runtime error", "not required"};
    return (size_t)s < LENGTH(names) ? names[s] : "unknown status";
}
static int failed(err *e, const char *doing, dnnl_status_t s)
{
    return fail(e, "oneDNN %d.%d cannot %s: %s", dnnl_version()->major, dnnl_version()->minor, doing,
                status_name(s));
}
#define TRY(doing, expr)                                                                                     \
    do {                                                                                                     \
        dnnl_status_t status_ = (expr);                                                                      \
        if (status_ != dnnl_success) return failed(e, doing, status_);                                       \
    } while (0)

static int start(err *e)
{
    if (engine) return 0;
    TRY("start its engine", dnnl_engine_create(&engine, dnnl_cpu, 0));
    TRY("start its stream", dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    return 0;
}
static dnnl_data_type_t number_of(dtype t) { return t == BF16 ? dnnl_bf16 : dnnl_f32; }
static int matrix(dnnl_memory_desc_t *md, int64_t rows, int64_t columns, dnnl_data_type_t type,
                  dnnl_format_tag_t tag, err *e)
{
    dnnl_dims_t d = {rows, columns};
    TRY("describe a matrix", dnnl_memory_desc_init_by_tag(md, 2, d, type, tag));
    return 0;
}
static int memory_at(dnnl_memory_t *m, const dnnl_memory_desc_t *md, void *data, err *e)
{
    TRY("describe memory", dnnl_memory_create(m, md, engine, data));
    return 0;
}

/* ---- primitives by shape ---- */

enum { ROWS_PRODUCT = 1, OUTER_PRODUCT };
enum { MAX_ARGS = 5 };
typedef struct { /* zeroed before it is filled in: compared as bytes */
    int64_t rows, n, k;
    int32_t kind, type, flags;
    int32_t threads; /* that work on one product */
    int32_t own;     /* 0: anyone's; i: of thread i - 1, which multiplies beside the others (product_blocks) */
    int32_t unused;
} shape_key;
typedef struct {
    shape_key key; /* kind 0: a free place in the table */
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t args[MAX_ARGS]; /* memory objects are the entry's own, except packed weights */
    int n_args;
} entry;
static entry *table;
static size_t table_size, table_used;

static entry *slot_of(entry *t, size_t size, const shape_key *key)
{
    size_t i = hash64(key, sizeof *key) % size;
    while (t[i].key.kind && memcmp(&t[i].key, key, sizeof *key)) i = (i + 1) % size;
    return &t[i];
}
static entry *find_entry(const shape_key *key) /* the entry, or a free place for it (key.kind 0) */
{
    if (2 * (table_used + 1) > table_size) {
        size_t size = table_size ? 2 * table_size : 256;
        entry *t = xcalloc(size, sizeof *t);
        for (size_t i = 0; i < table_size; i++)
            if (table[i].key.kind) *slot_of(t, size, &table[i].key) = table[i];
        free(table);
        table = t;
        table_size = size;
    }
    return slot_of(table, table_size, key);
}
static shape_key key_of(int kind, const product *p)
{
    shape_key key;
    memset(&key, 0, sizeof key);
    key.kind = kind;
    key.rows = p->rows, key.n = p->n, key.k = p->k;
    key.type = (int32_t)p->type;
    key.flags = p->bias | p->relu << 1 | p->add << 2 | (kind == OUTER_PRODUCT ? p->transposed << 3 : 0);
    key.threads = omp_get_max_threads();
    key.own = p->own;
    return key;
}
static void run_at(entry *x, int arg, const void *data)
{
    for (int i = 0; i < x->n_args; i++)
        if (x->args[i].arg == arg) dnnl_memory_set_data_handle(x->args[i].memory, (void *)(uintptr_t)data);
}
static int add_arg(entry *x, int arg, const dnnl_memory_desc_t *md, err *e)
{
    x->args[x->n_args].arg = arg;
    return memory_at(&x->args[x->n_args++].memory, md, DNNL_MEMORY_NONE, e);
}
static int finish(entry *x, dnnl_primitive_desc_t pd, const shape_key *key, err *e)
{
    dnnl_status_t s = dnnl_primitive_create(&x->primitive, pd);
    dnnl_primitive_desc_destroy(pd);
    if (s != dnnl_success) return failed(e, "make a product", s);
    x->key = *key;
    table_used++;
    return 0;
}

/* ---- packed weights ---- */

typedef struct {
    const params *owner;
    const float *data;
    int32_t index;
    bool transposed;
    dtype type;
    int64_t n, k;
    uint64_t version; /* of owner's values when it was packed */
    dnnl_memory_t from, to;
    dnnl_primitive_t reorder;
} packed;
static packed **packs;
static size_t n_packs, packs_cap;

static void free_pack(packed *w)
{
    dnnl_memory_destroy(w->from);
    dnnl_memory_destroy(w->to);
    dnnl_primitive_destroy(w->reorder);
    free(w);
}
void cpu_release_params(const params *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < n_packs; i++) {
        if (packs[i]->owner == s)
            free_pack(packs[i]);
        else
            packs[kept++] = packs[i];
    }
    n_packs = kept;
}

/* The layout oneDNN wants for weights [k,n]; it is the same for every number of rows, so one number stands
 * for all. */
static int preferred_layout(const product *p, dnnl_memory_desc_t *md, err *e)
{
    enum { MANY_ROWS = 1024 };
    dnnl_memory_desc_t x, w, y;
    dnnl_matmul_desc_t d;
    dnnl_primitive_desc_t pd;
    dnnl_data_type_t t = number_of(p->type);
    if (matrix(&x, MANY_ROWS, p->k, t, dnnl_ab, e) || matrix(&w, p->k, p->n, t, dnnl_format_tag_any, e) ||
        matrix(&y, MANY_ROWS, p->n, t, dnnl_ab, e))
        return -1;
    TRY("describe a product", dnnl_matmul_desc_init(&d, &x, &w, NULL, &y));
    TRY("plan a product", dnnl_primitive_desc_create(&pd, &d, NULL, engine, NULL));
    *md = *dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0);
    dnnl_primitive_desc_destroy(pd);
    return 0;
}
static int new_pack(packed *w, const product *p, err *e)
{
    dnnl_memory_desc_t from, to;
    dnnl_primitive_desc_t pd;
    if (matrix(&from, p->k, p->n, dnnl_f32, p->transposed ? dnnl_ba : dnnl_ab, e) ||
        preferred_layout(p, &to, e))
        return -1;
    TRY("plan a change of layout", dnnl_reorder_primitive_desc_create(&pd, &from, engine, &to, engine, NULL));
    dnnl_status_t s = dnnl_primitive_create(&w->reorder, pd);
    dnnl_primitive_desc_destroy(pd);
    if (s != dnnl_success) return failed(e, "make a change of layout", s);
    return memory_at(&w->from, &from, DNNL_MEMORY_NONE, e) || memory_at(&w->to, &to, DNNL_MEMORY_ALLOCATE, e)
               ? -1
               : 0;
}
static packed *find_pack(const product *p, const weights *v, err *e)
{
    const params *owner = v->index >= 0 ? v->owner : NULL;
    for (size_t i = 0; i < n_packs; i++) {
        packed *w = packs[i];
        if (w->owner == owner && w->index == v->index && w->transposed == p->transposed &&
            w->type == p->type && w->n == p->n && w->k == p->k)
            return w;
    }
    packed *w = xcalloc(1, sizeof *w);
    w->owner = owner, w->index = v->index;
    w->transposed = p->transposed, w->type = p->type;
    w->n = p->n, w->k = p->k;
    if (new_pack(w, p, e)) {
        free_pack(w);
        return NULL;
    }
    packs = grow(packs, &packs_cap, n_packs + 1, sizeof *packs);
    return packs[n_packs++] = w;
}
static int refresh(packed *w, const weights *v, err *e)
{
    if (w->owner && w->data == v->data && w->version == w->owner->version) return 0;
    TRY("take weights", dnnl_memory_set_data_handle(w->from, (void *)(uintptr_t)v->data));
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, w->from}, {DNNL_ARG_TO, w->to}};
    TRY("pack weights", dnnl_primitive_execute(w->reorder, stream, 2, args));
    w->data = v->data;
    w->version = w->owner ? w->owner->version : 0;
    return 0;
}

/* ---- y = x w ---- */

static int new_rows_product(entry *x, const shape_key *key, const product *p, dnnl_memory_t w, err *e)
{
    dnnl_memory_desc_t mx, my, mb;
    const dnnl_memory_desc_t *mw;
    dnnl_data_type_t t = number_of(p->type);
    TRY("describe weights", dnnl_memory_get_memory_desc(w, &mw));
    if (matrix(&mx, p->rows, p->k, t, dnnl_ab, e) || matrix(&my, p->rows, p->n, t, dnnl_ab, e) ||
        matrix(&mb, 1, p->n, dnnl_f32, dnnl_ab, e))
        return -1;
    dnnl_post_ops_t after;
    dnnl_primitive_attr_t attr;
    TRY("describe a product", dnnl_post_ops_create(&after));
    TRY("describe a product", dnnl_primitive_attr_create(&attr));
    if (p->add) TRY("describe a product", dnnl_post_ops_append_sum(after, 1));
    if (p->relu) TRY("describe a product", dnnl_post_ops_append_eltwise(after, 1, dnnl_eltwise_relu, 0, 0));
    TRY("describe a product", dnnl_primitive_attr_set_post_ops(attr, after));
    /* oneDNN's own scratch memory belongs to the thread that makes a product, not to the one that multiplies */
    if (key->own) TRY("describe a product", dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user));
    dnnl_matmul_desc_t d;
    dnnl_primitive_desc_t pd;
    TRY("describe a product", dnnl_matmul_desc_init(&d, &mx, mw, p->bias ? &mb : NULL, &my));
    TRY("plan a product", dnnl_primitive_desc_create(&pd, &d, attr, engine, NULL));
    dnnl_post_ops_destroy(after);
    dnnl_primitive_attr_destroy(attr);
    if (add_arg(x, DNNL_ARG_SRC, &mx, e) || add_arg(x, DNNL_ARG_DST, &my, e) ||
        (p->bias && add_arg(x, DNNL_ARG_BIAS, &mb, e)))
        return -1;
    if (key->own) {
        const dnnl_memory_desc_t *work = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
        x->args[x->n_args].arg = DNNL_ARG_SCRATCHPAD;
        if (memory_at(&x->args[x->n_args++].memory, work, DNNL_MEMORY_ALLOCATE, e)) return -1;
    }
    x->args[x->n_args++] = (dnnl_exec_arg_t){DNNL_ARG_WEIGHTS, NULL};
    return finish(x, pd, key, e);
}

static int multiply(entry *it, const product *p, const packed *pack, const void *x, const float *bias, void *y, err *e)
{
    run_at(it, DNNL_ARG_SRC, x);
    run_at(it, DNNL_ARG_DST, y);
    if (p->bias) run_at(it, DNNL_ARG_BIAS, bias);
    it->args[it->n_args - 1].memory = pack->to;
    TRY("multiply", dnnl_primitive_execute(it->primitive, stream, it->n_args, it->args));
    return 0;
}

int product_rows(const product *p, const void *x, weights w, const float *bias, void *y, err *e)
{
    if (!p->rows || start(e)) return p->rows ? -1 : 0;
    packed *pack = find_pack(p, &w, e);
    if (!pack || refresh(pack, &w, e)) return -1;
    shape_key key = key_of(ROWS_PRODUCT, p);
    entry *it = find_entry(&key);
    if (!it->key.kind && new_rows_product(it, &key, p, pack->to, e)) return -1;
    return multiply(it, p, pack, x, bias, y, e);
}

/* ---- many products of few rows: a thread each, instead of all threads on one ---- */

/* Makes what thread t needs, as a product of one thread. */
static int make_own(const product *p, int t, const packed *pack, err *e)
{
    product one = *p;
    int threads = omp_get_max_threads(), bad = 0;
    one.own = t + 1;
    omp_set_num_threads(1);
    shape_key key = key_of(ROWS_PRODUCT, &one);
    entry *it = find_entry(&key);
    if (!it->key.kind) bad = new_rows_product(it, &key, &one, pack->to, e);
    omp_set_num_threads(threads);
    return bad;
}

static entry *own_entry(const product *p, int t)
{
    shape_key key = key_of(ROWS_PRODUCT, p);
    key.threads = 1;
    key.own = t + 1;
    return slot_of(table, table_size, &key); /* it is there; find_entry might move the table under the other threads */
}

int product_blocks(const product *p, int64_t blocks, const void *x, weights w, const float *bias, void *y, err *e)
{
    int threads = omp_get_max_threads(), bad = 0;
    size_t one = dtype_size(p->type), x_block = (size_t)(p->rows * p->k) * one, y_block = (size_t)(p->rows * p->n) * one;
    if (!blocks || start(e)) return blocks ? -1 : 0;
    packed *pack = find_pack(p, &w, e);
    if (!pack || refresh(pack, &w, e)) return -1;
    for (int t = 0; t < threads; t++)
        if (make_own(p, t, pack, e)) return -1;
#pragma omp parallel num_threads(threads) reduction(| : bad)
    {
        entry *mine = own_entry(p, omp_get_thread_num());
        err why = {0};
        int64_t from, to;
        my_part(blocks, &from, &to);
        for (int64_t b = from; b < to && !bad; b++)
            bad = multiply(mine, p, pack, (const char *)x + (size_t)b * x_block, bias, (char *)y + (size_t)b * y_block, &why) != 0;
        if (bad) {
#pragma omp critical
            fail(e, "%s", why.text);
        }
    }
    return bad ? -1 : 0;
}

/* ---- w = x' dy, as the gradient of the weights of an inner product ---- */

static int new_outer_product(entry *x, const shape_key *key, const product *p, err *e)
{
    dnnl_memory_desc_t ms, mw, my, any;
    dnnl_data_type_t t = number_of(p->type);
    if (matrix(&ms, p->rows, p->k, t, dnnl_ab, e) || matrix(&my, p->rows, p->n, t, dnnl_ab, e) ||
        matrix(&any, p->n, p->k, t, dnnl_format_tag_any, e) ||
        matrix(&mw, p->n, p->k, dnnl_f32, p->transposed ? dnnl_ab : dnnl_ba, e))
        return -1;
    dnnl_inner_product_desc_t forward, d;
    dnnl_primitive_desc_t hint, pd;
    TRY("describe a product",
        dnnl_inner_product_forward_desc_init(&forward, dnnl_forward_training, &ms, &any, NULL, &my));
    TRY("plan a product", dnnl_primitive_desc_create(&hint, &forward, NULL, engine, NULL));
    TRY("describe a product", dnnl_inner_product_backward_weights_desc_init(&d, &ms, &mw, NULL, &my));
    dnnl_status_t s = dnnl_primitive_desc_create(&pd, &d, NULL, engine, hint);
    dnnl_primitive_desc_destroy(hint);
    if (s != dnnl_success) return failed(e, "plan a product", s);
    if (add_arg(x, DNNL_ARG_SRC, &ms, e) || add_arg(x, DNNL_ARG_DIFF_DST, &my, e) ||
        add_arg(x, DNNL_ARG_DIFF_WEIGHTS, &mw, e))
        return -1;
    return finish(x, pd, key, e);
}

static int outer(const product *p, const void *x, const void *dy, float *w, err *e)
{
    shape_key key = key_of(OUTER_PRODUCT, p);
    entry *it = find_entry(&key);
    if (!it->key.kind && new_outer_product(it, &key, p, e)) return -1;
    run_at(it, DNNL_ARG_SRC, x);
    run_at(it, DNNL_ARG_DIFF_DST, dy);
    run_at(it, DNNL_ARG_DIFF_WEIGHTS, w);
    TRY("multiply", dnnl_primitive_execute(it->primitive, stream, it->n_args, it->args));
    return 0;
}

/* ---- w' instead of w, where that is faster ---- */

enum { PAGE = 4096, TURN = 16 }; /* bytes; rows and columns turned at a time */

/* Columns of x whose rows lie whole pages apart fall into the same lines of the cache; as a left factor oneDNN packs them 5 % more
 * slowly than as a right one, which is more than turning the result costs (bench/cpu_floor.c). */
static bool better_turned(const product *p)
{
    return p->type == F32 && !p->transposed && p->k > p->n && (size_t)p->k * sizeof(float) % PAGE == 0 && p->n % TURN == 0;
}

/* to [k,n] = from [n,k]' */
static void turn(const float *from, float *to, int64_t n, int64_t k)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < k; i += TURN)
        for (int64_t j = 0; j < n; j += TURN)
            for (int64_t r = i; r < i + TURN; r++)
                for (int64_t c = j; c < j + TURN; c++) to[r * n + c] = from[c * k + r];
}

static int outer_turned(const product *p, const void *x, const void *dy, float *w, err *e)
{
    static float *turned; /* kept, the largest so far */
    static size_t room;
    size_t need = (size_t)(p->n * p->k) * sizeof *turned;
    product other = *p;
    other.n = p->k, other.k = p->n;
    if (room < need) {
        cpu_backend.release(turned);
        turned = cpu_backend.alloc(room = need);
    }
    if (outer(&other, dy, x, turned, e)) return -1;
    turn(turned, w, p->n, p->k);
    return 0;
}

int product_outer(const product *p, const void *x, const void *dy, float *w, err *e)
{
    if (start(e)) return -1;
    if (!p->rows) {
        memset(w, 0, (size_t)(p->n * p->k) * sizeof *w);
        return 0;
    }
    if (p->type == BF16 && tiles_usable()) {
        if (p->transposed)
            outer_tiles(p->rows, p->n, p->k, dy, x, w);
        else
            outer_tiles(p->rows, p->k, p->n, x, dy, w);
        return 0;
    }
    return (better_turned(p) ? outer_turned : outer)(p, x, dy, w, e);
}
