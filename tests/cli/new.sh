#!/usr/bin/env bash
# Skeletons of every kind build without a warning and pass the check; a plugin given as source is rebuilt when it
# changes.
source "$(dirname "$0")/common.bash" "$@"

echo "skeletons"
for kind in attention position feed_forward norm block optimizer schedule task; do
    exits 0 ablate new $kind my_$kind
    has out "ablate check ./my_$kind.so"
    exits 0 cc -Wall -Wextra -Werror -shared -fPIC -I"$source/core/api" my_$kind.c -o my_$kind.so
    exits 0 ablate check ./my_$kind.so
    has out "$kind/my_$kind"
    hasnt out FAIL
done
exits 1 ablate new norm my_norm
has err "my_norm.c already exists"
exits 1 ablate new tasks mine
has err "found kind 'tasks', expected one of attention, position"
exits 1 ablate new norm ../mine
has err "found the name '../mine'"

{ tiny own 20 | sed 's/^task = .*/task = .\/my_task.c/; /^sequence/d' && echo my_task.train_examples = 500; } >own.ini
exits 0 ablate run own.ini --threads 1 --progress none
has out "acc"

echo "an experiment"
exits 0 ablate new experiment mine
has out "ablate run mine.ini"
exits 0 ablate run mine.ini -s layers=1 -s steps=20 -s eval_every=10 -s translation.train_pairs=500 \
    -s translation.dev_pairs=50 -s translation.test_pairs=50 --seeds 1..2 --threads 1 --progress none
has out "heads=1"
exits 0 ablate query "SELECT DISTINCT checkpoint FROM result x JOIN metric m ON m.id=x.metric_id WHERE m.name='BLEU'" \
    --format csv
equal "$(tail -1 out | tr -d '\r')" best "checkpoint of the result"
exits 1 ablate new experiment mine
has err "mine.ini already exists"
exits 1 ablate new experiment "my exp"
has err "found the name 'my exp'"

echo "by source"
{ tiny bysource 10 &&
    printf '[sweep parts]\nfeed_forward = ./my_feed_forward.c\n[variant schedule]\nschedule = ./mine.c\n'
    } >bysource.ini
"$program" new schedule mine >/dev/null
exits 0 ablate run bysource.ini --threads 1 --no-check
has out "feed_forward=my_feed_forward"
[ -e mine.so ] || wrong "mine.c was not built beside it"
before=$(stat -c %y mine.so)
exits 0 ablate list plugins ./mine.c
equal "$(stat -c %y mine.so)" "$before" "a source that has not changed is built again:"
touch -d '1 hour' mine.c
exits 0 ablate list plugins ./mine.c
[ "$(stat -c %y mine.so)" != "$before" ] || wrong "a source that has changed is not built again"
sed -i 's/static double lr(const/static double lr(cosnt/' mine.c
touch -d '2 hours' mine.c
exits 2 ablate run bysource.ini --dry-run
has err "cannot be built: 'cc -shared -fPIC"
finish
