# Messages about removed commands and options name a replacement, and the replacement exists.
source "$(dirname "$0")/common.bash" "$@"
answered() { # OLD WORDS... -- NEW COMMAND [OPTION]: the removed words are refused, and the message names the new ones
    local old=()
    while [ "$1" != -- ]; do old+=("$1") && shift; done
    exits 2 ablate "${old[@]}"
    has err " is gone: "
    has err "$2"
    exits 0 ablate help ${2%% -*}
    [ -z "${3-}" ] || has out "$3"
}
answered note quick/base busy -- tag
answered restore quick -- rm --undo
answered across first second -- table --output
answered agree a b -- "score agree"
answered log quick/base -- watch --log
answered devices -- list devices
answered plugins attention -- list plugins
answered reference -- list keys
answered data list -- list corpora
answered debug quick.ini --step 2 -- replay SPEC.ini
answered report quick --serve -- report --watch
answered report quick --port 80 -- report --watch
for name in train decode attention host; do
    exits 2 ablate bench $name --seconds 1
    has err "ablate: bench $name is gone: "
    has err "build/ablate-bench, which has \`$name\`"
    grep -q '"ablate-bench"' "$source/bench/program/main.c" && grep -q "\"$name\"" "$source"/bench/program/*.c ||
        wrong "bench/program has no $name"
done
while IFS=: read -r old new; do
    exits 2 ablate $old
    has err " is gone: "
    has err "$new"
done <<'END'
data get multi30k --dir .:ABLATE_DATA
replay quick.ini --step 2 --threads 1:-s threads
replay quick.ini --step 2 --device cpu:-s device
import a.csv --as a --value v:name the column of values
import a.csv --as a --ignore v:left out
import a.csv --as a --headline v:--metric
run quick.ini --ranks 2:-s ranks
run quick.ini --nice:nice ablate run
watch quick --width 80:COLUMNS=
record quick --points 3:keeps 200 points
publish quick folder --points 3:keeps 200 points
END

echo "all helps together have at most 220 options: lines of an option and its explanation, each counted once"
ablate --help >commands
sed -n 's/^  \([a-z]\{1,\}\( [a-z0-9]\{1,\}\)\{0,1\}\) .*/\1/p' commands >names
while read -r name; do
    $program help $name </dev/null 2>/dev/null || $program help ${name%% *} </dev/null
done <names | awk '/^options:/ { on = 1; next }
    /^[a-z]+:/ { on = 0 }
    !on { next }
    /^  -/ { n++ }
    { gsub(/  +/, " "); text[n] = text[n] $0 }
    END { for (i = 1; i <= n; i++) if (text[i] !~ /^ -(h|q|v), --/) print text[i] }' | sort -u >options
[ "$(wc -l <names)" -ge 45 ] || wrong "commands: $(cat names)"
[ "$(wc -l <options)" -le 220 ] || wrong "options: found $(wc -l <options), expected 220 or fewer"
[ "$(wc -l <options)" -ge 150 ] || wrong "options: found $(wc -l <options), expected 150 or more"
finish
