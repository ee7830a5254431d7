#!/usr/bin/env bash
# Databases of earlier versions (tests/data/versions) under `run`: no finished run trains again, and differences are
# reported before anything is written. No command upgrades a database while a host is training its runs.
source "$(dirname "$0")/common.bash" "$@"
versions=$source/tests/data/versions
fast=(--threads 1 --progress plain)
counts="SELECT (SELECT count(*) FROM run), (SELECT count(*) FROM run WHERE status='done'),
    (SELECT sum(exploratory) FROM variant)"
# untouched DATABASE COUNTS WHAT: DATABASE has no new run and no new exploratory row.
untouched() {
    hasnt err "start "
    equal "$(sql "$counts" "$1")" "$2" "$3: runs, done ones, exploratory rows"
}
last() { sed 's/^steps.*/&\ncheckpoint = last/' "$1"; }

echo "3772abc: keys that were renamed, changed defaults, keys that came since"
gunzip -c "$versions/3772abc.db.gz" >a.db
cp a.db old.db
exits 2 ablate run "$versions/old.ini" "${fast[@]}" --db a.db
has err "beam: was renamed to beam_size"
cmp -s a.db old.db || wrong "a refused INI changed the database"
sed 's/^relu_dropout/activation_dropout/; s/^average/average_checkpoints/; s/^beam/beam_size/' \
    "$versions/old.ini" >old.ini
exits 1 ablate run old.ini "${fast[@]}" --db a.db
has err "old: this version of ablate has other defaults than the version that trained the results:"
has err "  base: checkpoint = best, was last"
has err "  A/heads=1: checkpoint = best, was last"
untouched a.db 2,2,0 "renamed keys"
{ last old.ini && printf '# a comment\n[sweep B]\nd_ff/beam_size = 40/3\n'; } >more.ini
exits 1 ablate run old.ini --dry-run --db a.db
exits 0 ablate run more.ini "${fast[@]}" --db a.db
hasnt err "start   base"
hasnt err "start   A/heads=1"
equal "$(sql "SELECT name||exploratory FROM variant WHERE archived=0 ORDER BY place" a.db | xargs)" \
    "base0 A/heads=10 B/d_ff=40 beam_size=31" "rows, and whether they are exploratory"

for commit in fa6aaa1 75b29cdc; do
    echo "$commit: as it was, with a comment, with a row more, by values"
    rm -rf b.db* && gunzip -c "$versions/$commit-sweeps.db.gz" >b.db
    { cat "$versions/plain.ini" && printf '# a comment\n[variant three]\nd_ff = 24\n'; } >plain.ini
    { sed 's/^steps.*/steps = 8\nbeam_size = 4/' "$versions/plain.ini" | sed '/^\[variant/,$d' &&
        printf '[sweep B]\ndropout = 0\n'; } >moved.ini # one default is written out, one row is renamed
    found=$(sql "$counts" b.db)
    rows="SELECT n.name, round(c.delta,6), round(c.low,4), round(c.high,4), round(c.p,6), c.verdict FROM comparison c
        JOIN metric n ON n.id=metric_id JOIN variant v ON v.id=variant_id JOIN experiment e ON e.id=experiment_id
        WHERE e.name='plain' AND v.name IN ('two','B/dropout=0') ORDER BY 1"
    cp b.db then.db
    verdicts=$(command -v sqlite3 >/dev/null && sqlite3 then.db "$rows")
    if [ $commit = fa6aaa1 ]; then
        for ini in "$versions/plain.ini" plain.ini moved.ini; do
            exits 1 ablate run "$ini" "${fast[@]}" --db b.db
            has err "  base: checkpoint = best, was last"
            untouched b.db "$found" "$ini of $commit"
        done
        exits 1 ablate run plain.ini --only three "${fast[@]}" --db b.db
        has err "  two: checkpoint = best, was last"
        exits 1 ablate run plain.ini --dry-run --db b.db
        has err "  two: checkpoint = best, was last"
        for ini in tuned matched; do
            exits 1 ablate run "$versions/$ini.ini" "${fast[@]}" --db b.db
            has err "  base: checkpoint = best, was last"
            untouched b.db "$found" "$ini of $commit"
            last "$versions/$ini.ini" >$ini.ini
        done
        for ini in plain moved; do last $ini.ini >x && mv x $ini.ini; done
    else
        cp "$versions/tuned.ini" "$versions/matched.ini" .
    fi
    exits 0 ablate run moved.ini "${fast[@]}" --db b.db
    untouched b.db "$found" "moved.ini of $commit"
    [ -z "$verdicts" ] || equal "$(sqlite3 b.db "$rows")" "$verdicts" "comparisons of $commit"
    for ini in tuned matched; do
        exits 0 ablate run $ini.ini --dry-run --db b.db
        has err "2 of 2 runs are done, 0 runs: about 0 s"
        exits 0 ablate run $ini.ini "${fast[@]}" --db b.db
        untouched b.db "$found" "$ini of $commit"
    done
    exits 0 ablate run plain.ini --seeds 1 "${fast[@]}" --db b.db
    equal "$(grep -c "^start " err)" 1 "runs that the row more trains, of $commit"
    has err "start   three"
    equal "$(sql "SELECT exploratory FROM variant v JOIN experiment e ON e.id=experiment_id WHERE e.name='plain' AND
        v.archived=0 ORDER BY place" b.db | xargs)" "0 0 1" "exploratory rows"
