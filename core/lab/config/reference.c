/* reference.c - the INI reference as Markdown: the grammar in words, then every key from its table. */
#include "lab/config/build.h"
#include <ctype.h>

static const char grammar[] =
    "# The INI of an experiment\n\n"
    "Generated with `ablate list keys > docs/ini.md` from the tables that check the INI; do not edit by hand.\n\n"
    "An experiment is one file. `ablate run FILE.ini` expands it into the rows of a table, trains each row once per\n"
    "seed and prints the table. `--dry-run` prints the expansion, which is itself an INI that gives the same rows.\n\n"
    "    [experiment]\n"
    "    name  = heads              # also the name of its table; default: the file's name\n"
    "    seeds = 1..3\n\n"
    "    [base]                     # every key that differs from the defaults\n"
    "    d_model = 256\n"
    "    heads   = 8\n\n"
    "    [sweep A]                  # one list: one row per value\n"
    "    heads = 1, 4, 16\n\n"
    "    [variant wide]             # one row with several changes\n"
    "    d_model = 512\n"
    "    d_ff    = 2048\n\n"
    "## Lines\n\n"
    "- One `key = value` per line; indentation is ignored. `#` or `;` starts a comment at the start of a line or\n"
    "  after a blank.\n"
    "- Quote a value with a comma, or with a comment sign after a blank, in double quotes. There are no escapes in\n"
    "  quotes.\n"
    "- Integers: 100000, 1e5 or 100k; numbers: 0.1 or 1e-6; truth values: true, false, yes, no, on, off, 1, 0.\n"
    "  Values are converted to canonical form (1e5 = 100000, 0.10 = 0.1) before rows are compared and hashed.\n"
    "- `include = FILE`, above the first section, reads that file's sections first; keys of this file replace their\n"
    "  keys. FILE is a path from this file's folder. Relative paths in FILE start at the folder of the INI that `run`\n"
    "  names. The database keeps one INI without includes.\n"
    "- An entry ends with its line. A section's name has at most 49 bytes. UTF-8, with or without a byte order mark;\n"
    "  LF or CRLF.\n"
    "- A duplicate section or key, an unknown key and a value out of range are errors. All errors of a file (at most\n"
    "  100) are reported together, with file and line, what was found, what was expected and the nearest valid name.\n"
    "- Limits: 1 MiB of text, 10,000 values in a list, 200,000 in all lists, 20,000 rows, 10,000 seeds, 1,000,000\n"
    "  runs. Reading takes linear time.\n\n"
    "## Sections\n\n"
    "| section | contents |\n"
    "|---|---|\n"
    "| `[experiment]` | `name`; `seeds` (default 1); `note` (free text); `paper` (the published table to compare with, "
    "such as `table3`); `only` (names, groups or patterns of the rows to train; default all) |\n"
    "| `[base]` | the settings of the row *base*, from which all other rows start |\n"
    "| `[sweep NAME]` | a block of rows, shown as group NAME: lists of values |\n"
    "| `[variant NAME]` | one row; `group` assigns it to a group, `name` gives a name that is not possible as a title, "
    "`base` the row that it is compared with, which must name itself as its base; default: base |\n"
    "| `[condition NAME]` | settings under which every row, base among them, is trained too: a row named `ROW @ NAME` "
    "in group NAME, compared with `base @ NAME`. No row may set these keys, and there is no `[scale]`, match or `seeds "
    "= until` beside it |\n"
    "| `[slurm]` | resources that the experiment's job requests from Slurm: partition, time and others, below |\n"
    "| `[layers PLACE]`, `[layers PLACE 1-3]` | settings of some layers of all rows, below |\n"
    "| `[PLUGIN]` | parameters of a plugin, for all rows that use it: `base = 1000` in `[rotary]` is `rotary.base = "
    "1000` in `[base]` |\n\n"
    "The keys of the plugin kinds select plugins (attention also separately for its three places). The value is a\n"
    "name, or the path of a shared object or of its C source (any value with a slash, or ending in .so or .c; a\n"
    "changed source is rebuilt in its folder). Relative paths, including `plugin_path`, start at the INI's folder,\n"
    "in `-s` at the current folder. Setting a parameter of a plugin that no row uses is an error.\n\n";
