/* options.c - parses a command line by its command's table. */
#include "cli/options.h"
#include "network/plugin/plugin.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { WRONG_USAGE = 2 };

/* ---- names and values ---- */

size_t option_name(const option *o, char out[64])
{
    size_t n = strcspn(o->name, " ");
    snprintf(out, 64, "%.*s", (int)n, o->name);
    return n;
}

bool option_is(const option *o, const char *word, size_t *length)
{
    for (const char *p = o->name; *p; p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");
        if (!strncmp(word, p, n) && (!word[n] || (word[n] == '=' && n > 2))) return *length = n, true;
        p += n;
    }
    return false;
}

bool value_word(const char *value, int i, char out[64])
{
    for (const char *p = value; p && *p; i--) {
        size_t n = strcspn(p, "|");
        if (i == 0) return snprintf(out, 64, "%.*s", (int)n, p), true;
        p += n + (p[n] == '|');
    }
    return false;
}

static const option help_option = {.name = "--help -h", .help = "this help"};
static const option quiet_option = {.name = "--quiet -q", .help = "print only warnings and errors on standard error"};
static const option verbose_option = {.name = "--verbose -v", .help = "print more on standard error"};
const option *const *options_common(void)
{
    static const option *const list[] = {&help_option, &quiet_option, &verbose_option, NULL};
    return list;
}

static const option *find_option(const command *what, const char *word, size_t *length)
{
    for (const option *o = what->options; o && o->name; o++)
        if (option_is(o, word, length)) return o;
    for (const option *const *o = options_common(); *o; o++)
        if (option_is(*o, word, length)) return *o;
    return NULL;
}

/* Returns "--length-penalty" for "--alpha", whose settings key was renamed to length_penalty; NULL: not renamed. */
static const char *new_name(const char *bare, char out[64])
{
    if (!has_prefix(bare, "--")) return NULL;
    snprintf(out, 64, "%s", bare + 2);
    for (char *p = out; *p; p++) *p = *p == '-' ? '_' : *p;
    const char *now = config_new_name(out);
    if (!now) return NULL;
    snprintf(out, 64, "--%s", now);
    for (char *p = out; *p; p++) *p = *p == '_' ? '-' : *p;
    return out;
}

static int unknown(const command *what, const char *word, err *e)
{
    char renamed[64];
    const char *names[MOST_OPTIONS];
    char text[MOST_OPTIONS][64];
    size_t n = 0;
    for (const option *o = what->options; o && o->name && n < LENGTH(names); o++)
        option_name(o, text[n]), names[n] = text[n], n++;
    AUTOFREE char *bare = xstrndup(word, strcspn(word, "="));
    const char *now = new_name(bare, renamed);
    size_t length;
    if (now && find_option(what, now, &length)) return fail(e, "%s was renamed to %s", bare, now);
    if (old_word(what->name, bare)) return fail(e, "%s is gone: %s", bare, old_word(what->name, bare));
    return fail(e, "unknown option %s%s", bare, suggestion(bare, names, n, ""));
}

/* Writes "text, md or json". */
static void list_words(const char *value, str *out)
{
    char word[64], next[64];
    for (int i = 0; value_word(value, i, word); i++)
        str_addf(out, "%s%s", i == 0 ? "" : value_word(value, i + 1, next) ? ", " : " or ", word);
}

static int parse_word(const option *o, const char *name, const char *value, int *at, err *e)
{
    char word[64];
    for (int i = 0; value_word(o->value, i, word); i++)
        if (same(word, value)) return *at = i, 0;
    const char *choices[32];
    char text[32][64];
    size_t n = 0;
    while (n < LENGTH(choices) && value_word(o->value, (int)n, text[n])) choices[n] = text[n], n++;
    CLEANUP(str_free) str list = {0};
    list_words(o->value, &list);
    return fail(e, "%s %s: expected %s%s", name, value, str_text(&list), suggestion(value, choices, n, ""));
}

static int parse_number(const option *o, const char *name, const char *value, double *at, err *e)
{
    char least[32], most[32];
    bool limit = o->most > o->least;
    if (parse_real(value, at) && *at >= o->least && (!limit || *at <= o->most)) return 0;
    return fail(e, "%s %s: expected a number from %s%s%s", name, value, format_real(o->least, least),
                limit ? " to " : "", limit ? format_real(o->most, most) : "");
}

static int parse_count(const char *name, const char *value, int64_t least, int64_t most, int64_t *out, err *e)
{
    if (parse_int(value, out) && *out >= least && *out <= most) return 0;
    return fail(e, "%s %s: expected a number from %lld to %lld", name, value, (long long)least, (long long)most);
}

static int parse_value(invocation *c, const option *o, const char *name, const char *value, char *into, err *e)
{
    void *at = into + o->at;
    switch (o->type) {
    case OPTION_FLAG: break; /* handled before */
    case OPTION_TEXT: *(const char **)at = value; break;
    case OPTION_WORD: return parse_word(o, name, value, at, e);
    case OPTION_COUNT:
    case OPTION_COUNT_BARE: return parse_count(name, value, (int64_t)o->least, (int64_t)o->most, at, e);
    case OPTION_REAL: return parse_number(o, name, value, at, e);
    case OPTION_LIST: {
        text_list *list = at;
        list->at = xrealloc(list->at, (list->n + 1) * sizeof *list->at);
        list->at[list->n++] = value;
        break;
    }
    case OPTION_DB: c->p.db.path = value; break;
    case OPTION_PLUGINS: plugin_add_path(value); break;
    }
    return 0;
}

/* ---- a command line ---- */

