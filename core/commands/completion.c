/* completion.c - ablate completion: words that may stand at a place of a command line, for bash.
 *
 * `completion bash` prints a function that asks `completion words N WORD...` at each press of the key, N the place
 * (from 0, the program) of the word that is being typed. Bash cuts words at = too: -s heads=8 is -s, heads, =, 8.
 */
#include "plugin/plugin.h"
#include "results/read.h"
#include "run.h"
#include <stdlib.h>
#include <string.h>

static const char bash[] = "_ablate()\n"
                           "{\n"
                           "    mapfile -t COMPREPLY < <(\"${COMP_WORDS[0]}\" completion words \"$COMP_CWORD\" "
                           "\"${COMP_WORDS[@]}\" 2>/dev/null)\n"
                           "    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=/] ]] && compopt -o nospace 2>/dev/null\n"
                           "    return 0\n"
                           "}\n"
                           "complete -o bashdefault -o default -F _ablate ablate\n";

enum { MOST_WORDS = 64 };

typedef struct {
    const char *typed; /* what the words begin with */
    const places *p;
} place;

/* ---- kinds of words ---- */

static void offer(const place *at, const char *word)
{
    if (has_prefix(word, at->typed)) printf("%s\n", word);
}

static void offer_list(const place *at, const char *list) /* words with blanks between them */
{
    for (const char *s = list; *s; s += strspn(s, " ")) {
        size_t n = strcspn(s, " ");
        char *word = xstrndup(s, n);
        offer(at, word);
        free(word);
        s += n;
    }
}

static void offer_key(const place *at, const char *plugin, const char *name)
{
    char *word = xprintf("%s%s%s=", plugin ? plugin : "", plugin ? "." : "", name);
    offer(at, word);
    free(word);
}

static void offer_keys(const place *at)
{
    const plugin_schemas *all = run_schemas();
    for (const ab_param *p = config_params; p->name; p++)
        if (!same(p->name, "seed")) offer_key(at, NULL, p->name);
    for (size_t i = 0; i < all->n; i++)
        for (const ab_param *p = all->list[i].params; p && p->name; p++) offer_key(at, all->list[i].name, p->name);
}

/* Plugins of a kind, "KIND/NAME" for all kinds. */
static void offer_plugins(const place *at, const char *kind)
{
    const plugin_schemas *all = run_schemas();
    for (size_t i = 0; i < all->n; i++) {
        const plugin_schema *s = &all->list[i];
        char *full = xprintf("%s/%s", s->kind, s->name);
        if (!kind || same(kind, s->kind)) offer(at, kind ? s->name : full);
        free(full);
    }
}

/* What a key may be: its choices, plugins, truth values. */
static void offer_values(const place *at, const char *key)
{
    const plugin_schemas *all = run_schemas();
    const ab_param *found = NULL;
    const char *dot = strchr(key, '.');
    for (const ab_param *p = config_params; p->name && !dot; p++)
        if (same(p->name, key)) found = p;
    for (size_t i = 0; i < all->n && dot; i++)
        for (const ab_param *p = all->list[i].params; p && p->name; p++)
            if (has_prefix(key, all->list[i].name) && key[strlen(all->list[i].name)] == '.' && same(p->name, dot + 1)) found = p;
    if (!found) return;
    if (!dot && config_plugin_kind(key)) offer_plugins(at, config_plugin_kind(key));
    if (found->type == AB_BOOL) offer_list(at, "true false");
    if (found->type != AB_CHOICE) return;
    char *words = xstrdup(found->choices);
    for (char *s = words; *s; s++)
        if (*s == '|') *s = ' ';
    offer_list(at, words);
    free(words);
}

/* Experiments of the database, and with `runs` their rows: those whose names bash does not cut. */
static void offer_experiments(const place *at, bool runs)
{
    arena a = {0};
    err e = {0};
    read_listed *list;
    size_t n = 0;
    reader *r = file_exists(at->p->db.path) ? reader_open(&at->p->db, &e) : NULL;
    if (r && reader_list(r, &a, &list, &n, &e)) n = 0;
    for (size_t i = 0; i < n; i++) {
        read_experiment x;
        if (!runs) offer(at, list[i].name);
        if (!runs || reader_experiment(r, list[i].name, false, &a, &x, &e)) continue;
        for (size_t k = 0; k < x.n_rows; k++)
            if (!strpbrk(x.rows[k].name, "= ")) offer(at, arena_printf(&a, "%s/%s", list[i].name, x.rows[k].name));
    }
    reader_close(r);
    arena_free(&a);
}

/* ---- commands: their options, and what else may follow ---- */

