/* reference.c - the INI reference as Markdown: the grammar in words, then every key from its table. */
#include "config/build.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char grammar[] =
    "# The INI of an experiment\n"
    "\n"
    "Printed by the program from the tables that also check the INI; do not edit it by hand.\n"
    "\n"
    "An experiment is one file. `ablate run FILE.ini` expands it into the rows of a table, trains each row "
    "once a seed, and\n"
    "prints the table; `--dry-run` prints the expansion, which is an INI too and reads back to the same "
    "rows.\n"
    "\n"
    "    [experiment]\n"
    "    name  = heads              # also the name of its table; default: the file's name\n"
    "    seeds = 1..3\n"
    "\n"
    "    [base]                     # every key that differs from the defaults\n"
    "    d_model = 256\n"
    "    heads   = 8\n"
    "\n"
    "    [sweep A]                  # one list: one row a value\n"
    "    heads = 1, 4, 16\n"
    "\n"
    "    [variant wide]             # one row with several changes\n"
    "    d_model = 512\n"
    "    d_ff    = 2048\n"
    "\n"
    "## Lines\n"
    "\n"
    "- `key = value`, one a line; indentation means nothing. `#` or `;` starts a comment at the start of a "
    "line or after a blank.\n"
    "- A value that holds a comma, or a comment sign after a blank, stands in double quotes. There is no "
    "escape in quotes.\n"
    "- Integers may be written 100000, 1e5 or 100k; numbers 0.1 or 1e-6; truth values true, false, yes, no, "
    "on, off, 1, 0.\n"
    "  They are made canonical (1e5 = 100000, 0.10 = 0.1) before rows are compared and hashed.\n"
    "- A line ends an entry; there is no continuation. A section's name is at most 49 bytes long. UTF-8, "
    "with or without a byte order mark; LF or CRLF.\n"
    "- A section or key that comes twice, an unknown key and a value out of range are errors. All errors of "
    "a file are\n"
    "  reported at once (the first 100), with file and line, what was found, what was expected and the nearest valid name.\n"
    "- At most 1 MiB of text, 10,000 values in a list, 200,000 in all lists, 20,000 rows, 10,000 seeds, 1,000,000 runs. Reading takes\n"
    "  time in proportion to the text.\n"
    "\n"
    "## Sections\n"
    "\n"
    "| section | holds |\n"
    "|---|---|\n"
    "| `[experiment]` | `name`; `seeds` (default 1); `note` (free text); `paper` (the published table that "
    "it stands beside, as `table3`); `only` "
    "(names, groups or patterns of the rows to train; default all) |\n"
    "| `[base]` | the settings of the row *base*, which all other rows start from |\n"
    "| `[sweep NAME]` | a block of rows, the group NAME of the table: lists of values |\n"
    "| `[variant NAME]` | one row; `group` puts it into a group, `name` names it where the title cannot |\n"
    "| `[slurm]` | what the experiment's job asks of Slurm: partition, time and others, below |\n"
    "| `[PLUGIN]` | parameters of a plugin, for all rows that use it: `[rotary]` and `base = 1000` is "
    "`rotary.base = 1000` in `[base]` |\n"
    "\n"
    "Plugins are named by the keys of their kind (attention also by its three places): a name, "
    "or the path of a shared\n"
    "object or of its C source (with a slash, or ending in .so or .c; a source is built beside itself when it "
    "changed). Relative paths, also those of `plugin_path`, start at the INI's folder; in `-s` where you "
    "stand.\nA parameter of a plugin is an error where no row uses the plugin.\n"
    "\n";