static bool common(invocation *c, const option *o, bool *help)
{
    if (o == &help_option) return *help = true;
    if (o == &quiet_option) return c->verbosity = -1, true;
    if (o == &verbose_option) return c->verbosity = 1, true;
    return false;
}

/* Parses the option argv[i]. Returns the number of words used, or -1 and a message. */
static int parse_option(invocation *c, int i, char *into, bool *help, err *e)
{
    size_t length = 0;
    char *word = c->argv[i], name[64];
    const option *o = find_option(c->what, word, &length);
    if (!o) return unknown(c->what, word, e);
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    if (common(c, o, help)) return word[length] ? fail(e, "%s takes no value", name) : 1;
    c->given[o - c->what->options] = true;
    if (o->type == OPTION_FLAG) {
        if (word[length]) return fail(e, "%s takes no value", name);
        *(bool *)(void *)(into + o->at) = true;
        return 1;
    }
    const char *value = word[length] ? word + length + 1 : i + 1 < c->argc ? c->argv[i + 1] : NULL;
    if (o->type == OPTION_COUNT_BARE && !word[length] && (!value || !isdigit((unsigned char)*value))) {
        *(int64_t *)(void *)(into + o->at) = -1;
        return 1;
    }
    if (!value) return fail(e, "%s needs a value: %s", name, o->value);
    return parse_value(c, o, name, value, into, e) ? -1 : word[length] ? 1 : 2;
}

/* Counts the words of a usage: those in [] are optional, a final ... allows more, a word after | is an alternative,
 * options do not count. */
static void count_arguments(const char *usage, size_t *least, size_t *most)
{
    size_t depth = 0;
    bool other = false;
    *least = *most = 0;
    for (const char *p = usage; *p; p += strspn(p, " ")) {
        size_t opened = strspn(p, "[");
        if (*p != '|' && !other && p[opened] != '-') ++*most, *least += !(depth + opened);
        other = *p == '|';
        for (; *p && *p != ' '; p++) depth = depth + (*p == '[') - (*p == ']');
    }
    if (has_suffix(usage, "...")) *most = SIZE_MAX;
}

static int check_words(const invocation *c, err *e)
{
    const command *what = c->what;
    const char *usage = what->arguments ? what->arguments : "";
    size_t least, most;
    if (what->verbatim) return 0;
    count_arguments(usage, &least, &most);
    if (c->n_words < least) return fail(e, "%s", what->missing ? what->missing : "missing argument");
    return c->n_words <= most ? 0 : fail(e, "unexpected \"%s\"%s%s", c->word[most], *usage ? ": it takes " : "", usage);
}

static int parse(invocation *c, char *into, bool *help, err *e)
{
    bool only_words = false;
    for (int i = 1; i < c->argc;) {
        char *word = c->argv[i];
        bool asks_help = same(word, "--help") || same(word, "-h");
        if (only_words || word[0] != '-' || !word[1] || (c->what->verbatim && !(asks_help && i == 1))) {
            c->word[c->n_words++] = word;
            i++;
        } else if (same(word, "--")) {
            only_words = true;
            i++;
        } else {
            int used = parse_option(c, i, into, help, e);
            if (used < 0) return -1;
            i += used;
        }
    }
    if (*help) return 0;
    const option *o = c->what->options;
    for (size_t k = 0; o && o[k].name; k++)
        if (o[k].required && !c->given[k]) {
            char name[64];
            option_name(&o[k], name);
            return fail(e, "%s %s is missing: %s", name, o[k].value, o[k].help);
        }
    return check_words(c, e);
}

static void free_lists(const command *what, char *options)
{
    for (const option *o = what->options; o && o->name; o++)
        if (o->type == OPTION_LIST) free((void *)((text_list *)(void *)(options + o->at))->at);
}

int command_run(const command *what, int argc, char **argv, const places *p)
{
    err e = {0};
    CLEANUP(str_free) str text = {0};
    invocation c = {
        .what = what, .p = *p, .argc = argc, .argv = argv, .word = xcalloc((size_t)argc + 1, sizeof *c.word)};
    AUTOFREE char *options = xcalloc(1, what->size + 1);
    bool help = false;
    int code;
    if (what->defaults) memcpy(options, what->defaults, what->size);
    if (parse(&c, options, &help, &e))
        code = call_usage(&c, "%s", e.text);
    else if (help) {
        command_help(what, &text);
        code = fputs(str_text(&text), stdout) < 0;
    } else {
        if (c.verbosity) log_to(stderr, c.verbosity < 0 ? LOG_WARN : LOG_DEBUG);
        code = what->run(&c, options);
    }
    free_lists(what, options);
    free((void *)c.word);
    return code;
}

/* ---- messages ---- */

__attribute__((weak)) const char program_name[] = "ablate"; /* bench/program/main.c defines another */

int call_failed(const invocation *c, const err *e)
{
    fprintf(stderr, "%s %s: %s\n", program_name, c->what->name, e->text);
    return 1;
}

int call_usage(const invocation *c, const char *fmt, ...)
{
    err e = {0};
    CLEANUP(str_free) str text = {0};
    va_list args;
    va_start(args, fmt);
    fail_list(&e, fmt, args);
    va_end(args);
    call_failed(c, &e);
    command_usage(c->what, &text);
    fprintf(stderr, "%srun `%s %s --help` for its options.\n", str_text(&text), program_name, c->what->name);
    return WRONG_USAGE;
}

void call_say(const invocation *c, const char *fmt, ...)
{
    if (c->verbosity < 0) return;
    va_list ap;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
}
