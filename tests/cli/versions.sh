#!/usr/bin/env bash
# Databases and models of earlier versions open: their results are shown, their models translate (tests/data/versions).
source "$(dirname "$0")/common.bash" "$@"

for version in 3772abc fa6aaa1; do
    echo "$version"
    cp "$source/tests/data/versions/$version.db" "$version.db" && chmod u+w "$version.db"
    exits 0 ablate table old --db "$version.db"
    hasnt out "left out"
    expected="1.64669 1.30995"
    [ $version = 3772abc ] || expected="1.65957 1.29659"
    equal "$(sql "SELECT printf('%.5f',value) FROM results WHERE experiment='old' AND metric='PPL' ORDER BY place" \
        "$version.db" | xargs)" "$expected" \
        "results of $version"
    equal "$(ls "$version".db.version*)" "$version.db.version$([ $version = 3772abc ] && echo 1 ||
        echo 4).bak" "the copy of the old database"
    exits 0 ablate show old/base@1 --db "$version.db"
    has out "sequence.kind = copy"
    printf 's0001 s0002 s0003\ns0004 s0000\n' >in.txt
    "$program" translate --model "$source/tests/data/versions/$version.safetensors" --threads 1 <in.txt >out 2>err ||
        wrong "translate: $(cat err)"
    equal "$(cat out)" "$(cat in.txt)" "copies by the model of $version" # as that version printed
done

echo "a run under new settings leaves the old results where they are, says so, and shows them again"
sed 's/^relu_dropout/activation_dropout/; s/^average/average_checkpoints/; s/^beam/beam_size/; s/^steps.*/steps = 6/; s/^\(eval\|save\)_every.*/\1_every = 6/' \
    "$source/tests/data/versions/old.ini" >old.ini
exits 0 ablate run old.ini --threads 1 --progress plain --db 3772abc.db
has err "2 older runs with other settings stay in the database but out of the table"
exits 0 ablate restore old --db 3772abc.db
equal "$(sql "SELECT printf('%.5f',value) FROM results WHERE metric='PPL' AND variant='base~1'" 3772abc.db)" 1.64669 \
    "the old result beside the new one"
finish
