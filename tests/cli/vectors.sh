# A plugin logs a vector: each of its numbers becomes a curve in the database, queries, charts and exports, but no
# column of a table.
source "$(dirname "$0")/common.bash" "$@"
cat >counts.c <<'C'
#include "ab_plugin.h"
typedef struct {
    int64_t unused;
} config;
static double number(const void *unused, const int64_t *i) { return (void)unused, (double)(10 + i[0]); }
static ab_t forward(ab_ctx *c, const void *cfg, ab_t x)
{
    ab_log(c, "tens", ab_table(c, number, (const config *)cfg, 12));
    ab_log(c, "one", ab_full(c, 7, 1));
    return ab_linear(c, x, "1", ab_info(c)->d_model, 1);
}
static const ab_option params[] = {{0}};
static const ab_feed_forward_plugin self = {.forward = forward};
AB_PLUGIN(config, params, &self, .name = "counts", .doc = "logs a vector");
C
{ tiny vec 60 && printf '[variant counts]\nfeed_forward = ./counts.c\n[variant experts]\nfeed_forward = moe\nmoe.experts = 3\n'; } >vec.ini
exits 0 ablate run vec.ini --threads 1 --progress none --no-check

names="SELECT group_concat(name, ' ') FROM (SELECT DISTINCT m.name FROM point p JOIN metric m ON m.id = p.metric_id
    WHERE m.name LIKE 'counts.%' ORDER BY m.id)"
equal "$(sql "$names" | tr ' ' '\n' | grep -c 'counts.tens\[[0-9]*\]$')" 12 "curves of the vector"
equal "$(sql "SELECT group_concat(value, ' ') FROM (SELECT p.value FROM point p JOIN metric m ON m.id = p.metric_id
    WHERE m.name = 'counts.tens[11]' ORDER BY step)")" "21.0 21.0" "its last number at steps 50 and 60"
equal "$(sql "SELECT count(*) FROM result r JOIN metric m ON m.id = r.metric_id WHERE m.name LIKE 'counts.%'")" 1 \
    "of the number alone there is a column"
exits 0 ablate query "SELECT printf('%.4f', sum(value)) FROM curves WHERE metric LIKE 'moe.load[%' AND step = 60"
has out 1.0000
exits 0 ablate plot vec --metric 'counts.tens[3]' -o tens.csv
equal "$(grep -c '^counts,.*,13$\|^counts,.*,13,' tens.csv)" 2 "points in the chart's data"
exits 0 ablate export vec --format csv -o csv
equal "$(grep -c 'counts.tens\[3\]' csv/curves.csv)" 2 "exported points"
exits 0 ablate export vec --format tensorboard -o events
exits 0 ablate report vec -o page.html
has page.html 'data-metric="counts.tens[11]"'
exits 0 ablate table vec --stats full
has out counts.one
hasnt out counts.tens

sed 's/tens", ab_table(c, number, (const config \*)cfg, 12)/tens", ab_table(c, number, (const config *)cfg, 65)/; s/"counts"/"many"/' counts.c >many.c
exits 1 ablate check ./many.c
has out 'expected one number or a vector [n] of at most 64'
finish
