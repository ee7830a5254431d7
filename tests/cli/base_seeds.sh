#!/usr/bin/env bash
# seeds = 1..2, base = 5: base trains more seeds than the other rows, and every comparison uses all seeds of base. If
# base gets more seeds after there are results, no verdict changes, and the table says so.
source "$(dirname "$0")/common.bash" "$@"
made() { # made NAME SEEDS: an INI whose runs take no time
    tiny "$1" 10 | sed "/^name/a seeds = $2"
    printf '[criterion]\nmetric = PPL\nseeds = 2\n[sweep A]\nheads = 1\n[variant none]\nposition = none\n'
}
compared() { sql "SELECT row,n,n_base,delta,low,high,p FROM paired WHERE experiment='$1' AND metric='PPL' ORDER BY row"; }

made more "1..2, base = 5" >more.ini
exits 0 ablate run more.ini --dry-run
has err "2 seeds, 5 of base"
has out "3 to train x 2 seeds, 5 of base = 9 runs"
exits 0 ablate run more.ini --threads 1 --progress none
equal "$(sql "SELECT count(*) FROM run")" 9 "runs of two rows and of base"
equal "$(sql "SELECT n_base FROM paired WHERE metric='PPL'" | sort -u)" 5 "base's runs in each comparison"
hasnt out "after the first results"
exits 0 ablate run more.ini --dry-run
has err "9 of 9 runs are done"

made few "1..2" >few.ini
exits 0 ablate run few.ini --threads 1 --progress none
before=$(compared few)
equal "$(sql "SELECT n_base FROM paired WHERE experiment='few' AND metric='PPL'" | sort -u)" 2 "base's runs before"
made few "1..2, base = 4" >few.ini
exits 0 ablate run few.ini --threads 1 --progress none
has out "Base got 2 further seeds after the first results"
equal "$(compared few)" "$before" "the comparisons after base got further seeds"
equal "$(sql "SELECT count(*) FROM run r JOIN variant v ON v.id=variant_id JOIN experiment x ON x.id=experiment_id
    WHERE x.name='few' AND is_base")" 4 "base's runs"
exits 0 ablate record few few.json
exits 0 ablate import few.json --db other.db
exits 0 ablate table few --db other.db
has out "Base got 2 further seeds after the first results"

# If the other rows get more seeds together with base, they are compared with all of base's seeds.
made few "1..3, base = 4" >few.ini
exits 0 ablate run few.ini --threads 1 --progress none
hasnt out "after the first results"
equal "$(sql "SELECT n_base FROM paired WHERE experiment='few' AND metric='PPL'" | sort -u)" 4 "base's runs, rows extended"

exits 0 ablate plan more.ini --detect "1 PPL" --sd 0.5
has out "as planned:"
equal "$(grep -A1 '^as planned' out | tail -1 | tr -s ' ' | cut -d' ' -f2,3)" "2 5" "the plan's own seeds"
finish
