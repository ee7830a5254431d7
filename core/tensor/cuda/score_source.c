/* score_source.c - writes a score program as CUDA C: the same computation as the interpreter's (score_tile.h). */
#include "tensor/cuda/score_program.h"
#include "tensor/cuda/compiled.h"
#include <string.h>

static const char *operand(int from, float by, char out[32])
{
    uint32_t bits;
    memcpy(&bits, &by, sizeof bits); /* exact for any float */
    if (from < SCORE_LEAF)
        snprintf(out, 32, "r%d", from);
    else if (from < SCORE_PRODUCT)
        snprintf(out, 32, "l%d[e]", from - SCORE_LEAF);
    else if (from == SCORE_BY)
        snprintf(out, 32, "__uint_as_float(0x%08xu)", bits);
    else
        snprintf(out, 32, "%s",
                 from == SCORE_PRODUCT    ? "s"
                 : from == SCORE_GRADIENT ? "d"
                 : from == SCORE_LAST     ? "t"
                                          : "0.f");
    return out;
}

static bool reads(const gpu_score_pass *p, int n_results, int from)
{
    bool yes = false;
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < 3; k++) yes |= p->step[i].in[k] == from;
    for (int k = 0; k < n_results; k++) yes |= p->result[k] == from;
    return yes;
}

/* Writes the loads of the pass's leaves and the head of the loop over a thread's pairs. */
static void begin(const gpu_score *f, const gpu_score_pass *p, int n_results, str *text)
{
    for (int k = 0; k < f->n_leaves; k++)
        if (reads(p, n_results, SCORE_LEAF + k))
            str_addf(text, "        float l%d[SCORE_AT_ONCE];\n        take_leaf(f, %d, p, l%d);\n", k, k, k);
}

static void steps(const gpu_score *f, const gpu_score_pass *p, str *text)
{
    char a[32], b[32], c[32];
    str_add(text, "            float t = 0;\n");
    for (int r = 0; r < f->n_registers; r++) str_addf(text, "            float r%d = 0;\n", r);
    for (int i = 0; i < p->n; i++) {
        const gpu_score_step *s = &p->step[i];
        operand(s->in[0], s->by, a), operand(s->in[1], s->by, b), operand(s->in[2], s->by, c);
        str_addf(text, "        t = step_of(%d, %d, %s, %s, %s);\n", s->what, s->function, a, b, c);
        if (s->out != SCORE_NOWHERE) str_addf(text, "            r%d = t;\n", s->out);
    }
    str_add(text, "            (void)t;\n");
    for (int r = 0; r < f->n_registers; r++) str_addf(text, "            (void)r%d;\n", r);
}

static void one_result(const gpu_score *f, int pass, const char *function, bool of_product, str *text)
{
    char y[32];
    str_addf(text,
             "    GPU_MEMBER void %s(const gpu_score &f, const score_pairs &p, float (&x)[SCORE_AT_ONCE]) const\n    "
             "{\n        (void)f, (void)p;\n",
             function);
    begin(f, &f->pass[pass], 1, text);
    str_addf(text, "        EACH_PAIR(e) {\n            float s = %s, d = 0;\n            (void)s, (void)d;\n",
             of_product ? "x[e]" : "0");
    steps(f, &f->pass[pass], text);
    str_addf(text, "            x[e] = %s;\n        }\n    }\n", operand(f->pass[pass].result[0], 0, y));
}

static void backward(const gpu_score *f, str *text)
{
    const gpu_score_pass *p = &f->pass[GPU_SCORE_BACKWARD];
    char y[32];
    str_add(text, "    template <class GIVE>\n"
                  "    GPU_MEMBER void backward(const gpu_score &f, const score_pairs &p, const float "
                  "(&x)[SCORE_AT_ONCE], float (&g)[SCORE_AT_ONCE],\n"
                  "                             bool leaves, GIVE give) const\n    {\n        (void)f, (void)p, "
                  "(void)leaves, (void)give;\n");
    begin(f, p, 1 + SCORE_LEAVES, text);
    for (int k = 0; k < f->n_leaves; k++)
        if (p->result[1 + k] != SCORE_NOWHERE) str_addf(text, "        float d%d[SCORE_AT_ONCE];\n", k);
    str_add(text, "        EACH_PAIR(e) {\n            float s = x[e], d = g[e];\n            (void)s, (void)d;\n");
    steps(f, p, text);
    for (int k = 0; k < f->n_leaves; k++)
        if (p->result[1 + k] != SCORE_NOWHERE)
            str_addf(text, "            d%d[e] = %s;\n", k, operand(p->result[1 + k], 0, y));
    str_addf(text, "            g[e] = %s;\n        }\n", operand(p->result[0], 0, y));
    for (int k = 0; k < f->n_leaves; k++)
        if (p->result[1 + k] != SCORE_NOWHERE)
            str_addf(text, "        if (leaves && f.leaf[%d].sum) give(%d, d%d);\n", k, k, k);
    str_add(text, "    }\n");
}

void score_source(const gpu_score *f, str *text)
{
    str_add(text, "#include \"tensor/cuda/attend_score.h\"\nstruct written_program {\n    GPU_MEMBER explicit "
                  "written_program(float4 *) {}\n");
    one_result(f, GPU_SCORE_FORWARD, "forward", true, text);
    if (f->hides)
        one_result(f, GPU_SCORE_HIDING, "hiding", false, text);
    else
        str_add(text, "    GPU_MEMBER void hiding(const gpu_score &, const score_pairs &, float (&x)[SCORE_AT_ONCE]) "
                      "const { EACH_PAIR(e) x[e] = 0; }\n");
    backward(f, text);
    str_add(text, "};\n");
}

int gpu_written_kernel(const char *expression, const gpu_score *f, void **kernel)
{
    str source = {0};
    int wanted = compiled_wanted();
    *kernel = NULL;
    if (wanted <= 0) return wanted;
    score_source(f, &source);
    int rc = compiled_kernel(str_text(&source), expression,
                             "ABLATE_SCORE=interpreted runs score programs slowly, without a compiler", kernel);
    str_free(&source);
    return rc;
}