static const char grammar_of_rows[] =
    "## Lists\n\n"
    "| written | means |\n"
    "|---|---|\n"
    "| `heads = 1, 4, 16` | three values |\n"
    "| `layers = 1..8`, `1..9:2` | every value from 1 to 8; 1, 3, 5, 7, 9 (integers only) |\n"
    "| `heads/d_k/d_v = 1/512/512, 4/128/128` | coupled keys: two values for three keys |\n"
    "| `combine = each` | several lists: one row per value, one change at a time |\n"
    "| `combine = grid` | every combination; the last list varies fastest |\n"
    "| `combine = zip` | the first values together, the second values together, ...; the lists have equal length |\n"
    "| `exclude = heads=32 layers=8, heads=1` | drops the rows where heads is 32 and layers is 8, and those where "
    "heads is 1 |\n"
    "| `paper_row = A/heads=1, A/heads=4` | the published rows to compare with this sweep's rows, in order |\n\n"
    "Two or more lists need `combine`. Lists are allowed only in sweeps.\n\n"
    "## Design and analysis\n\n"
    "docs/statistics.md explains what these mean for the table.\n\n"
    "| written | in | means |\n"
    "|---|---|---|\n"
    "| `lr = tune(1e-4 .. 1e-2, 5)` | `[base]`, `[variant]`, `[sweep]` | searches a value for each row among 5 "
    "candidates, evenly spaced on the log scale (linearly if the range starts at 0 or below); for any numeric key, two "
    "at once. Candidates train for a quarter, a half and all of the row's steps, and the better half continues; the "
    "dev set's PPL decides; seed 1001. Trials are stored as experiment NAME.tune; reported seeds are fresh. `tune(1e-4 "
    ".. 1e-2, 5, seeds 2, extend)`: each candidate trains with two seeds; if the best lies at an end of the range, the "
    "next value beyond it trains all steps, up to four times |\n"
    "| `match = params by d_ff` | `[experiment]` | solves each row's `d_ff` (or `d_model`, `layers`, `steps`) so that "
    "its budget equals base's: `params`, `flops` of the whole training, or `time` (steps are timed first). A row that "
    "sets the key keeps its own value |\n"
    "| `seeds = 1..5, base = 20`, `base = auto` | `[experiment]` | base trains 20 "
    "seeds, or with auto sqrt(rows) times as many as a row, also under each condition and at each size. The additional "
    "seeds continue the list. Seeds that only base gets after the first results change no verdict |\n"
    "| `seeds = until 0.5 BLEU, at most 20` | `[experiment]` | looks at 3, 5, 10, 20 seeds and continues only for "
    "undecided rows; p accounts for the looks |\n"
    "| `metric`, `margin`, `not_worse_by`, `level`, `seeds`, `failed_as` | `[criterion]` | gives each row a verdict: "
    "better, worse, equivalent within the margin (or not worse by more than `not_worse_by`), or undecided. Defaults: "
    "level 0.05; `seeds`, the fewest per row, as many as the experiment has, from 3 to 5. A row with a failed run gets "
    "no verdict, unless `failed_as` gives failed runs a value |\n"
    "| `factorial = heads, dropout` | `[sweep NAME]` | each list has two values, low and high: trains all combinations "
    "and prints main effects and interactions below the table; `resolution = 4` selects the smallest fraction of that "
    "resolution |\n"
    "| `d_model/d_ff = 64/256, 128/512, ...` | `[scale]` | trains every row at each of four or more sizes; prints the "
    "exponent of the loss over parameters and the speed-up against base |\n\n"
    "## Rows\n\n"
    "A sweep's rows are named after what they change, such as `A/heads=1`, a variant after its title. `d_k = auto`\n"
    "(also d_v) means d_model / heads, so it rarely needs to be set. A row whose resolved settings equal those of\n"
    "base or of an earlier row is trained once and shown in both places. `paper_row` defaults to the row's own name,\n"
    "so rows named like the published ones do not need it. It is also allowed in `[base]` and `[variant ...]`.\n\n";
static const char layers_text[] =
    "## Layers that differ\n\n"
    "    [base]\n"
    "    attention_decoder = 3*linear + 1*scaled_dot    # of every four layers, three linear and one scaled_dot\n"
    "    [layers decoder 1-3]                           # layers count from 0, as in dec.0\n"
    "    heads = 2\n"
    "    linear.eps = 1e-5\n"
    "    [sweep A]\n"
    "    layers.cross.heads = 1, 2, 4                   # a key of a section, with the section in front\n\n"
    "The places are `encoder`, `decoder` and `cross`, the decoder's cross-attention. All have the keys attention,\n"
    "heads, d_k, d_v, attention_dropout and bias and the parameters of plugins, encoder and decoder also position,\n"
    "feed_forward, norm, d_ff, dropout and activation_dropout. Without layers a section means all of its place. Of\n"
    "two sections for one layer the one with fewer layers counts. d_k = auto means d_model / heads of the layer. A\n"
    "pattern, N*PLUGIN + N*PLUGIN, is possible in attention, attention_encoder, attention_decoder and\n"
    "attention_cross; layers beyond its end repeat it. Export fails in formats that need equal layers.\n\n";
