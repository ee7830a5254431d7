/* score_program.c - converts a score program to the lists of steps that the kernels of attend_score.cu run. Each value
 * of a pass has a register from its step to its last reader.
 *
 * Registers never run out: k values that are alive at once took k steps, and reading them takes at least (k - 1) / 2
 * further steps, because a step reads at most three values. So 48 steps keep at most 32 alive.
 */
#include "tensor/cuda/score_program.h"
#include "tensor/cuda/ops.h"
#include <string.h>

/* Where the step after `last` finds value v. home: the register of each step's result, or SCORE_NOWHERE. */
static uint8_t operand(int v, int last, const uint8_t *home)
{
    if (v < 0) return SCORE_NOWHERE;
    if (v == VALUE_SCORE) return SCORE_PRODUCT;
    if (v == VALUE_GRADIENT) return SCORE_GRADIENT;
    if (v < VALUE_GRADIENT) return (uint8_t)(SCORE_LEAF + v - VALUE_LEAF);
    return v == VALUE_STEP + last ? SCORE_LAST : home[v - VALUE_STEP];
}

/* Lists the values that a pass must compute. Returns their number. */
static int results_of(const score_program *f, int pass, int *value)
{
    value[0] = pass == PASS_FORWARD ? f->result : pass == PASS_HIDING ? f->hiding : f->d_score;
    if (pass != PASS_BACKWARD) return 1;
    memcpy(value + 1, f->d_leaf, sizeof f->d_leaf);
    return 1 + SCORE_LEAVES;
}

static void build(const score_program *f, int pass, gpu_score_pass *to, int *n_registers)
{
    int reader[SCORE_STEPS], result[1 + SCORE_LEAVES], n = results_of(f, pass, result), last = -1,
                                                       holder[GPU_SCORE_REGISTERS];
    uint8_t home[SCORE_STEPS];
    memset(home, SCORE_NOWHERE, sizeof home);
    for (int i = 0; i < SCORE_STEPS; i++) reader[i] = -1; /* the last step that reads it */
    for (int i = 0; i < GPU_SCORE_REGISTERS; i++) holder[i] = -1;
    for (int i = 0; i < f->n_steps; i++)
        for (int k = 0; k < f->step[i].n_in && f->step[i].runs[pass]; k++)
            if (f->step[i].in[k] >= VALUE_STEP) reader[f->step[i].in[k] - VALUE_STEP] = i;
    for (int k = 0; k < n; k++)
        if (result[k] >= VALUE_STEP) reader[result[k] - VALUE_STEP] = SCORE_STEPS;
    *to = (gpu_score_pass){0};
    for (int i = 0; i < f->n_steps; i++) {
        const score_step *s = &f->step[i];
        if (!s->runs[pass]) continue;
        gpu_score_step *t = &to->step[to->n++];
        *t = (gpu_score_step){
            .what = (uint8_t)s->op, .function = (uint8_t)s->fn, .out = SCORE_NOWHERE, .by = (float)s->by};
        bool constant = s->op == OP_MUL_SCALAR || s->op == OP_ADD_SCALAR;
        for (int k = 0; k < 3; k++)
            t->in[k] = k < s->n_in ? operand(s->in[k], last, home) : constant && k == 1 ? SCORE_BY : SCORE_NOWHERE;
        last = i;
        int r = 0;
        while (r < GPU_SCORE_REGISTERS && holder[r] >= 0 && reader[holder[r]] > i) r++;
        if (reader[i] < 0) continue;
        home[i] = t->out = (uint8_t)r;
        holder[r] = i;
        if (r >= *n_registers) *n_registers = r + 1;
    }
    for (int k = 0; k < n; k++) to->result[k] = operand(result[k], last, home);
}

/* Does the program compare, as windows do? A program without a comparison hides no whole blocks. */
static bool has_window(const score_program *f)
{
    for (int i = 0; i < f->n_steps && f->hiding >= 0; i++)
        if (f->step[i].runs[PASS_HIDING] && f->step[i].op == OP_LESS_THAN) return true;
    return false;
}

void gpu_score_of(const score_program *f, gpu_score *to)
{
    _Static_assert((int)GPU_SCORE_BACKWARD == PASS_BACKWARD && (int)GPU_SCORE_HIDING == PASS_HIDING, "in this order");
    *to = (gpu_score){
        .n_leaves = f->n_leaves, .hides = has_window(f), .sink = f->sink, .plain = f->weights == WEIGHTS_PLAIN};
    for (int i = 0; i < GPU_SCORE_PASSES; i++)
        if (i != PASS_HIDING || to->hides) build(f, i, &to->pass[i], &to->n_registers);
}