static const char KEYS[] = "<keys>", EXPERIMENTS[] = "<experiments>", RUNS[] = "<runs>", PLUGINS[] = "<plugins>";
static const struct {
    const char *command, *options;
    const char *arguments; /* a list of words or one of the kinds above; "": files, which bash knows */
} commands[] = {
    {"run", "-s --only --seeds --db --device --workers --threads --dry-run --rerun --progress --profile", ""},
    {"table", "--metric --format --stats --vs --db", EXPERIMENTS},
    {"ls", "--db", EXPERIMENTS},
    {"show", "--ini --hyp --ref --db", RUNS},
    {"log", "-n --db", RUNS},
    {"rm", "--experiment --db", RUNS},
    {"query", "--format --db", ""},
    {"report", "-o --db", EXPERIMENTS},
    {"plot", "-o --metric --over --by --log --bars --title --size --forest --db", EXPERIMENTS},
    {"plugins", "", PLUGINS},
    {"check", "--device", PLUGINS},
    {"translate", "--run --model --beam --alpha --nbest --batch --threads --device --precision --plugin-path --db", ""},
    {"attention", "--run --model --text --target --figure --word --part --layer --head --plugin-path --db -o", ""},
    {"parse", "--run --model --beam --alpha --batch --threads --device -s --plugin-path --db", ""},
    {"agree", "--number --keep-lines", ""},
    {"score bleu", "--ref --tok --lc --smooth --json", ""},
    {"score f1", "--gold --param --confusion --by-length --json", ""},
    {"score", "", "bleu f1"},
    {"data", "--dir", "list get"},
    {"bench", "--batch --beam --config --d-k --device --heads --lengths --precision --profile --role --seconds --seed --start-at "
     "--steps --threads --tokens --vocab --wait --warmup", "train decode attention"},
    {"record", "", EXPERIMENTS},
    {"completion", "", "bash"},
};
static const struct {
    const char *command, *option; /* command NULL: of all */
    const char *values;
} values[] = {
    {NULL, "-s", KEYS},
    {NULL, "--run", RUNS},
    {NULL, "--experiment", EXPERIMENTS},
    {NULL, "--device", "auto cpu cuda"},
    {NULL, "--rerun", "failed all"},
    {NULL, "--progress", "auto tty plain json none"},
    {"query", "--format", "text csv json md"},
    {"table", "--format", "text md latex csv json"},
    {NULL, "--vs", "paper recorded"},
    {NULL, "--hyp", "dev test"},
    {"show", "--ref", "dev test"},
    {NULL, "--tok", "13a none intl char zh"},
    {NULL, "--smooth", "exp floor add-k none"},
    {NULL, "--config", "tiny small base big"},
    {NULL, "--precision", "bf16 fp32"},
};

static void offer_kind(const place *at, const char *kind)
{
    if (kind == KEYS)
        offer_keys(at);
    else if (kind == EXPERIMENTS || kind == RUNS)
        offer_experiments(at, kind == RUNS);
    else if (kind == PLUGINS)
        offer_plugins(at, NULL);
    else
        offer_list(at, kind);
}

static bool offer_after(const place *at, const char *command, const char *option)
{
    for (size_t i = 0; i < LENGTH(values); i++) {
        if (!same(values[i].option, option) || (values[i].command && !same(values[i].command, command))) continue;
        offer_kind(at, values[i].values);
        return true;
    }
    return false;
}

/* word[n] is being typed, n > 1. */
static void offer_in_command(const place *at, char **word, int n)
{
    char *both = xprintf("%s %s", word[1], n > 2 ? word[2] : "");
    size_t c = 0;
    while (c < LENGTH(commands) && !same(commands[c].command, word[1]) && !same(commands[c].command, both)) c++;
    if (n > 3 && same(word[n - 1], "=") && same(word[n - 3], "-s"))
        offer_values(at, word[n - 2]);
    else if (c < LENGTH(commands) && !offer_after(at, word[1], word[n - 1]))
        offer_kind(at, *at->typed == '-' ? commands[c].options : commands[c].arguments);
    free(both);
}

int completion_words(int argc, char **argv, const char *const *names, size_t n_names, const places *p)
{
    int64_t n;
    if (argc == 2 && same(argv[1], "bash")) {
        fputs(bash, stdout);
        return 0;
    }
    if (argc < 3 || !same(argv[1], "words") || !parse_int(argv[2], &n) || n < 1 || n > argc - 3 || n >= MOST_WORDS) {
        fprintf(stderr, "usage: ablate completion bash    (to be read by the shell: source <(ablate completion bash))\n");
        return 2;
    }
    char *word[MOST_WORDS + 1] = {NULL}, nothing[] = "";
    for (int64_t i = 0; i <= n; i++) word[i] = i < argc - 3 ? argv[3 + i] : nothing;
    if (same(word[n], "=")) word[++n] = nothing; /* the value has no letter yet */
    place at = {word[n], p};
    for (size_t i = 0; i < n_names && n == 1; i++) offer(&at, names[i]);
    if (n > 1) offer_in_command(&at, word, (int)n);
    return 0;
}
