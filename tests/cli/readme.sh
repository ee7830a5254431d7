#!/usr/bin/env bash
# Examples of README.md and docs/ work: their commands run from a bare clone (with shortened training), their INIs
# parse, the ten queries have answers. `elsewhere` lists what needs more than a clone, with the reason.
source "$(dirname "$0")/common.bash" "$@"
export ABLATE_HOME=$work
ln -s "$source/experiments" experiments
short=(-s steps=4 -s warmup=2 -s eval_every=4 -s save_every=4 -s translation.train_pairs=200 -s \
    translation.dev_pairs=20 -s translation.test_pairs=20 --threads 1)

# elsewhere COMMAND: it needs more than a clone, or another test runs it.
elsewhere() {
    case $1 in
    *"ablate test"* | *cmake* | *"man -l"*) return 0 ;;        # itself; installation: tests/cli/install.sh
    *"ablate watch"*) return 0 ;;                              # needs a terminal: tests/cli/watch.sh
    *experiments/multi30k*) return 0 ;;                        # needs the corpus
    *"--device cuda"*) return 0 ;;                             # needs a GPU
    *SPEC.ini* | *EXPERIMENT/*) return 0 ;;                    # a pattern, not a command
    *"--lengths lengths.txt"*) return 0 ;;                     # sentence lengths of a corpus (bench/make_lengths.py)
    *parsing-craft/* | *" 1.trees"* | *model.safetensors*) return 0 ;; # need a treebank or a model that took hours
    esac
    return 1
}

echo "commands of README and docs, in order"
ran=0
while IFS= read -r line; do
    command=${line%%  #*}
    elsewhere "$command" && continue
    command=${command//.\/ablate/ablate}
    [[ $command == *"ablate run experiments/"* && $command != *--dry-run* ]] && command+=" ${short[*]}"
    code=0
    eval "$command" >out 2>err </dev/null || code=$?
    ran=$((ran + 1))
    equal $code 0 "exit code of: $command ($(tail -1 err))"
done < <(for f in README.md docs/gpu.md docs/parsing.md docs/performance.md docs/statistics.md; do
    sed ':a; /\\$/ { N; s/ *\\\n */ /; ta }' "$source/$f" | grep -E '^    (\./)?ablate ' | sed 's/^    //'
done)
equal $((ran >= 10)) 1 "commands that were run: $ran"

echo "INIs"
awk '$0 == "```" { on = 0 } on { print } $0 == "```ini" { on = 1 }' "$source/README.md" >readme.ini
exits 0 ablate run readme.ini --dry-run
equal "$(sed -n '/^\[experiment\]/,$p' "$source/experiments/heads.ini")" "$(cat readme.ini)" \
    "the README's sweep and experiments/heads.ini"

echo "ten questions, one query each"
awk '$0 == "```" { if (on) print ""; on = 0 } on { printf "%s ", $0 } $0 == "```sql" { on = 1 }' \
    "$source/docs/queries.md" >queries
n=0
while IFS= read -r sql; do
    n=$((n + 1))
    exits 0 ablate query "$sql" --format csv
    [[ $sql == *"'failed'"* ]] || equal "$(($(wc -l <out) > 1))" 1 "an answer to: $sql"
    echo "$sql" | "$program" query --format csv >piped
    equal "$(cat piped)" "$(cat out)" "SQL from standard input"
done <queries
equal $n 10 "questions"

echo "links"
for f in README.md CONTRIBUTING.md $(cd "$source" && ls docs/*.md); do
    while IFS= read -r link; do
        [ -e "$source/$(dirname "$f")/$link" ] || wrong "$f: no file $link"
        checks=$((checks + 1))
    done < <(grep -oE '\]\([^)#]+\)' "$source/$f" | sed 's/^](//; s/)$//' | grep -v '^http')
done
for f in README.md CONTRIBUTING.md docs/{architecture,queries,results}.md; do
    equal "$(awk 'length > 160' "$source/$f" | wc -l)" 0 "lines over 160 characters in $f"
done
finish
