#!/usr/bin/env bash
# lr = tune(LOW .. HIGH, N, seeds K, extend): if the best value lies at an edge, the search continues beyond it, with K
# seeds per candidate. Table, page, JSON and charts name the rows whose best value lies at an edge.
source "$(dirname "$0")/common.bash" "$@"
made() { # made NAME TUNE: prints an INI whose lr is TUNE
    tiny "$1" 6 | sed "s/^lr = .*/lr = $2/"
    printf '[variant thin]\nd_k = 6\n'
}
quiet=(--threads 1 --progress none)

echo "without extend the edge is named"
made plain "tune(0.0001 .. 0.001, 3)" >plain.ini
exits 0 ablate run plain.ini --threads 1 --progress plain
has err "search: base gets lr = 0.001, dev PPL"
has err "best of 3 candidates, at an end of the values tried"
has out "Best value at an end of the range; a better one may lie beyond: base (lr = 0.001, the highest of 3); thin"
exits 0 ablate table plain --format json
has out '"at_edge":"lr = 0.001, the highest of 3"'
exits 0 ablate report plain -o plain.html
has plain.html "Best value at an end of the range"
for more in --forest "--over trials" "--over step"; do
    exits 0 ablate plot plain $more -o plain.svg
    has plain.svg "thin (at an edge)"
done

echo "extend goes on until the best lies inside, four times at most"
made more "tune(0.00001 .. 0.001, 3, extend)" >more.ini
exits 0 ablate run more.ini "${quiet[@]}"
trials_of() {
    sql "SELECT group_concat(n||' '||json_extract(settings,'\$.lr')||' '||rung||' '||outcome,', ') FROM (SELECT * FROM trial t
        JOIN experiment x ON x.id=t.experiment_id WHERE x.name='$1' AND row='base' AND n>3 ORDER BY n)" | tr -d '"'
}
equal "$(trials_of more | grep -cE '^4 0.01 1 pruned, 5 0.1 1 .*chosen, . [0-9]+ 1 pruned$')" 1 \
    "further candidates of full length, until one is worse"
hasnt out "Best value at an end"
made far "tune(0.0000001 .. 0.000001, 3, extend)" >far.ini
exits 0 ablate run far.ini --threads 1 --progress plain
equal "$(trials_of far | grep -o chosen | wc -l) $(trials_of far | tr ',' '\n' | wc -l)" "1 4" "four further candidates at most"
has err "best of 7 candidates, at an end of the values tried"
has out "Best value at an end of the range"
made inside "tune(0.01 .. 100, 5, extend)" >inside.ini
exits 0 ablate run inside.ini "${quiet[@]}"
hasnt out "Best value at an end"
equal "$(sql "SELECT max(n) FROM trial t JOIN experiment x ON x.id=t.experiment_id WHERE x.name='inside'")" 5 "candidates inside"

echo "the same command trains nothing more, and a row that --only leaves out keeps what was found beyond the range"
before=$(sql "SELECT count(*)||' '||sum(attempts) FROM runs")
chosen=$(sql "SELECT group_concat(DISTINCT lr) FROM settings WHERE experiment='more'")
exits 0 ablate run more.ini --dry-run
has err "2 of 2 runs are done"
hasnt err "trials of searches"
exits 0 ablate run more.ini "${quiet[@]}"
equal "$(sql "SELECT count(*)||' '||sum(attempts) FROM runs")" "$before" "runs and attempts after the same command"
exits 0 ablate run more.ini "${quiet[@]}" --only thin
equal "$(sql "SELECT group_concat(DISTINCT lr) FROM settings WHERE experiment='more'")" "$chosen" "the values found"

echo "k seeds of each candidate decide by their mean"
made twice "tune(0.001 .. 0.1, 2, seeds 2)" >twice.ini
exits 0 ablate run twice.ini --dry-run
has err "8 trials of searches"
exits 0 ablate run twice.ini "${quiet[@]}"
equal "$(sql "SELECT group_concat(DISTINCT seed)||' '||count(*)||' '||sum(outcome='chosen') FROM trial t JOIN experiment x
    ON x.id=t.experiment_id WHERE x.name='twice'" | tr -d '"')" "1001,1002 8 4" "two seeds of two candidates of two rows"
has out "base: lr = 0.1 of 2; thin: lr = 0.1 of 2"
exits 0 ablate plot twice --over trials -o twice.csv
made mixed "tune(0.001 .. 0.1, 2, seeds 2)" | sed '/^\[variant/a lr = tune(0.001 .. 0.1, 2)' >mixed.ini
exits 0 ablate run mixed.ini "${quiet[@]}"
equal "$(sql "SELECT group_concat(row||' '||n,', ') FROM (SELECT row,count(*) n FROM trial t JOIN experiment x
    ON x.id=t.experiment_id WHERE x.name='mixed' GROUP BY row ORDER BY row)" | tr -d '"')" "base 4, thin 2" "trials of rows with other seeds"

echo "a search is refused by what is wrong in it"
for bad in "tune(1 .. 2, 3, seeds 0)" "tune(1 .. 2, 3, twice)" "tune(1 .. 2)" "tune(1, 2, extend)"; do
    made bad "$bad" >bad.ini
    exits 2 ablate run bad.ini --dry-run
    has err "lr: found \"$bad\", expected tune(LOW .. HIGH, N)"
done
finish
