#!/usr/bin/env bash
# teacher = RUN, head = distillation: a model learns another model's distribution; the teacher may have any architecture
# with the same vocabularies. The run names its teacher; bits depend neither on threads nor on replaying.
source "$(dirname "$0")/common.bash" "$@"
fast=(--threads 1 --progress none)
exact() { # NAME STEPS
    tiny "$1" "$2" | sed 's/^eval_every.*/eval_every = 20/; s/^save_every.*/save_every = 20/'
    printf 'dropout = 0\nlabel_smoothing = 0\n'
}
{ exact first 300 | sed 's/^d_model = .*/d_model = 24/; s/^layers = .*/layers = 2/'; } >first.ini
exits 0 ablate run first.ini "${fast[@]}"
model=$(echo home/runs/first/*/model.safetensors)
curve() { sql "SELECT printf('%.17g',value) FROM curves WHERE experiment='$1' AND row='$2' AND metric='$3' ORDER BY step"; }
ppl() { sql "SELECT printf('%.9g',value) FROM results WHERE experiment='$1' AND metric='PPL' AND variant='$2'"; }
below() { # FOUND LIMIT WHAT: fails unless FOUND is below LIMIT
    checks=$((checks + 1))
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && a + 0 < b + 0) }' || wrong "$3: found '$1', expected less than '$2'"
}

echo "a student learns the teacher's distribution"
{
    exact student 120
    printf 'head = distillation\nteacher = first/base@1\ndistillation.weight = 1\nkeep_states = 1\n'
    printf '[variant warm]\ndistillation.temperature = 2\n[variant alone]\ndistillation.weight = 0\n'
    printf '[variant plain]\nhead = softmax\nteacher =\n'
} >student.ini
exits 0 ablate run student.ini "${fast[@]}"
for row in base warm; do
    from=$(curve student $row distillation.kl | head -1) to=$(curve student $row distillation.kl | tail -1)
    below "$to" "$(awk -v x="$from" 'BEGIN { print 0.7 * x }')" "KL of $row from $from"
done
equal "$(ppl student alone)" "$(ppl student plain)" "perplexity with a teacher of no weight"
sha=$(sha256sum "$model" | cut -c1-12)
equal "$(sql "SELECT group_concat(DISTINCT value) FROM tag WHERE tag='teacher'" | tr -d '"')" "$work/$model, sha256 $sha" "the tag"
exits 0 ablate replay student/base --step 30
has out "points are as recorded, bit for bit"
{ sed 's/^name = .*/name = threads/' student.ini; } >threads.ini
exits 0 ablate run threads.ini --threads 2 --progress none --only base
equal "$(curve threads base distillation.kl)" "$(curve student base distillation.kl)" "KL with two threads"

echo "of a student that is the teacher nothing is apart"
{
    exact equal 1 | sed 's/^d_model = .*/d_model = 24/; s/^layers = .*/layers = 2/; s/^lr = .*/lr = 0/'
    printf 'head = distillation\nteacher = %s\nstart_from = %s\n' "$model" "$model"
} >equal.ini
exits 0 ablate run equal.ini "${fast[@]}"
below "$(curve equal base distillation.kl | tr -d -)" 1e-6 "KL"

echo "what cannot be"
{ exact none 5 && echo 'head = distillation'; } >none.ini
exits 1 ablate run none.ini --threads 1 --progress plain
has err "ab_teacher: the run has no teacher; teacher = RUN or FILE.safetensors names one"
{ exact words 5 | sed 's/^sequence.alphabet = .*/sequence.alphabet = 5/'; printf 'head = distillation\nteacher = %s\n' "$model"; } >words.ini
exits 1 ablate run words.ini --threads 1 --progress plain
has err "has another vocabulary (10 tokens, this run has 9); expected the same tokens"
{ exact unnamed 5; printf 'head = distillation\nteacher = first/bas@1\n'; } >unnamed.ini
exits 2 ablate run unnamed.ini "${fast[@]}"
has err "row base: teacher = first/bas@1: found no such file and no such run"
finish