done

verdicts() { # NAME METRIC: prints the verdicts stored in b.db
    sqlite3 b.db "SELECT v.name, round(c.delta,6), round(c.low,4), round(c.high,4), coalesce(c.verdict,'none')
        FROM comparison c JOIN variant v ON v.id=variant_id JOIN experiment e ON e.id=experiment_id
        JOIN metric n ON n.id=metric_id WHERE e.name='$1' AND n.name='$2' ORDER BY 1"
}
for commit in fa6aaa1 75b29cdc; do
    echo "$commit: verdicts stay; of three seeds there are some now, since [criterion] seeds was 5 by default"
    command -v sqlite3 >/dev/null || { echo "left out: no sqlite3" && break; }
    rm -rf b.db* && gunzip -c "$versions/$commit-judged.db.gz" >b.db
    three=$(verdicts judged_seeds acc) perplexity=$(verdicts judged_perplexity PPL)
    equal "$(verdicts judged acc | sed 's/.*|//' | xargs)" "none none" "verdicts of three seeds before"
    equal "$(sed 's/.*|//' <<<"$perplexity" | xargs)" "worse undecided" "verdicts on perplexity before"
    for name in judged judged_seeds judged_perplexity; do
        if [ $commit = fa6aaa1 ]; then last "$versions/$name.ini"; else cat "$versions/$name.ini"; fi >$name.ini
        exits 0 ablate run $name.ini "${fast[@]}" --db b.db
        untouched b.db 27,27,0 "$name of $commit"
        has out "3 or more seeds per row"
    done
    equal "$(verdicts judged acc)" "$three" "verdicts of three seeds, $commit"
    equal "$(verdicts judged_seeds acc)" "$three" "verdicts of seeds = 3, $commit"
    equal "$(verdicts judged_perplexity PPL)" "$perplexity" "verdicts on perplexity, $commit"
done

echo "settings that were asked for are no defaults"
rm -rf b.db* && gunzip -c "$versions/75b29cdc-sweeps.db.gz" >b.db
exits 0 ablate run "$versions/plain.ini" -s dropout=0.2 --seeds 1 "${fast[@]}" --db b.db
has err "start   base"
exits 0 ablate run "$versions/plain.ini" -s dropout=0.3 --seeds 1 "${fast[@]}" --db b.db
exits 0 ablate run "$versions/plain.ini" "${fast[@]}" --db b.db
hasnt err "start "

