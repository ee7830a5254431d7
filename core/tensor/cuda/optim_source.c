/* optim_source.c - an optimizer's program as CUDA C: what the interpreter (optim.cu) does with each step, in straight
 * lines. Registers and scalars are variables.
 */
#include "tensor/cuda/optim_written.h"
#include "tensor/cuda/compiled.h"
#include "tensor/cuda/generic.h"
#include <stddef.h>
#include <string.h>

static const char *operand(int from, float by, char out[32])
{
    if (from == UPDATE_BY) return source_number(by, out);
    if (from < UPDATE_SCALAR)
        snprintf(out, 32, "r%d", from);
    else if (from < UPDATE_LAST)
        snprintf(out, 32, "s%d", from - UPDATE_SCALAR);
    else
        snprintf(out, 32, "%s", from == UPDATE_LAST ? "t" : "0.f");
    return out;
}
/* A step of the setup numbers scalars. */
static const char *setup_operand(int from, float by, char out[32])
{
    return operand(from < UPDATE_SCALARS ? UPDATE_SCALAR + from : from, by, out);
}

static void step(const update_step *s, const char *to, const char *(*name)(int from, float by, char out[32]), str *text)
{
    char a[32], b[32], c[32];
    name(s->in[0], s->by, a), name(s->in[1], s->by, b), name(s->in[2], s->by, c);
    source_step(s->what, s->function, to, a, b, c, text);
}

static unsigned made_by_setup(const update_program *u)
{
    unsigned made = 0;
    for (int i = 0; i < u->n_setup; i++) made |= 1u << u->setup[i].out;
    return made;
}

static void setup(const update_program *u, str *text)
{
    unsigned made = made_by_setup(u);
    for (int i = 0; i < u->n_scalars; i++) str_addf(text, "    float s%d;\n", i);
    str_add(text, "    GPU_MEMBER explicit written_update(const update_program &u)\n    {\n        (void)u;\n");
    for (int i = 0; i < u->n_scalars; i++)
        if (!(made >> i & 1)) str_addf(text, "        s%d = *u.scalar[%d];\n", i, i);
    for (int i = 0; i < u->n_setup; i++) {
        char to[16];
        snprintf(to, sizeof to, "s%d", u->setup[i].out);
        step(&u->setup[i], to, setup_operand, text);
    }
    str_add(text, "    }\n");
}

/* All of x is read before the first step writes to it. */
static void steps(const update_program *u, str *text)
{
    str_add(text, "    GPU_MEMBER void run(float (&x)[UPDATE_VECTORS]) const\n    {\n        float t = 0;\n");
    for (int r = 0; r < u->n_registers; r++) {
        if (r < u->n_vectors && u->read >> r & 1)
            str_addf(text, "        float r%d = x[%d];\n", r, r);
        else
            str_addf(text, "        float r%d = 0;\n", r);
    }
    for (int i = 0; i < u->n_steps; i++) {
        const update_step *s = &u->step[i];
        step(s, "t", operand, text);
        if (s->out != UPDATE_NOWHERE) str_addf(text, "        r%d = t;\n", s->out);
        if (s->vector != UPDATE_NOWHERE) str_addf(text, "        x[%d] = t;\n", s->vector);
    }
    for (int r = 0; r < u->n_registers; r++) str_addf(text, "        (void)r%d;\n", r);
    str_add(text, "    }\n");
}

void update_source(const update_program *u, str *text)
{
    unsigned written = 0;
    for (int i = 0; i < u->n_steps; i++)
        if (u->step[i].vector != UPDATE_NOWHERE) written |= 1u << u->step[i].vector;
    str_addf(text,
             "#include \"tensor/cuda/optim_update.h\"\nstruct written_update {\n    enum { READ = %u, WRITTEN = %u, "
             "SHADOWED = %d };\n",
             u->read, written, u->shadowed);
    setup(u, text);
    steps(u, text);
    str_add(text, "};\n");
}

/* ---- programs whose kernels are known: the source need not be written for every update ---- */

typedef struct {
    update_program program; /* its data is another update's */
    void *kernel;
} known;
static known *table;
static size_t table_n, table_cap;

int gpu_written_update(const update_program *u, void **kernel)
{
    int wanted = compiled_wanted("ABLATE_OPTIMIZER");
    *kernel = NULL;
    if (wanted <= 0) return wanted;
    for (size_t i = 0; i < table_n; i++)
        if (!memcmp(&table[i].program, u, offsetof(update_program, scalar))) {
            *kernel = table[i].kernel;
            return 0;
        }
    str source = {0};
    update_source(u, &source);
    int rc = compiled_kernel(str_text(&source), UPDATE_KERNEL, kernel);
    str_free(&source);
    if (rc) return rc;
    table = grow(table, &table_cap, table_n + 1, sizeof *table);
    table[table_n++] = (known){*u, *kernel};
    return 0;
}
