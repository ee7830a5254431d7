#!/usr/bin/env bash
# watch_layers: each layer's curves go into the database, plots, reports and exports; no other number of the run
# changes. A run without this key has the same settings hash as before the key existed.
source "$(dirname "$0")/common.bash" "$@"
{ tiny seen 100 && printf 'layers_decoder = 2\n[variant watched]\nwatch_layers = true\n'; } >seen.ini
exits 0 ablate run seen.ini --threads 1 --progress none
curves() { sql "SELECT count(DISTINCT m.name) FROM point p JOIN metric m ON m.id=p.metric_id JOIN run r ON r.id=p.run_id
    JOIN variant v ON v.id=r.variant_id WHERE v.name='$1'"; }
equal "$(curves base)" 3 "curves without: dev_PPL, lr, train_PPL"
equal "$(curves watched)" 17 "curves with: three of each of three layers, five entropies"
both="SELECT count(DISTINCT quote(value)) FROM results WHERE experiment='seen' AND metric="
for metric in PPL acc token_accuracy; do equal "$(sql "$both'$metric'")" 1 "$metric is the same with and without"; done
equal "$(sql "SELECT count(*) FROM result x JOIN metric m ON m.id=x.metric_id WHERE m.name LIKE '%.%'")" 0 "no columns of tables"
points="SELECT group_concat(step||'='||(value>0 AND value<10)) FROM point p JOIN metric m ON m.id=p.metric_id WHERE m.name="
for name in enc.0.activation dec.1.gradient dec.0.update enc.0.self.entropy dec.1.cross.entropy; do
    equal "$(sql "$points'$name'")" '"50=1,100=1"' "$name"
done
exits 0 ablate plot seen --metric dec.1.gradient -o gradient.svg
has gradient.svg dec.1.gradient
exits 0 ablate report seen -o seen.html
has seen.html 'data-metric="dec.1.cross.entropy"'
exits 0 ablate export seen --format tensorboard -o events
grep -rqF enc.0.self.entropy events || wrong "TensorBoard's files have no entropy"
exits 0 ablate replay seen/watched --step 100
has out "points are as recorded, bit for bit"

echo "an attention without weights over keys has no entropy, a model without an encoder no curves of one"
mkdir texts && awk 'BEGIN { for (i = 0; i < 200; i++) print "the cat sat on the mat" }' >texts/small.txt
export ABLATE_DATA=$work/texts
{ tiny lm 50 | grep -v '^task\|^sequence' && printf 'task = lm\nlm.file = small.txt\nlm.context = 8\nwatch_layers = true
[variant linear]\nattention = linear\n'; } >lm.ini
exits 0 ablate run lm.ini --threads 1 --progress none
equal "$(curves linear)" 6 "curves of linear attention"
of_lm="JOIN run r ON r.id=p.run_id JOIN variant v ON v.id=r.variant_id JOIN experiment x ON x.id=v.experiment_id WHERE x.name='lm'"
equal "$(sql "SELECT group_concat(DISTINCT m.name) FROM point p JOIN metric m ON m.id=p.metric_id $of_lm AND v.name='base'
    AND m.name LIKE '%.%'")" '"dec.0.activation,dec.0.self.entropy,dec.0.gradient,dec.0.update"' "curves of an lm"
finish
