# A task with AB_BIDIRECTIONAL: every position sees its whole line; masks are drawn anew in each epoch.
source "$(dirname "$0")/common.bash" "$1" "$2"
for i in $(seq 300); do echo "the cat sat on the mat and the dog ran to barn number $((i % 7)) _ [x"; done >text.txt
masked() { # $1: name, the rest: more lines
    printf '[experiment]\nname = %s\n[base]\ntask = masked\nmasked.file = %s/text.txt\nmasked.context = 24\n' "$1" "$PWD"
    printf 'd_model = 32\nd_ff = 64\nheads = 2\nlayers_decoder = 1\ndropout = 0\nlabel_smoothing = 0\nsteps = 1200\nbatch_tokens = 960\n'
    printf 'schedule = constant\nlr = 0.005\neval_every = 600\n%s\n' "${*:2}"
}
masked m >m.ini
exits 0 ablate run m.ini --threads 1 --progress none
better=$(sql "SELECT value > 45 FROM result JOIN metric m ON m.id = metric_id WHERE m.name = 'acc'")
equal "$better" 1 "share of hidden characters found, above 45 %"
equal "$(sql "SELECT count(*) FROM tag WHERE tag = 'future_seen'")" 0 "nothing is watched for the future"
exits 1 ablate generate --run m/base --tokens 5
has err "cannot continue a text"
masked w 'masked.unit = word' >w.ini
exits 0 ablate run w.ini -s steps=50 --threads 1 --progress none
masked few 'masked.dev_part = 0.0001' >few.ini
exits 1 ablate run few.ini --threads 1 --progress none
has err "and 0 for dev (masked.dev_part = 0.0001); expected at least one of each"
finish
