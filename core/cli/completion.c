/* completion.c - ablate completion: completes command lines in bash, zsh and fish.
 *
 * `completion SHELL` prints a function that calls `completion words N WORD...` at each press of the key; N is the index
 * (from 0, the program) of the word being typed. Bash also splits words at =: -s heads=8 is -s, heads, =, 8. Without
 * suggestions the shell offers files.
 */
#include "cli/options.h"
#include "text/data/corpora.h"
#include "lab/results/read.h"
#include <stdlib.h>
#include <string.h>

static const char bash[] =
    "_ablate()\n"
    "{\n"
    "    mapfile -t COMPREPLY < <(ABLATE_SHELL=bash \"${COMP_WORDS[0]}\" completion words \"$COMP_CWORD\" "
    "\"${COMP_WORDS[@]}\" 2>/dev/null)\n"
    "    local i\n"
    "    for i in \"${!COMPREPLY[@]}\"; do printf -v \"COMPREPLY[i]\" %q \"${COMPREPLY[i]}\"; done\n"
    "    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=/] ]] && compopt -o nospace 2>/dev/null\n"
    "    return 0\n"
    "}\n"
    "complete -o bashdefault -o default -F _ablate ablate\n";

static const char zsh[] =
    "#compdef ablate\n"
    "_ablate()\n"
    "{\n"
    "    local -a offered\n"
    "    offered=(${(f)\"$(\"${words[1]}\" completion words $((CURRENT - 1)) \"${words[@]}\" 2>/dev/null)\"})\n"
    "    if (( ${#offered} )); then\n"
    "        compadd -S '' -- ${(M)offered:#*=}\n"
    "        compadd -- ${offered:#*=}\n"
    "    else\n"
    "        _files\n"
    "    fi\n"
    "}\n"
    "(( $+functions[compdef] )) && compdef _ablate ablate\n";

static const char fish[] =
    "function __ablate_words\n"
    "    set -l typed (commandline -opc)\n"
    "    set -l now (commandline -ct)\n"
    "    set -l offered ($typed[1] completion words (count $typed) $typed \"$now\" 2>/dev/null)\n"
    "    if test (count $offered) -gt 0\n"
    "        printf '%s\\n' $offered\n"
    "    else\n"
    "        __fish_complete_path \"$now\"\n"
    "    end\n"
    "end\n"
    "complete -c ablate -f -a '(__ablate_words)'\n";

enum { MOST_WORDS = 64 };

typedef struct {
    const char *typed;  /* the word as typed so far */
    const char *before; /* prefix of each suggested word: "heads=" */
    const places *p;
    char **word; /* the command line: n_words before the one being typed */
    int n_words;
} place;

/* ---- kinds of words ---- */

/* Prints a suggestion, unless it has characters that some shells leave unquoted. */
static void offer(const place *at, const char *word)
{
    for (const char *p = word; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 127 || strchr("$`\\", *p)) return;
    if (has_prefix(word, at->typed)) printf("%s%s\n", at->before, word);
}

static void offer_list(const place *at, const char *list) /* "a|b|c"; omits placeholders (cuda:N, X) */
{
    char word[64];
    for (int i = 0; value_word(list, i, word); i++) {
        size_t n = strcspn(word, "[");
        word[n] = 0;
        if (!has_suffix(word, ":N")) offer(at, word);
    }
}

static void offer_key(const place *at, const char *plugin, const char *name)
{
    AUTOFREE char *word = xprintf("%s%s%s=", plugin ? plugin : "", plugin ? "." : "", name);
    offer(at, word);
}

static void offer_keys(const place *at)
{
    const plugin_schemas *all = run_schemas();
    for (const ab_option *p = config_params; p->name; p++)
        if (!same(p->name, "seed")) offer_key(at, NULL, p->name);
    for (size_t i = 0; i < all->n; i++)
        for (const ab_option *p = all->list[i].params; p && p->name; p++) offer_key(at, all->list[i].name, p->name);
}

/* Offers the names of a kind's plugins; kind NULL: KIND/NAME of all plugins. */
static void offer_plugins(const place *at, const char *kind)
{
    const plugin_schemas *all = run_schemas();
    for (size_t i = 0; i < all->n; i++) {
        const plugin_schema *s = &all->list[i];
        AUTOFREE char *full = xprintf("%s/%s", s->kind, s->name);
        if (!kind || same(kind, s->kind)) offer(at, kind ? s->name : full);
    }
}

