# A database and its folder of runs can be moved or copied: each database uses the files in its own folder, and no
# command changes the files of another copy.
source "$(dirname "$0")/common.bash" "$@"
unset ABLATE_DB

fast=(--threads 1 --progress none)
{ tiny trip 20 && printf 'keep_states = 2\n[variant one]\nheads = 1\n'; } >trip.ini

# reads DATABASE-ARGUMENT...: every command that opens a run's files succeeds.
reads() {
    exits 0 ablate show trip/base "$@"
    equal "$(grep -c "$PWD/$there/" out)" "$(grep -c "trip/[0-9a-f]\{12\}-s1-g0/" out)" "paths that show prints"
    exits 0 ablate show trip/base --hyp test "$@"
    exits 0 ablate watch trip/base --log "$@"
    exits 0 ablate predict --run trip/base "$@" </dev/null
    exits 0 ablate replay trip/base --step 18 --until 20 "$@"
    has err "from $PWD/$there/trip/"
}
files() { (cd "$1" && find . -type f ! -name '*.db*' -exec sha256sum {} + | sort); }

for kind in usual other; do
    echo "the $kind database"
    if [ $kind = usual ]; then at=() runs=home/runs; else at=(--db a/x.db) runs=a/x.db.runs; fi
    mkdir -p a
    exits 0 ablate run trip.ini "${fast[@]}" "${at[@]}"
    before=$(files $runs)

    echo "  copied: the copy's own files, and the original's stay"
    if [ $kind = usual ]; then cp -r home copy; export ABLATE_HOME=$work/copy there=copy/runs
    else cp -r a copy && at=(--db copy/x.db) there=copy/x.db.runs; fi
    reads "${at[@]}"
    exits 0 ablate run trip.ini "${fast[@]}" "${at[@]}" --rerun all --only one
    exits 0 ablate rm trip/base --yes "${at[@]}"
    exits 0 ablate rm --experiment trip --yes "${at[@]}"
    equal "$(find $there -name log.txt | wc -l)" 0 "files of the copy"
    equal "$(files $runs)" "$before" "files of the original"

    echo "  moved: found, and removed"
    rm -rf copy
    if [ $kind = usual ]; then mv home moved; export ABLATE_HOME=$work/moved there=moved/runs
    else mv a moved && at=(--db moved/x.db) there=moved/x.db.runs; fi
    reads "${at[@]}"
    exits 0 ablate rm --experiment trip --yes "${at[@]}"
    equal "$(find $there -name log.txt | wc -l)" 0 "files left behind"
    rm -rf moved
    export ABLATE_HOME=$work/home
done

echo "a run that was stopped goes on where it was moved to"
sed 's/^steps = .*/steps = 200000/' trip.ini >long.ini
"$program" run long.ini --only base "${fast[@]}" --db a/x.db >out 2>err &
host=$!
saved() { ls a/x.db.runs/trip/*-s1-g0/state.safetensors; }
wait_for 60 saved || wrong "no checkpoint: $(cat err)"
kill -TERM $host
wait $host
mv a b
exits 143 timeout --preserve-status -s TERM 3 "$program" run long.ini --only base "${fast[@]}" --db b/x.db
checks=$((checks + 1))
grep -q "resumed at step" b/x.db.runs/trip/*-s1-g0/log.txt || wrong "it began anew: $(cat b/x.db.runs/trip/*/log.txt)"

echo "rows that start from a run, or have one as teacher, stay done and go on where they were moved to"
tiny first 40 >first.ini
exits 0 ablate run first.ini "${fast[@]}" --db c/x.db
file=$(cd c/x.db.runs && echo first/*-s1-g0/model.safetensors)
# started NAME STEPS FIRST: prints an INI whose rows start from, or are taught by, the run FIRST
started() {
    tiny "$1" "$2" && printf 'keep_states = 2\nstart_from = %s\n' "$3"
    printf '[variant taught]\nstart_from =\nhead = distillation\nteacher = %s\n' "$3"
}
started named 20 first/base@1 >named.ini
started path 20 "$PWD/c/x.db.runs/$file" >path.ini # earlier versions stored a path
for ini in named path; do exits 0 ablate run $ini.ini "${fast[@]}" --db c/x.db; done
started stopped 200000 "$PWD/c/x.db.runs/$file" >stopped.ini
"$program" run stopped.ini --only base "${fast[@]}" --db c/x.db >out 2>err &
host=$!
saved() { ls c/x.db.runs/stopped/*-s1-g0/state.safetensors; }
wait_for 60 saved || wrong "no checkpoint: $(cat err)"
kill -TERM $host
wait $host
mv c d
stored="SELECT DISTINCT json_extract(config_json,'$.start_from')||json_extract(config_json,'$.teacher') FROM variant v
    JOIN experiment x ON x.id=experiment_id WHERE x.name="
equal "$(sql "$stored'named'" d/x.db)" "$file" "what rows store of the run that they name"
equal "$(sql "$stored'path'" d/x.db)" "$work/c/x.db.runs/$file" "what earlier versions stored"
for ini in named path; do
    for row in base taught; do
        exits 0 ablate replay $ini/$row --step 18 --until 20 --db d/x.db
        has out "points are as recorded, bit for bit"
    done
    started $ini 20 first/base@1 >$ini.ini
    attempts=$(sql "SELECT count(*) FROM attempt" d/x.db)
    exits 0 ablate run $ini.ini --dry-run --db d/x.db
    has err "2 of 2 runs are done"
    exits 0 ablate run $ini.ini "${fast[@]}" --db d/x.db
    equal "$(sql "SELECT count(*) FROM attempt" d/x.db)" "$attempts" "attempts of $ini.ini after mv"
done
started stopped 200000 first/base@1 >stopped.ini
exits 143 timeout --preserve-status -s TERM 3 "$program" run stopped.ini --only base "${fast[@]}" --db d/x.db
checks=$((checks + 1))
grep -q "resumed at step" d/x.db.runs/stopped/*-s1-g0/log.txt || wrong "it began anew: $(cat d/x.db.runs/stopped/*/log.txt)"
started file 5 "$file" >file.ini
exits 0 ablate run file.ini "${fast[@]}" --db d/x.db
started none 5 "${file/first/none}" >none.ini
exits 2 ablate run none.ini "${fast[@]}" --db d/x.db
has err "row base: start_from = ${file/first/none}: found no such file and no such run"
has err "$work/d/x.db.runs/${file/first/none}"

echo "rm tells what it does not find, and asks nobody where nobody answers"
rm -rf b/x.db.runs
exits 2 ablate rm --experiment trip --db b/x.db </dev/null
has err "there is no terminal to ask on: expected --yes, or --dry-run"
exits 0 ablate rm --experiment trip --yes --db b/x.db
has err "found no files of 1 run"
finish
