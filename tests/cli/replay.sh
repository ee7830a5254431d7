#!/usr/bin/env bash
# ablate replay repeats updates of a run or of an INI's row in one process, from a saved state or the start, with the
# recorded digits; ab_print prints, and changes no number.
# fault: replay|start|replay faults/base --step 5|-
# fault: debug|start|replay faults.ini --step 2 -s threads=1|-
source "$(dirname "$0")/common.bash" "$@"
cc -shared -fPIC -I"$source/core/api" "$source/tests/sabotage/prints.c" -o prints.so || wrong "it does not build"
few() { tiny "$1" 120 | sed 's/^save_every.*/save_every = 40/'; printf '%s\n' "${@:2}"; }
few few 'attention = ./prints.so' 'keep_states = 2' >few.ini
exits 0 ablate run few.ini --threads 1 --progress none --no-check
equal "$(cd home/runs/few/*/ && echo state-*)" "state-120.safetensors state-80.safetensors" "states that are kept"

echo "a database opens no plugin: the user names the folder"
exits 1 ablate replay few/base --step 3
has err "$work/prints.so: is not opened, because only the command line and the INI of \`run\` name files of plugins"
has err "--plugin-path FOLDER"
mkdir moved && cp prints.so moved
exits 0 ablate replay few/base --step 3 --plugin-path moved

echo "from a state, with the recorded digits"
exits 0 ablate replay few/base --step 99 --until 101 --plugin-path .
has err "from $work/home/runs/few/"
has err "/state-80.safetensors"
equal "$(grep '^step' out | xargs)" "step 99 step 100 step 101" "what is shown"
equal "$(grep -c '^loss .* per token$' out)" 3 "losses"
has out "training, dec.0.cross scores fp32 ["
has out "training, gradient of dec.0.self rows: mean "
has out "evaluation, enc.0.self tokens int32 ["
has out "(prints.c:11): mean "
has out "curves: 4 of 4 points are as recorded, bit for bit" # dev_PPL at 90 and 100, train_PPL and lr at 100

echo "from its start"
exits 0 ablate replay few/base --step 3 --plugin-path .
has err "from its start: no saved state before this step is left"
has out "curves: the run has no point between these steps"
exits 0 ablate replay few/base --step 60 --plugin-path .
has out "curves: 8 of 8 points are as recorded, bit for bit"

echo "a plugin that has changed has other digits, and is not given another one's state"
sed 's/sqrt((double)/2 * sqrt((double)/' "$source/tests/sabotage/prints.c" >other.c
cc -shared -fPIC -I"$source/core/api" other.c -o prints.so
exits 1 ablate replay few/base --step 60 --plugin-path .
has out "dev_PPL at step 10: recorded "
has out "curves: 1 of 8 points are as recorded, bit for bit" # lr
exits 1 ablate replay few/base --step 100 --plugin-path .
has err "another"

echo "a row of an INI, and what the run has recorded"
few ini 'keep_states = 0' >ini.ini
exits 0 ablate replay ini.ini --step 120 -s threads=1
loss=$(grep '^loss' out)
exits 0 ablate run ini.ini --threads 1 --progress none
equal "$(cd home/runs/ini/*/ && echo *.safetensors)" "model.safetensors" "files"
exits 0 ablate replay ini/base --step 120
equal "$(grep '^loss' out)" "$loss" "the loss of the step is the run's"
has out "curves: 18 of 18 points are as recorded"
printf '[sweep A]\nheads = 1, 2\n' >>ini.ini
exits 0 ablate replay ini.ini/A/heads=1 --step 1 -s threads=1 --seed 4 -s d_ff=8 --profile
has err "A/heads=1, seed 4, from its start"
has err "LINEAR"

echo "under gdb"
mkdir bin && printf '#!/bin/sh\necho "gdb with $*"\n' >bin/gdb && chmod +x bin/gdb
PATH=$work/bin:$PATH exits 0 ablate replay ini.ini --step 1 -s threads=1 --gdb
has out "gdb with -q --args $program replay ini.ini --step 1 -s threads=1"

echo "what is wrong is said"
exits 1 ablate replay ini.ini/A/heads=3 --step 1
has err 'found no row "A/heads=3"; did you mean "A/heads='
exits 2 ablate replay none.ini/base --step 1
has err 'none.ini: found no such INI file'
exits 2 ablate replay ini/base --step 1 -s threads=2
has err "-s and --seed are only for an INI: found a run"
exits 1 ablate replay ini/base --step 121
has err "step 121: the run has only 120 steps"
exits 2 ablate replay ini/base --step 5 --until 4
has err "--until 4: expected at least --step, 5"
exits 1 ablate replay ini/bas --step 5
finish
