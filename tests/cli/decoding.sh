# Rows that differ only in keys of decoding share one training. The trained model decodes again for each row, and the
# results are those of a training for that row alone.
source "$(dirname "$0")/common.bash" "$@"
fast=(--threads 1 --progress none)
rows() { sql "SELECT variant,seed,metric,value,step FROM results WHERE metric<>'none' ORDER BY 1,2,3" "$1"; }

{ copying | sed '1i [experiment]\nname = decoding\nseeds = 1, 2\n[base]'; printf 'steps = 60\neval_every = 20\nsave_every = 20\n'
  printf '[sweep B]\ncombine = grid\nbeam_size = 1, 4\nlength_penalty = 0, 0.6, 1\n'; } >decoding.ini
exits 0 ablate run decoding.ini "${fast[@]}"
again="nothing to train"
equal "$(grep -l "$again" home/runs/decoding/*/log.txt | wc -l)" 10 "runs that decode again, of 12"
equal "$(sql "SELECT count(DISTINCT value) FROM tag WHERE tag='model_of_run'")" 2 "trained runs whose models they have"
rows results.db >shared
for row in B/beam_size=4\ length_penalty=0 B/beam_size=4\ length_penalty=1; do
    rm -rf alone.db*
    exits 0 ablate run decoding.ini "${fast[@]}" --only "$row" --db alone.db
    rows alone.db >alone
    equal "$(grep -Fc "$row," alone)" "$(grep -Fc "$row," shared)" "results of $row"
    grep -F "$row," alone | grep -vxFf shared && wrong "$row: decoding again gives other results than training"
done
exits 0 ablate translate --run "decoding/B/beam_size=4 length_penalty=1" </dev/null

echo "another value in [base] trains nothing again"
sed 's/^beam_size = 1/beam_size = 2/; /^\[sweep/,$d' decoding.ini >two.ini
exits 0 ablate run two.ini "${fast[@]}"
equal "$(grep -l "$again" home/runs/decoding/*/log.txt | wc -l)" 12 "runs that decode again"

echo "another learning rate does, and so does a model that is gone"
exits 0 ablate run two.ini "${fast[@]}" -s lr=0.004
equal "$(grep -l "$again" home/runs/decoding/*/log.txt | wc -l)" 12 "runs that decode again"
rm -f home/runs/decoding/*/model.safetensors
exits 0 ablate run two.ini "${fast[@]}" -s beam_size=3
equal "$(grep -l "$again" home/runs/decoding/*/log.txt | wc -l)" 12 "runs that decode again, without models"

echo "a run that cannot use the other run's model trains, and does not name it"
for model in home/runs/decoding/*/model.safetensors; do echo damaged >"$model"; done
exits 0 ablate run two.ini "${fast[@]}" -s beam_size=5
equal "$(sql "SELECT count(*), count(m.tag) FROM run r JOIN variant v ON v.id=r.variant_id LEFT JOIN tag m ON m.run_id=r.id AND
    m.tag='model_of_run' WHERE v.archived=0")" 2,0 "runs, and those that name another's model"
finish
