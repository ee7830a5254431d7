/* distillation.c - the student learns the teacher's distribution over the next token, not only the token. */
#include "log_sum.h"

typedef struct {
    double weight, temperature;
} config;

/* Adds weight (T^2 KL(teacher || student) - cross entropy), a mean over the tokens. With the host's cross entropy the
 * loss is (1 - weight) cross entropy + weight T^2 KL. Both distributions are softmax(logits / T). */
static void losses(ab_ctx *c, const void *cfg, ab_t x, ab_t logits, ab_t target)
{
    const config *o = cfg;
    const double none = -1;
    (void)x;
    ab_t theirs = ab_mul_scalar(c, ab_teacher(c), 1 / o->temperature),
         own = ab_mul_scalar(c, logits, 1 / o->temperature);
    ab_t log_p = ab_sub(c, theirs, log_sum_exp(c, theirs)), log_q = ab_sub(c, own, log_sum_exp(c, own));
    ab_t each = ab_sum_axis(c, ab_mul(c, ab_map(c, log_p, AB_EXP), ab_sub(c, log_p, log_q)), -1); /* [rows,1] */
    ab_t known = ab_less_than(c, ab_const(c, &none, 1), ab_to_float(c, target)); /* [rows] as [1,rows] */
    ab_t n = ab_add_scalar(c, ab_sum_axis(c, known, -1), 1e-6);
    ab_t kl = ab_div(c, ab_sum_axis(c, ab_mul(c, each, ab_transpose(c, known, -2, -1)), -2), n);
    ab_t nll = ab_div(c, ab_sum_axis(c, ab_cross_entropy(c, logits, target), -2), n);
    ab_log(c, "kl", kl);
    ab_add_loss(c, "loss", ab_sub(c, ab_mul_scalar(c, kl, o->temperature * o->temperature), nll), o->weight);
}

static const ab_head_plugin self = {.losses = losses};
static const ab_option options[] = {
    {"weight", AB_REAL, offsetof(config, weight), 0.5, 0, 1, NULL, "share of the teacher in the loss"},
    {"temperature", AB_REAL, offsetof(config, temperature), 1, 0.1, 100, NULL,
     "divides the logits of student and teacher before they are compared"},
    {0}};
AB_PLUGIN(config, options, &self, .name = "distillation",
          .doc = "x E^T; in training also the teacher's distribution (the key teacher)",
          .paper = "Hinton et al. 2015, section 2; Kim and Rush 2016, section 3.1");
