#!/usr/bin/env bash
# The project's records form a second, read-only database: commands find the recorded experiments by name. A new
# database is empty.
source "$(dirname "$0")/common.bash" "$@"

echo "without a database"
exits 0 ablate ls --recorded
has out "smoothing"
exits 0 ablate table smoothing --metric BLEU
has out "label_smoothing=0.3"
has out "15 of 15 runs are recorded"
exits 0 ablate show smoothing/base@1
has out "(recorded elsewhere)"
exits 1 ablate show "table3-core/A/heads=2 d_k=64@99"
has err "table3-core/A/heads=2 d_k=64 has the seeds 1, 2, 3, 4, 5"
exits 0 ablate plot smoothing -o smoothing.svg
exits 0 ablate query "SELECT count(*) FROM recorded.runs WHERE experiment='smoothing.recorded'" --format csv
equal "$(tail -n 1 out | tr -d '\r')" 15 "recorded runs by SQL"
exits 1 ablate table smoothingg
mkdir -p few/experiments/recorded && cp "$source/experiments/recorded/smoothing.json.gz" few/experiments/recorded
ABLATE_HOME=$work/few exits 1 ablate query "DELETE FROM recorded.run"
has err "would change the database"
[ ! -e results.db ] || wrong "a command that reads made a database"

for file in "$source"/experiments/recorded/*.gz; do
    equal "$(zcat "$file" | grep -oEm1 '"/(home|root|tmp|work)/[^"]*' | head -1)" "" "${file##*/}: a path of the machine that recorded"
done

echo "a new database is empty and small; its first run is run 1"
{ tiny smoothing 6 && printf '[variant one]\nheads = 1\n'; } >smoothing.ini
exits 0 ablate run smoothing.ini --threads 1 --progress none
has out "Recorded runs exist: \`ablate table smoothing --vs recorded\`"
equal "$(sql "SELECT min(id)||' '||max(id) FROM run" | tr -d '"')" "1 2" "numbers of its runs"
equal "$(stat -c %s results.db | awk '{print ($1 <= 1000000)}')" 1 "a database of at most 1 MB"
exits 0 ablate table smoothing --vs recorded
has out "recorded PPL"
exits 0 ablate ls
has err "recorded experiments can be read by name"
hasnt out "recorded"

echo "recorded runs cannot be changed"
exits 0 ablate ls table1
run=$(awk '$1 + 0 > 100000000 {print $1; exit}' out)
exits 0 ablate show "$run"
exits 1 ablate tag "$run" "note=mine now"
exits 1 ablate rm "$run" --yes

echo "an old database that holds them keeps its own"
exits 0 ablate import "$source/experiments/recorded/smoothing.json.gz"
exits 0 ablate ls smoothing.recorded
[ "$(awk '$1 + 0 > 100000000' out)" = "" ] || wrong "the database's own recorded runs are not read"
finish