echo "another default of one's own plugin is named; a key that it has got since changes no row"
# scale OPTIONS: compiles scale.so with these compiler options
scale() {
    cat >scale.c <<C
#include "ab_plugin.h"
typedef struct {
    double factor, more;
} config;
static ab_t forward(ab_ctx *c, const void *cfg, ab_t x, ab_t mem)
{
    const config *o = cfg;
    ab_t q = ab_query(c, x), k = ab_key(c, mem), v = ab_value(c, mem);
    return ab_output(c, ab_weighted_sum(c, ab_softmax(c, ab_scores(c, q, k, o->factor + o->more)), v));
}
static const ab_option params[] = {$1 {0}};
static const ab_attention_plugin self = {
    .roles = AB_SELF | AB_CAUSAL | AB_CROSS, .accepts = AB_POS_EMBED, .forward = forward};
AB_PLUGIN(config, params, &self, .name = "scale", .doc = "attention with scaled scores");
C
    cc -shared -fPIC -I"$source/core/api" scale.c -o scale.so || wrong "scale.c does not build"
}
{ tiny own 6 && printf '[variant mine]\nattention = ./scale.so\n'; } >own.ini
scale '{"factor", AB_REAL, offsetof(config, factor), 0.5, 0, 1, 0, "of scores [none]"},'
exits 0 ablate run own.ini "${fast[@]}" --no-check --db own.db
scale '{"factor", AB_REAL, offsetof(config, factor), 0.5, 0, 1, 0, "of scores [none]"},
    {"more", AB_REAL, offsetof(config, more), 0, 0, 1, 0, "of scores [none]"},'
exits 0 ablate run own.ini "${fast[@]}" --no-check --db own.db
untouched own.db 2,2,0 "a plugin's new key"
scale '{"factor", AB_REAL, offsetof(config, factor), 0.25, 0, 1, 0, "of scores [none]"},'
echo '# a comment' >>own.ini
exits 1 ablate run own.ini "${fast[@]}" --no-check --db own.db
has err "  mine: scale.factor = 0.25, was 0.5"
hasnt err "  base: "
untouched own.db 2,2,0 "a plugin's other default"
exits 0 ablate run own.ini -s scale.factor=0.5 "${fast[@]}" --no-check --db own.db
untouched own.db 2,2,0 "the old value"

if command -v sqlite3 >/dev/null; then
    echo "no command upgrades a database while a host of an older version lives"
    tiny long 100000 | sed 's/^\(save\|eval\)_every.*/\1_every = 1000/' >long.ini
    "$program" run long.ini "${fast[@]}" --db host.db >host.txt 2>&1 &
    host=$!
    running() { [ "$(sql "SELECT count(*) FROM run WHERE status='running'" host.db)" = 1 ]; }
    wait_for 60 running || wrong "the host trains nothing: $(cat host.txt)"
    owner=$(sql "SELECT owner FROM run" host.db)
    # held OWNER SECONDS: makes of.db, whose run 1 belongs to OWNER, last heard from SECONDS ago
    held() {
        gunzip -c "$versions/fa6aaa1.db.gz" >of.db
        sqlite3 of.db "UPDATE run SET status='running', owner='$1', heartbeat_at=strftime('%s')-$2 WHERE id=1"
        cp of.db before.db
    }
    for held in "$owner 1000" "slurm/1-2 10"; do
        # shellcheck disable=SC2086
        held $held
        for words in "ls" "table old" "watch --once" "show old/base" "rm --experiment old --yes" "run old.ini"; do
            # shellcheck disable=SC2086
            exits 1 ablate $words --db of.db
            has err "found version 4 of the results database, in use by a process that trains its runs (${held% *})"
        done
        cmp -s of.db before.db || wrong "the database of a living host has changed"
        equal "$(echo of.db.*)" "of.db.*" "copies of a database that was not upgraded"
    done
    held slurm/1-2 1000
    exits 0 ablate ls --db of.db
    rm of.db*
    held "$owner" 0
    kill $host
    wait $host
    exits 0 ablate ls --db of.db
    has err "of.db was upgraded to a newer version"
else
    echo "left out: no sqlite3"
fi
finish
