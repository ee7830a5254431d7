# common.bash - assertions and INIs for the scripts of this folder. `source common.bash PROGRAM SOURCE_FOLDER` makes an
# empty folder with a database of its own, enters it, and removes it at the end.
set -u
program=$1 source=$2
work=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d) # in memory where possible: databases and checkpoints sync often
cd "$work" || exit 1
# Without this variable the program sets the variable and executes itself again, thousands of times in these scripts.
# Only cli/run tests that.
export GOMP_SPINCOUNT=${GOMP_SPINCOUNT-2000}
export ABLATE_HOME=$work/home ABLATE_DB=$work/results.db OMP_NUM_THREADS=1
unset ABLATE_DATA NO_COLOR TERM
# Each run records the checkout's commit and changes, which takes several calls of git; in these scripts git finds no
# checkout. cli/run tests that runs record the commit.
export GIT_CEILING_DIRECTORIES=${GIT_CEILING_DIRECTORIES-$source}
failures=0
checks=0

ablate() { "$program" "$@"; }

# Prints the processes that this script started and that still run (their arguments name its folder).
leftovers() {
    local p words
    for p in /proc/[0-9]*; do # without starting a process for each
        mapfile -t -d '' words 2>/dev/null <"$p/cmdline" || continue
        [[ "${words[*]}" == *"ablate "@(worker|launch-round)*"$work"* ]] && echo "${p#/proc/}"
    done
    return 0
}
clean_up() {
    local p
    [ "$BASHPID" = $$ ] || return # a forked child that got a signal before its exec must not remove the folder
    for p in $(jobs -p) $(leftovers); do kill -9 "$p" 2>/dev/null; done
    cd / && rm -rf "$work"
}
trap clean_up EXIT

wrong() {
    failures=$((failures + 1))
    echo "WRONG: $*"
}
# equal FOUND EXPECTED WHAT: fails, naming WHAT, unless both texts are equal.
equal() {
    checks=$((checks + 1))
    [ "$1" = "$2" ] || wrong "$3: found '$1', expected '$2'"
}
# has FILE TEXT: fails unless a line of the file contains the text.
has() {
    checks=$((checks + 1))
    grep -qF -- "$2" "$1" || { wrong "$1 has no line with '$2'; it is:" && sed 's/^/    | /' "$1"; }
}
hasnt() {
    checks=$((checks + 1))
    ! grep -qF -- "$2" "$1" || { wrong "$1 has a line with '$2'; it is:" && sed 's/^/    | /' "$1"; }
}
# exits CODE COMMAND...: fails unless the command ends with CODE. Its standard output goes to out, standard error to
# err.
exits() {
    local expected=$1 code=0
    shift
    "$@" >out 2>err || code=$?
    checks=$((checks + 1))
    [ $code = "$expected" ] && return
    wrong "exit code of '$*': found $code, expected $expected; it said:"
    sed 's/^/    | /' err out
}
# column NAME: prints that column of a CSV file on standard input. No cell of the columns before it may contain a comma.
column() { tr -d '\r' | awk -F, -v want="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == want) n = i; next } { print $n }'; }
# sql QUERY [DATABASE]: prints the values, separated by commas, without the heading.
sql() { "$program" query "$1" --format csv ${2:+--db "$2"} | tail -n +2 | tr -d '\r'; }
# wait_for SECONDS COMMAND...: repeats the command until it succeeds; fails after SECONDS.
wait_for() {
    local n=$(($1 * 20))
    shift
    while ! "$@" >/dev/null 2>&1; do
        [ $((n -= 1)) -gt 0 ] || return 1
        sleep 0.05
    done
}
finish() {
    echo "$checks checks, $failures failed"
    [ $failures = 0 ]
    exit
}

# Keys of [base] for a model that learns to copy in 500 updates; the caller adds steps, eval_every and save_every.
copying() {
    cat <<'INI'
task = sequence
sequence.kind = copy
layers = 1
d_model = 32
d_ff = 64
heads = 2
dropout = 0
label_smoothing = 0
batch_tokens = 512
optimizer = adam
schedule = constant
lr = 0.005
warmup = 20
precision = fp32
beam_size = 1
INI
}

# tiny NAME STEPS: prints the [experiment] and [base] of an INI whose runs take well under a second. The caller appends
# sweeps.
tiny() {
    cat <<INI
[experiment]
name = $1
[base]
task = sequence
layers = 1
d_model = 16
d_ff = 32
heads = 2
batch_tokens = 128
steps = $2
schedule = constant
lr = 0.005
warmup = 10
eval_every = 10
save_every = 5
sequence.alphabet = 6
sequence.max_length = 5
sequence.test_length = 7
sequence.train_examples = 300
sequence.test_examples = 30
beam_size = 2
INI
}
