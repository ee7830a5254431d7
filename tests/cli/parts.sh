#!/usr/bin/env bash
# Parts in Python of experiments/parts: log-linear attention gives what its quadratic form gives over 300 tokens, and a
# run with sharpness-aware Adam takes its second gradients.
source "$(dirname "$0")/common.bash" "$@"
cp "$source"/experiments/parts/{log_linear,sam}.py .
ablate list plugins ./sam.py >out 2>err || {
    grep -q "needs Python" err && sed 's/^/skipped: /' err && exit 77
}
{
    sed '/^@ab/,$d' log_linear.py
    cat <<'PY'
def level(i, j):
    return min((i ^ j).bit_length(), 11) if j <= i else 0


@ab.attention(doc="the quadratic form", roles=ab.CAUSAL, accepts=ab.EMBED | ab.ROTATE)
def quadratic(c, x, mem):
    H, d = c.info.heads, c.info.heads * c.info.d_v
    q, k, v = c.query(x) * (1 / math.sqrt(c.info.d_k)), c.key(mem), c.value(mem)
    decay = c.running_sum(c.heads(c.softplus(c.linear(x, "decay", H)) * -0.1, H))
    weights = c.heads(c.softplus(c.linear(x, "lambda", H * 12)), H)
    n = k.shape[-2]
    ids = c.to_ids(c.embedding(c.table(level, n, n), c.qpos()))
    near = c.mask(decay - c.transpose(c.remember(decay), -1, -2)).exp()
    y = c.merge(c.weighted_sum(c.matmul(q, k, tb=True) * near * c.gather(weights, ids), v))
    y = c.unit_length(y, d * 1e-5) * math.sqrt(d)
    return c.linear(y * c.silu(c.linear(x, "gate", d, bias=False)), "out", c.info.d_model, bias=False)
PY
} >quadratic.py
{
    tiny long 3
    echo 'precision = fp32'
    for name in log_linear quadratic; do printf '[variant %s]\nattention_decoder = ./%s.py\n' $name $name; done
} | sed 's/max_length = 5/max_length = 300/; s/test_length = 7/test_length = 310/; s/_examples = 300*$/_examples = 8/; s/batch_tokens = 128/batch_tokens = 700/' >long.ini
exits 0 ablate run long.ini --threads 1 --progress none --no-check
# near FOUND EXPECTED SHARE WHAT
near() {
    awk -v a="$1" -v b="$2" -v most="$3" 'BEGIN { exit !(a > 1 && a / b - 1 <= most && b / a - 1 <= most) }' ||
        wrong "$4: found '$1', expected '$2'"
}
ppl() { sql "SELECT value FROM results WHERE experiment = '$1' AND variant = '$2' AND metric = 'PPL'"; }
near "$(ppl long log_linear)" "$(ppl long quadratic)" 1e-4 "dev perplexity of log_linear"
{
    tiny sharp 6
    printf '[variant sam]\noptimizer = ./sam.py\n[variant sam_0]\noptimizer = ./sam.py\nsam.rho = 0\n'
} >sharp.ini
exits 0 ablate run sharp.ini --threads 1 --progress none --no-check
near "$(ppl sharp sam_0)" "$(ppl sharp base)" 1e-3 "dev perplexity of sam with rho = 0, and of adam"
equal "$(sql "SELECT count(DISTINCT value) FROM results WHERE experiment = 'sharp' AND metric = 'PPL' AND variant LIKE 'sam%'")" 2 \
    "dev perplexities with and without rho"
exits 1 ablate run sharp.ini -s gradient_accumulation=2 --db two.db --threads 1 --progress none --no-check
has out "takes a second gradient of each batch, expected 1"
finish