static const char grammar_of_rows[] =
    "## Lists\n"
    "\n"
    "| written | means |\n"
    "|---|---|\n"
    "| `heads = 1, 4, 16` | three values |\n"
    "| `layers = 1..8`, `1..9:2` | every value from 1 to 8; 1, 3, 5, 7, 9 (integers only) |\n"
    "| `heads/d_k/d_v = 1/512/512, 4/128/128` | keys that change together: two values of three keys |\n"
    "| `combine = each` | several lists: one row a value, one change at a time |\n"
    "| `combine = grid` | every combination, the last list fastest |\n"
    "| `combine = zip` | first with first, second with second; the lists have one length |\n"
    "| `exclude = heads=32 layers=8, heads=1` | no row where heads is 32 and layers is 8, and none where "
    "heads is 1 |\n"
    "| `paper_row = A/heads=1, A/heads=4` | the published rows beside which this sweep's rows are shown, in "
    "order |\n"
    "\n"
    "Two or more lists need `combine`. Lists belong in sweeps only.\n"
    "\n"
    "## How an experiment is set up and judged\n"
    "\n"
    "What these mean for the table: docs/statistics.md.\n"
    "\n"
    "| written | in | means |\n"
    "|---|---|---|\n"
    "| `lr = tune(1e-4 .. 1e-2, 5)` | `[base]`, `[variant]`, `[sweep]` | a search for each row among 5 values, evenly spaced on the log scale (a range "
    "from 0 or below: evenly); any numeric key, two at once. Candidates train a quarter, half and all of the row's steps, the better half goes on; the dev "
    "set's PPL decides; seed 1001. Trials are the experiment NAME.tune, and the report's seeds are fresh |\n"
    "| `match = params by d_ff` | `[experiment]` | each row's `d_ff` (or `d_model`, `layers`, `steps`) is solved so that its budget is base's: `params`, "
    "`flops` of the whole training, or `time` (steps timed first). A row that sets the key itself keeps its own |\n"
    "| `seeds = until 0.5 BLEU, at most 20` | `[experiment]` | looks at 3, 5, 10, 20 seeds; more only where a row is undecided; p counts the looks |\n"
    "| `metric`, `margin`, `level`, `seeds` | `[criterion]` | a verdict a row: better, worse, equivalent within the margin, undecided; level 0.05, "
    "from 5 seeds on |\n"
    "| `factorial = heads, dropout` | `[sweep NAME]` | its lists have two values each, low and high: all combinations, with main effects and "
    "interactions below the table; `resolution = 4` takes the smallest fraction of that resolution |\n"
    "| `d_model/d_ff = 64/256, 128/512, ...` | `[scale]` | every row at each of four sizes or more; exponent of the loss over parameters, and speed-up against "
    "base |\n"
    "\n"
    "## Rows\n"
    "\n"
    "A sweep's rows are named after what they change, as `A/heads=1`; a variant after its title. `d_k = "
    "auto` means d_model / heads (d_v\n"
    "likewise), so most couplings need not be written. A row whose resolved settings equal those of base, or "
    "of another row above it,\n"
    "is trained once and shown in both places. `paper_row` defaults to the row's own name: rows named as the "
    "published ones\n"
    "need none; it may stand in `[base]` and `[variant ...]` too.\n"
    "\n";
static const char groups_text[] =
    "## Groups of parameters\n"
    "\n"
    "`parameter_groups` gives some parameters other settings of the optimizer, here no weight decay on norms and biases, and half the\n"
    "learning rate and no decay for embeddings:\n"
    "\n"
    "    optimizer        = adamw\n"
    "    parameter_groups = norm bias: decay=0 | embedding: lr=0.5 decay=0\n"
    "\n"
    "Groups stand between `|`. Before the colon: kinds of parameters (`weight`, `bias`, `norm`, `embedding`, `position`) or names with `*` and `?`\n"
    "(`dec.*.cross.*`), between blanks; `ablate show RUN` counts them. Behind it: parameters of the optimizer plugin, and `lr`, a factor\n"
    "on the learning rate (0: never changed). A parameter belongs to the first group that matches it. A pattern that matches nothing, and a\n"
    "parameter that the optimizer does not have, are errors.\n"
    "\n";
static const char commands_text[] =
    "## Command line\n"
    "\n"
    "`-s key=value` changes `[base]` (a row that sets the key itself keeps its own; the program says so). A "
    "list, as `-s heads=1,4` or\n"
    "`-s heads/d_k=1/512,4/128`, makes a sweep named cli; `-s combine=grid` and `-s exclude=...` belong to "
    "it. `--only ROW` takes a row's name,\n"
    "a group or a pattern (`'A/*'`) and may come several times; `--seeds 1..3` replaces the seeds.\n"
    "\n"
    "## Which runs are the same\n"
    "\n"
    "A row is known by the SHA-256 of its resolved settings, sorted, without the seed and without keys that "
    "cannot change a result\n"
    "(marked * below); paths of plugins count as they are written. A run also records the SHA-256 of each plugin. When one of them has changed\n"
    "since, a done run keeps its place in the table with the mark †, and `--rerun changed` trains it anew; an unfinished run begins again\n"
    "from step 0.\n";

static void print_param(FILE *f, const ab_param *p, const char *prefix, const char *mark, arena *a)
{
    const char *text = param_default(p, a);
    fprintf(f, "| `%s%s`%s | %s%s%s | %s | %s |\n", prefix, p->name, mark, *text ? "`" : "",
            *text ? text : "none", *text ? "`" : "", param_expects(p, a), p->doc);
}

static const char table_head[] = "| key | default | value | meaning |\n|---|---|---|---|\n";

void config_reference(FILE *f, const plugin_schemas *plugins)
{
#define KIND(NAME, name, doc) {#name, doc},
    static const char *const kinds[][2] = {AB_KINDS(KIND)};
    arena a = {0};
    fprintf(f,
            "%s%s%s%s\n## Keys\n\nDefaults are those of the paper (Vaswani et al. 2017; sections are its "
            "sections).\n\n%s",
            grammar, grammar_of_rows, groups_text, commands_text, table_head);
    for (const ab_param *p = config_params; p->name; p++)
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
            for (const ab_param *p = s->params; p->name; p++) print_param(f, p, prefix, "", &a);
        }
    }
    arena_free(&a);
}