/* Offers a key's values: its choices, plugins, truth values. */
static void offer_values(const place *at, const char *key)
{
    const plugin_schemas *all = run_schemas();
    const ab_option *found = NULL;
    const char *dot = strchr(key, '.');
    for (const ab_option *p = config_params; p->name && !dot; p++)
        if (same(p->name, key)) found = p;
    for (size_t i = 0; i < all->n && dot; i++)
        for (const ab_option *p = all->list[i].params; p && p->name; p++)
            if (has_prefix(key, all->list[i].name) && key[strlen(all->list[i].name)] == '.' && same(p->name, dot + 1))
                found = p;
    if (!found) return;
    if (!dot && config_plugin_kind(key)) offer_plugins(at, config_plugin_kind(key));
    if (found->type == AB_BOOL) offer_list(at, "true|false");
    if (found->type == AB_CHOICE) offer_list(at, found->choices);
}

/* Offers the database's experiments, and with `runs` their rows; in bash no names that bash splits (= or blanks). */
static void offer_experiments(const place *at, bool runs)
{
    CLEANUP(arena_free) arena a = {0};
    err e = {0};
    read_listed *list;
    size_t n = 0;
    const char *shell = getenv("ABLATE_SHELL");
    CLEANUP(reader_end) reader *r = file_exists(at->p->db.path) ? reader_open(&at->p->db, &e) : NULL;
    if (r && reader_list(r, &a, &list, &n, &e)) n = 0;
    for (size_t i = 0; i < n; i++) {
        read_experiment x;
        if (!runs) offer(at, list[i].name);
        if (!runs || reader_experiment(r, list[i].name, READ_VALUES, &a, &x, &e)) continue;
        for (size_t k = 0; k < x.n_rows; k++)
            if (!same(shell, "bash") || !strpbrk(x.rows[k].name, "= "))
                offer(at, arena_printf(&a, "%s/%s", list[i].name, x.rows[k].name));
    }
}

/* Names the plugin of a file after the file and does not open it, because pressing a key must run no code. It has no
 * parameters, so an INI that sets one offers no rows. */
static const plugin_schema *not_opened(void *memory, const char *kind, const char *path, err *e)
{
    (void)e;
    char *name = arena_strdup(memory, path_end(path)), *dot = strrchr(name, '.');
    if (dot) *dot = 0;
    plugin_schema *s = arena_alloc(memory, sizeof *s);
    *s = (plugin_schema){.kind = kind, .name = name};
    return s;
}

/* Offers the rows of the INI on the command line. */
static void offer_rows(const place *at)
{
    CLEANUP(arena_free) arena a = {0};
    CLEANUP(str_free) str errors = {0};
    CLEANUP(spec_free) spec s = {0};
    plugin_schemas plugins = *run_schemas();
    plugins.open = not_opened, plugins.user = &a;
    const char *path = NULL;
    for (int i = 2; i < at->n_words && !path; i++)
        if (has_suffix(at->word[i], ".ini")) path = at->word[i];
    if (path && !spec_read(&s, path, &(spec_options){0}, &plugins, &errors))
        for (size_t i = 0; i < s.n_rows; i++) offer(at, s.rows[i].name);
}

/* ---- the word being typed ---- */

static void offer_kind(const place *at, choices_kind kind, const char *own)
{
    switch (kind) {
    case CHOICES_FILES: break;
    case CHOICES_SPLITS: offer_list(at, "dev|test"); break;
    case CHOICES_OWN: offer_list(at, own); break;
    case CHOICES_KEYS: offer_keys(at); break;
    case CHOICES_EXPERIMENTS: offer_experiments(at, false); break;
    case CHOICES_RUNS: offer_experiments(at, true); break;
    case CHOICES_ROWS: offer_rows(at); break;
    case CHOICES_PLUGINS: offer_plugins(at, NULL); break;
    case CHOICES_CORPORA:
        for (int i = 0; i < n_known_corpora; i++) offer(at, known_corpora[i].name);
        break;
    }
}

static void offer_options(const place *at, const command *c)
{
    char name[64];
    for (const option *o = c->options; o && o->name; o++) option_name(o, name), offer(at, name);
    for (const option *const *o = options_common(); *o && at->typed[1] == '-'; o++)
        option_name(*o, name), offer(at, name);
}

