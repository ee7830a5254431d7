# A run whose loss is not finite names where the first such number arose: the operation, the layer, the plugin's line;
# or the parameter that an update made infinite or NaN.
source "$(dirname "$0")/common.bash" "$1" "$2"
part() { # NAME EXPRESSION: writes NAME.c, a feed-forward that returns EXPRESSION
    cat >"$1.c" <<C
#include "ab_plugin.h"
static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    (void)cfg;
    ab_t y = ab_linear(c, x, "1", ab_info(c)->d_model, 1);
    return $2;
}
static const ab_option params[] = {{0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(char, params, &self, .name = "$1", .doc = "not finite");
C
}
told() { sql "SELECT value FROM tag WHERE tag = 'diverged'" "$1" | tr -d '"'; } # DATABASE

part forward 'ab_map(c, ab_add_scalar(c, ab_mul_scalar(c, y, 0), -1), AB_LOG)'
{ tiny forward 20; echo 'feed_forward = ./forward.c'; } >forward.ini
exits 0 ablate run forward.ini --threads 1 --progress none
said=$(told results.db)
for text in "diverged at step 1: loss not a number per token" "; in the forward pass, MAP of enc.0.ffn, " "forward.c:6 makes"; do
    checks=$((checks + 1))
    [[ $said == *"$text"* ]] || wrong "no '$text' in '$said'"
done

# `ablate check` names the same place, and says once how many checks it skips.
exits 1 ablate check ./forward.c
has out "forward: the loss of random values is not finite: in the forward pass, MAP of "
has out "forward.c:6 makes the first number that is not finite"
equal "$(grep -c "checks that depend on it were skipped" out) $(grep -c "it depends on" out)" "1 0" "lines of skipped checks"

# The square root has an infinite derivative at 0, and infinity times 0 is NaN: the first loss is finite, but the update
# makes the weights NaN.
part gradient 'ab_mul_scalar(c, ab_map(c, ab_mul_scalar(c, y, 0), AB_SQRT), 1)'
{ tiny gradient 20; echo 'feed_forward = ./gradient.c'; } >gradient.ini
exits 0 ablate run gradient.ini --threads 1 --progress none --db other.db
said=$(told other.db)
for text in "diverged at step 2" "; the update before made parameter dec.0.ffn.1."; do
    checks=$((checks + 1))
    [[ $said == *"$text"* ]] || wrong "no '$text' in '$said'"
done

{ tiny large 200 | sed 's/^lr = .*/lr = 1000/'; } >large.ini
exits 0 ablate run large.ini --threads 1 --progress none --db large.db
said=$(told large.db)
checks=$((checks + 1))
[[ $said == *"a uniform guess has"* ]] || wrong "a loss that is only too large: '$said'"

# A diverged row beside rows that did not diverge: the diverged row has no output to rate, and counts as diverged in
# every metric.
{ tiny mixed 30 && printf '[variant large]\nlr = 1000\nsteps = 200\n'; } >mixed.ini
exits 0 ablate run mixed.ini --threads 1 --progress none --db mixed.db
exits 0 ablate rate mixed words --command "awk -F '\t' '{ print NF }'" --db mixed.db
exits 0 ablate table mixed --format csv --db mixed.db
equal "$(column acc_diverged <out | tr '\n' ' ')" "0 1 " "runs that diverged, in accuracy"
equal "$(column words_diverged <out | tr '\n' ' ')" "0 1 " "in a metric of another program"
finish