static const char groups_text[] =
    "## Groups of parameters\n\n"
    "`parameter_groups` gives some parameters different optimizer settings. This example turns off weight decay for\n"
    "norms and biases; for embeddings it halves the learning rate and turns off decay:\n\n"
    "    optimizer        = adamw\n"
    "    parameter_groups = norm bias: decay=0 | embedding: lr=0.5 decay=0\n\n"
    "`|` separates groups. Before the colon are kinds of parameters (`weight`, `bias`, `norm`, `embedding`,\n"
    "`position`) or names with `*` and `?` (`dec.*.cross.*`), separated by blanks; `ablate show RUN` counts the\n"
    "matches. After the colon are parameters of the optimizer plugin and `lr`, a factor on the learning rate (0\n"
    "freezes the group). A parameter belongs to the first group that matches it. A pattern without a match and an\n"
    "unknown optimizer parameter are errors.\n\n";
static const char commands_text[] =
    "## Command line\n\n"
    "`-s key=value` changes `[base]`; a row that sets the key keeps its own value, with a warning. A list, such as\n"
    "`-s heads=1,4` or `-s heads/d_k=1/512,4/128`, makes a sweep named cli; `-s combine=grid` and `-s exclude=...`\n"
    "apply to it. `--only ROW` takes a row's name, a group or a pattern (`'A/*'`) and can be repeated; `--seeds\n"
    "1..3` replaces the seeds.\n\n"
    "## Identical runs\n\n"
    "A row is identified by the SHA-256 of its sorted resolved settings, without the seed and without keys that\n"
    "cannot change a result (marked * below); some newer keys count only when they differ from their default. Plugin\n"
    "paths count as written. A run also records the SHA-256 of each plugin. If a plugin has changed since, a\n"
    "finished run keeps its place in the table, marked †, and `--rerun changed` trains it again; an unfinished run\n"
    "restarts from step 0.\n";

static void print_param(FILE *f, const ab_option *p, const char *prefix, const char *mark, arena *a)
{
    const char *text = param_default(p, a);
    fprintf(f, "| `%s%s`%s | %s%s%s | %s | %s |\n", prefix, p->name, mark, *text ? "`" : "", *text ? text : "none",
            *text ? "`" : "", param_expects(p, a), p->doc);
}

static const char table_head[] = "| key | default | value | meaning |\n|---|---|---|---|\n";

void config_reference(FILE *f, const plugin_schemas *plugins)
{
#define KIND(NAME, name, number, usual, since, doc) [number - 1] = {#name, doc},
    static const char *const kinds[][2] = {AB_KINDS(KIND)};
    CLEANUP(arena_free) arena a = {0};
    fprintf(f,
            "%s%s%s%s%s\n## Keys\n\nDefaults and section numbers are those of the paper (Vaswani et al. 2017).\n\n%s",
            grammar, grammar_of_rows, layers_text, groups_text, commands_text, table_head);
    for (const ab_option *p = config_params; p->name; p++)
        if (!same(p->name, "seed")) print_param(f, p, "", config_is_hashed(p->name) ? "" : "*", &a);
    slurm_reference(f);
    for (size_t k = 0; k < LENGTH(kinds); k++) {
        fprintf(f, "\n## %s\n\n%c%s.\n", kinds[k][0], toupper((unsigned char)kinds[k][1][0]), kinds[k][1] + 1);
        for (size_t i = 0; i < plugins->n; i++) {
            const plugin_schema *s = &plugins->list[i];
            if (!same(s->kind, kinds[k][0])) continue;
            fprintf(f, "\n### %s/%s\n\n", s->kind, s->name);
            if (!s->params || !s->params->name) {
                fprintf(f, "No parameters.\n");
                continue;
            }
            fprintf(f, "%s", table_head);
            const char *prefix = arena_printf(&a, "%s.", s->name);
            for (const ab_option *p = s->params; p->name; p++) print_param(f, p, prefix, "", &a);
        }
    }
}
