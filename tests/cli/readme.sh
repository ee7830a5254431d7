#!/usr/bin/env bash
# Examples of README.md and docs/ work: each command runs from a bare clone, with shortened training, in this test or
# another one; of any other command the page says what it needs. The pages' INIs parse; the ten queries return rows.
source "$(dirname "$0")/common.bash" "$@"
export ABLATE_HOME=$work
ln -s "$source"/{README.md,docs,experiments,tests,bench} .
short=(-s steps=4 -s warmup=2 -s eval_every=4 -s save_every=4 -s translation.train_pairs=200 -s \
    translation.dev_pairs=20 -s translation.test_pairs=20 --threads 1)

# pages whose blocks another test runs
declare -A by=([import]=import [python]=python_page [plugins]=guide [plugins/feed_forward]=guide [tutorial]=tutorial)

# commands FILE: prints its commands, one a line, from indented and sh blocks: "run", tab, command, or "marked" for one
# that is not run, because the comment behind it or the paragraph above says what it needs or how long it takes.
commands() {
    awk -v words='^(([A-Z_]+=[^ ]* )?([.]/)?ablate [a-z]+( |$)|git |python|pip|datasette|ninja|build/|cmake|cut|grep|export|bench/|TORCH_|ABLATE_|S=)' '
        function finish() { print (aside || command ~ / # .*(needs|takes) / ? "marked" : "run") "\t" command; command = "" }
        /^```/ { sh = /^```sh/; fence = !fence; if (fence) aside = before ~ /[(](needs|takes) /; next }
        command == "" && fence && !sh { next }
        { line = $0; sub(/^    /, "", line) }
        command != "" { sub(/ *\\$/, "", command); command = command " " line }
        command == "" && (sh || /^    /) && line ~ words { if (!sh) aside = before ~ /[(](needs|takes) /; command = line }
        command != "" { if (command !~ /\\$/ && gsub(/"/, "&", command) % 2 == 0) finish(); next }
        !/^$/ { before = blank ? $0 : before " " $0 }
        { blank = /^$/ }' "$1"
}

echo "commands of README and docs, in order"
ran=0
for f in README.md docs/*.md docs/plugins/*.md; do
    page=${f#docs/} page=${page%.md}
    if [ -n "${by[$page]:-}" ]; then
        has "$source/tests/cli/${by[$page]}.sh" "\$source/docs/$page.md"
        continue
    fi
    while IFS=$'\t' read -r what line; do
        [ "$what" = marked ] && continue
        command=${line%%  #*}
        command=${command//.\/ablate/ablate} command=${command//build\/ablate-bench/${ABLATE_BENCH:-$program-bench}}
        # cli/retrained (in `ablate test --all`) trains runs of the record again
        [[ $command != "ablate verify experiments/recorded/"* ]] || command+=" --runs 0"
        command=${command//\/dev\/shm\/many.db/many.db} # in this run's own folder
        # ABLATE_TEST_LONG runs the lengths that the page names and the default lengths, up to 4,096. Otherwise a few
        # short lengths are run, as in cli/layers.
        if [[ ${ABLATE_TEST_LONG-} ]]; then
            [[ $command != *"ablate bench layers"* ]] || command=${command/--seconds 0.1/--seconds 0.01}
        elif [[ $command == *"ablate bench layers"* ]]; then
            command=$(sed -E 's/--(length|seconds) [0-9.]+//g' <<<"$command")
            command+=" --seconds 0.01 --length 16 --length 32 --length 64"
        fi
        [[ $command == *"ablate run experiments/"* && $command != *--dry-run* ]] && command+=" ${short[*]}"
        code=0
        eval "$command" >out 2>err </dev/null || code=$?
        ran=$((ran + 1))
        equal $code 0 "exit code of a command of $f that says not what it needs: $command ($(tail -1 err))"
    done < <(commands "$source/$f")
done
equal $((ran >= 25)) 1 "commands that were run: $ran"

echo "INIs"
awk '$0 == "```" { on = 0 } on { print } $0 == "```ini" { on = 1 }' "$source/README.md" >readme.ini
equal "$(sed -n '/^\[experiment\]/,$p' "$source/experiments/parts/heads.ini")" "$(cat readme.ini)" \
    "the README's sweep and experiments/parts/heads.ini, of which a command above is a dry run"

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

echo "keys of JSON that docs/json.md names"
for command in ls "list plugins" "query --list" "list corpora"; do
    # shellcheck disable=SC2086
    exits 0 ablate $command --json
    keys=$(grep -F "| \`$command --json\` |" "$source/docs/json.md" | cut -d'|' -f3 | grep -oE '[{,] *[a-z_0-9]+' | tr -d '{, ')
    equal "$(($(wc -w <<<"$keys") >= 3))" 1 "keys of $command: $keys"
    for key in $keys; do has out "\"$key\":"; done
done

echo "links"
for f in README.md CONTRIBUTING.md $(cd "$source" && ls docs/*.md docs/plugins/*.md experiments/{,*/}*.md); do
    while IFS= read -r link; do
        [ -e "$source/$(dirname "$f")/$link" ] || wrong "$f: no file $link"
        checks=$((checks + 1))
    done < <(grep -oE '\]\([^)#]+\)' "$source/$f" | sed 's/^](//; s/)$//' | grep -v '^http')
done
for f in README.md CONTRIBUTING.md docs/{architecture,queries,results}.md; do
    equal "$(awk 'length > 160 && !/^<!--/' "$source/$f" | wc -l)" 0 "lines over 160 characters in $f"
done
finish