static const option *option_before(const command *c, const char *word)
{
    size_t length;
    for (const option *o = c->options; o && o->name; o++)
        if (o->value && option_is(o, word, &length) && !word[length]) return o;
    return NULL;
}

/* Completes "heads=pr" in shells that do not split words at =: offers the values, each with "heads=" before it. */
static void offer_setting(const place *at)
{
    const char *sign = strchr(at->typed, '=');
    if (!sign) {
        offer_keys(at);
        return;
    }
    AUTOFREE char *key = xstrndup(at->typed, (size_t)(sign - at->typed)),
                  *before = xstrndup(at->typed, (size_t)(sign - at->typed) + 1);
    place value = *at;
    value.typed = sign + 1;
    value.before = before;
    offer_values(&value, key);
}

/* word[n] is being typed, n > 1. */
static void offer_in_command(const place *at, char **word, int n)
{
    int used = 0;
    const command *c = command_find(n, word, &used);
    const char *group = word[1];
    if (!c) { /* the first of two words, such as "score" */
        size_t length = strlen(group);
        for (size_t i = 0; i < n_commands && n == 2; i++)
            if (!strncmp(all_commands[i]->name, group, length) && all_commands[i]->name[length] == ' ')
                offer(at, all_commands[i]->name + length + 1);
        return;
    }
    bool cut = n > 3 && same(word[n - 1], "=");
    const option *o = option_before(c, word[n - 1]), *setting = cut ? option_before(c, word[n - 3]) : NULL;
    if (setting && setting->choices == CHOICES_KEYS)
        offer_values(at, word[n - 2]);
    else if (o && o->choices == CHOICES_KEYS)
        offer_setting(at);
    else if (o)
        offer_kind(at, o->choices == CHOICES_FILES && strchr(o->value, '|') ? CHOICES_OWN : o->choices, o->value);
    else if (*at->typed == '-')
        offer_options(at, c);
    else
        offer_kind(at, c->one_of && n == used + 1 ? CHOICES_OWN : c->choices, c->one_of);
}

static void offer_commands(const place *at)
{
    static const char *const more[] = {"test", "help"};
    for (size_t i = 0; i < LENGTH(more); i++) offer(at, more[i]);
    for (size_t i = 0; i < n_commands; i++) {
        const char *name = all_commands[i]->name;
        size_t n = strcspn(name, " ");
        bool again = i && !strncmp(all_commands[i - 1]->name, name, n) && strcspn(all_commands[i - 1]->name, " ") == n;
        AUTOFREE char *first = xstrndup(name, n);
        if (all_commands[i]->does && !again) offer(at, first);
    }
}

static int completion_words(const invocation *c)
{
    int64_t n;
    char nothing[] = "", *word[MOST_WORDS + 1] = {NULL};
    int64_t there = c->argc - 3;
    if (c->argc < 4 || !parse_int(c->argv[2], &n) || n < 1 || n > there || n >= MOST_WORDS)
        return call_usage(c, "words: expected the position of a word, then the words");
    for (int64_t i = 0; i <= n; i++) word[i] = i < there ? c->argv[3 + i] : nothing;
    if (same(word[n], "=")) word[++n] = nothing; /* the value is still empty */
    place at = {.typed = word[n], .before = "", .p = &c->p, .word = word, .n_words = (int)n};
    if (n == 1)
        offer_commands(&at);
    else
        offer_in_command(&at, word, (int)n);
    return 0;
}

static int completion(const invocation *c, void *options)
{
    (void)options;
    const char *what = c->argc > 1 ? c->argv[1] : "";
    const char *text = same(what, "bash") ? bash : same(what, "zsh") ? zsh : same(what, "fish") ? fish : NULL;
    if (same(what, "words")) return completion_words(c);
    if (text && c->argc == 2) return fputs(text, stdout) < 0;
    return call_usage(c, "%s%sexpected bash, zsh or fish", what, *what ? ": " : "");
}

const command completion_command = {.name = "completion",
                                    .part = FOR_PROGRAM,
                                    .does = "print the completion script for bash, zsh or fish",
                                    .about = "bash: source <(ablate completion bash). zsh: source <(ablate completion "
                                             "zsh), after compinit. fish: ablate completion fish | source.",
                                    .arguments = "bash|zsh|fish",
                                    .choices = CHOICES_OWN,
                                    .one_of = "bash|zsh|fish",
                                    .verbatim = true,
                                    .run = completion,
                                    .example = "source <(ablate completion bash)"};
