# ablate heads: a planted position makes every head look at the token before, and the figures say so; seeds of a row, rows of an experiment; refusals.
source "$(dirname "$0")/common.bash" "$@"

cat >previous.c <<'C'
#include "ab_plugin.h"
/* All attention goes to the token before. */
static ab_t bias(ab_ctx *c, const void *cfg, ab_t qpos, ab_t kpos)
{
    (void)cfg;
    return ab_mul_scalar(c, ab_map(c, ab_add_scalar(c, ab_relative_position(c, qpos, kpos), 1), AB_ABS), -100);
}
typedef struct {
    int none;
} config;
static const ab_param params[] = {{0}};
static const ab_position_plugin self = {.claims = AB_RELATIVE, .bias = bias};
AB_PLUGIN(config, params, &self, .name = "previous", .doc = "all attention goes to the token before");
C
cat >heads.ini <<'INI'
[experiment]
name  = heads
seeds = 1..2
[base]
task         = sequence
layers       = 1
d_model      = 16
d_ff         = 16
heads        = 2
position     = ./previous.c
batch_tokens = 128
schedule     = constant
steps        = 4
eval_every   = 4
save_every   = 4
max_length   = 64
beam         = 1
sequence.max_length     = 6
sequence.test_length    = 6
sequence.train_examples = 60
sequence.test_examples  = 20
[variant sinusoid]
position = sinusoid
INI
exits 0 ablate run heads.ini --threads 1 --progress none --no-check

echo "every head of a run"
exits 0 ablate heads heads/base@1 --json --plugin-path .
cp out one.json
# value ATTENTION KEY: that of the part's first head
value() { grep "\"attention\":\"$1\"" one.json | head -1 | sed -E "s/.*\"$2\":([^,}]*).*/\1/"; }
equal "$(grep -c '"run"' one.json)" 6 "heads: 2 of 3 attentions"
equal "$(value encoder previous_token)" 100 "queries of the encoder that look at the token before"
equal "$(value decoder previous_token)" 100 "queries of the decoder that look at the token before"
equal "$(value source previous_token)" null "cross attention has no token before"
equal "$(value encoder constituent)" null "no gold trees"
equal "$(awk -v g="$(value encoder gradient)" 'BEGIN { print (g < 1e-6) }')" 1 "the softmax's gradient where one key has all weight: $(value encoder gradient)"
equal "$(awk -v g="$(value source gradient)" 'BEGIN { print (g > 0.1) }')" 1 "the gradient of attention that is still spread out: $(value source gradient)"
equal "$(awk -v g="$(value source ppl_ratio_without)" 'BEGIN { print (g > 0.5 && g < 2 && g != 1) }')" 1 "PPL without a head: $(value source ppl_ratio_without)"
exits 0 ablate heads heads/base@1 --json --plugin-path .
equal "$(cat out)" "$(cat one.json)" "the same again"
exits 0 ablate heads heads/base@1 --no-prune --json --plugin-path .
equal "$(grep -c '"ppl_ratio_without":null' out)" 6 "not pruned"

echo "tables"
exits 0 ablate heads heads/base@1 --plugin-path .
has out 'encoder, by chance'
exits 0 ablate heads heads/base --plugin-path .
has out 'previous token  encoder    2  100.0 ± 0.0'
has err 'base, seed 2'
exits 0 ablate heads heads --plugin-path .
has out 'sinusoid  encoder    2 '
exits 1 ablate heads heads/nowhere
exits 1 ablate heads nothing
exits 2 ablate heads
finish
