#!/usr/bin/env bash
# start_from: training begins with another model's values, for parameters of equal name, shape and vocabulary. The run
# reports which parameters it copied; a resumed run continues from its own checkpoint.
source "$(dirname "$0")/common.bash" "$@"
fast=(--threads 1 --progress none)
tiny first 120 >first.ini
exits 0 ablate run first.ini "${fast[@]}"
model=$(echo home/runs/first/*/model.safetensors)
cp "$model" first.safetensors
ppl() { sql "SELECT printf('%.17g',value) FROM results WHERE experiment='$1' AND metric='PPL' AND variant='${2:-base}'"; }
said() { sql "SELECT value FROM tag t JOIN run r ON r.id=t.run_id JOIN variant v ON v.id=r.variant_id JOIN experiment x ON x.id=v.experiment_id
    WHERE tag='start_from' AND x.name='$1' AND v.name='${2:-base}'"; }

echo "without a change it is the same model; from fresh values it is not"
{ tiny same 1 | sed 's/^lr = .*/lr = 0/'; printf 'start_from = first.safetensors\n[variant fresh]\nstart_from = \n'; } >same.ini
exits 0 ablate run same.ini "${fast[@]}"
equal "$(ppl same)" "$(ppl first)" "perplexity"
[ "$(ppl same fresh)" != "$(ppl first)" ] || wrong "fresh values have the model's perplexity"
n=$(said same | sed 's/ of.*//')
equal "$(said same)" "$n of $n parameters from first.safetensors" "what is said"

echo "other shapes and other words stay new"
{ tiny wider 1 | sed 's/^d_ff = .*/d_ff = 48/'; echo 'start_from = first.safetensors'; } >wider.ini
exits 0 ablate run wider.ini "${fast[@]}"
has <(said wider) "of $n parameters from first.safetensors; new: enc.0.ffn"
{ tiny words 1 | sed 's/^sequence.alphabet = .*/sequence.alphabet = 5/'; echo 'start_from = first.safetensors'; } >words.ini
exits 0 ablate run words.ini "${fast[@]}"
has <(said words) "from first.safetensors, whose vocabulary is another; new: "

echo "a run of the database by its name is its model"
{ tiny named 1 | sed 's/^lr = .*/lr = 0/'; printf 'start_from = first/base@1\n[variant fresh]\nstart_from = \n'; } >named.ini
exits 0 ablate run named.ini --dry-run
exits 0 ablate run named.ini "${fast[@]}"
equal "$(ppl named)" "$(ppl first)" "perplexity"
has <(said named) "/$model"
attempts=$(sql 'SELECT count(*) FROM attempt')
exits 0 ablate run named.ini "${fast[@]}"
equal "$(sql 'SELECT count(*) FROM attempt')" "$attempts" "attempts of the same command again"
exits 0 ablate record named record.json
exits 0 ablate verify record.json --runs 2
equal "$(grep -c 'the same, in all 30 sentences' out)" 4 "metrics of dev with the same digits in both rows"
{ tiny unnamed 1; echo 'start_from = first/bas@1'; } >unnamed.ini
exits 2 ablate run unnamed.ini "${fast[@]}"
has err "row base: start_from = first/bas@1: found no such file and no such run: "

echo "a resumed run goes on from its own checkpoint, and has the bits of one that was not stopped"
for name in whole parts; do { tiny $name 3000; echo 'start_from = first.safetensors'; } >$name.ini; done
exits 0 ablate run whole.ini "${fast[@]}"
"$program" run parts.ini --threads 1 --progress plain >/dev/null 2>parts.err &
host=$!
begun() { grep -q 'step [0-9]*00/' parts.err; }
wait_for 30 begun
kill -TERM $host
wait $host
exits 0 ablate run parts.ini "${fast[@]}"
exits 0 ablate watch parts/base --log
has out "resumed at step"
equal "$(grep -c 'started with' out)" 1 "starts with the other model's values"
equal "$(ppl parts)" "$(ppl whole)" "perplexity of the run that was stopped"

echo "what is wrong is said"
{ tiny nofile 1; echo 'start_from = nowhere.safetensors'; } >nofile.ini
exits 2 ablate run nofile.ini "${fast[@]}"
has err "row base: start_from = nowhere.safetensors: found no such file and no such run"
{ tiny other 1 | sed 's/^d_model = .*/d_model = 24/; s/^d_ff = .*/d_ff = 24/; s/^sequence.alphabet = .*/sequence.alphabet = 5/'
    echo 'start_from = first.safetensors'; } >other.ini
ablate run other.ini "${fast[@]}" >out 2>err
exits 0 ablate watch other/base --log
has out "start_from = first.safetensors: found no parameter whose name and shape this model has"
finish
