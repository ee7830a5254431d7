#!/usr/bin/env bash
# The step that a run's result comes from: by default the step with the lowest dev perplexity, also in searches; the
# last step if nothing was evaluated. Also tested: the files that a run leaves, and the cost that it reports.
source "$(dirname "$0")/common.bash" "$@"
fast=(--threads 1 --progress none)
# Prints a column of a row's PPL result. Usage: of EXPERIMENT COLUMN [ROW]; without ROW, base's.
of() {
    sql "SELECT $2 FROM result q JOIN metric m ON m.id=metric_id JOIN run r ON r.id=run_id JOIN variant v ON v.id=variant_id
        JOIN experiment e ON e.id=experiment_id WHERE e.name='$1' AND m.name='PPL' AND v.name='${3-base}'" | tr -d '"'
}
# overfit NAME: an INI with ten training examples, so that dev perplexity falls and then rises
overfit() { tiny "$1" 200 | sed 's/^sequence.train_examples.*/&\ndropout = 0\nlabel_smoothing = 0/; s/\(train_examples = \).*/\110/'; }
least() { sql "SELECT step FROM curves WHERE experiment='$1' AND metric='dev_PPL' ORDER BY value LIMIT 1"; }

echo "the default: the step with the lowest dev perplexity"
overfit plain >plain.ini
exits 0 ablate run plain.ini "${fast[@]}"
step=$(least plain)
[ "$step" -lt 200 ] || wrong "the lowest dev perplexity is at the end, step $step of 200"
equal "$(of plain checkpoint)" best "weights of the result"
equal "$(of plain q.step)" "$step" "step of the result"
equal "$(sql "SELECT DISTINCT q.step FROM result q JOIN run r ON r.id=run_id")" "$step" "step of all metrics"
equal "$(sql "SELECT step FROM runs")" 200 "step that the run reached"
equal "$(of plain 'printf("%.6g", value)')" "$(sql "SELECT printf('%.6g', min(value)) FROM curves WHERE metric='dev_PPL'" | tr -d '"')" \
    "PPL, and the lowest of its curve"
equal "$(ls home/runs/plain/*/*.safetensors | sed 's|.*/||')" model.safetensors "what the run leaves"
exits 0 ablate show plain/base
has out "(best, step $step)"

echo "the last step: asked for, or the only one that was measured"
sed 's/^name = .*/name = last/; s/^steps.*/&\ncheckpoint = last/' plain.ini >last.ini
exits 0 ablate run last.ini "${fast[@]}"
equal "$(of last "checkpoint||' '||q.step")" "last 200" "weights of the result"
equal "$(of last "value > $(of plain value)")" 1 "is the last PPL, $(of last value), larger than the best, $(of plain value):"
sed 's/^name = .*/name = once/; s/^eval_every.*/eval_every = 1000/' plain.ini >once.ini
exits 0 ablate run once.ini "${fast[@]}"
equal "$(of once "checkpoint||' '||q.step")" "best 200" "weights of the result measured once"
equal "$(of once 'quote(value)')" "$(of last 'quote(value)')" "its PPL, and that of the last step"

echo "an average ends at the best step"
sed 's/^name = .*/name = mean/; s/^steps.*/&\naverage_checkpoints = 2/' plain.ini >mean.ini
exits 0 ablate run mean.ini "${fast[@]}"
equal "$(of mean "checkpoint||' '||q.step")" "average of 2, best $step" "weights of the average"

echo "trials of a search are judged at their best steps"
sed 's/^name = .*/name = tuned/; s/^lr = .*/lr = tune(0.002 .. 0.01, 2)/' plain.ini >tuned.ini
exits 0 ablate run tuned.ini "${fast[@]}"
equal "$(sql "SELECT count(*) FROM trial t WHERE NOT EXISTS (SELECT 1 FROM curves c WHERE c.experiment='tuned.tune' AND c.metric='dev_PPL'
    GROUP BY c.run HAVING abs(min(c.value) / t.value - 1) < 1e-6)")" 0 "trials whose value is no curve's lowest"
finish
