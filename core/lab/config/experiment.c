/* experiment.c - [experiment]: name, note, seeds, published table, selected rows, matched budget. */
#include "lab/config/build.h"
#include <string.h>

static const ini_entry *find_entry(const ini_section *s, const char *key)
{
    for (size_t i = 0; s && i < s->n; i++)
        if (same(s->at[i].key, key)) return &s->at[i];
    return NULL;
}

static void check_experiment_keys(build *b, const ini_section *s)
{
    static const char *const keys[] = {"name", "note", "seeds", "paper", "only", "match"};
    CLEANUP(name_set_free) name_set seen = {0};
    size_t first;
    for (size_t i = 0; i < s->n; i++) {
        const ini_entry *e = &s->at[i];
        bool known = false;
        for (size_t k = 0; k < LENGTH(keys); k++) known |= same(keys[k], e->key);
        if (!known)
            complain(b, e->where, e->key,
                     "found an unknown key in [experiment], expected name, note, seeds, paper, only or match%s",
                     suggestion(e->key, keys, LENGTH(keys), ""));
        if (!name_set_add(&seen, e->key, i, &first)) complain_twice(b, e->where, e->key, s->at[first].where);
    }
}

static const char *text_entry(build *b, const ini_section *s, const char *key, const char *otherwise)
{
    const ini_entry *e = find_entry(s, key);
    return e ? unquote(e->value, b->a) : otherwise;
}

/* "experiments/quick.ini" -> "quick" */
static const char *stem(const char *path, arena *a)
{
    const char *file = path_end(path);
    size_t n = strlen(file);
    return arena_strndup(a, file, has_suffix(file, ".ini") ? n - 4 : n);
}

static void check_name(build *b, const ini_section *s)
{
    const ini_entry *e = find_entry(s, "name");
    const char *name = b->s->name;
    const char *where = e ? e->where : b->s->path;
    err bad = {0};
    if (experiment_name_check(name, &bad)) complain(b, where, "name", "%s", bad.text);
    if (has_suffix(name, ".recorded"))
        complain(b, where, "name",
                 "found \"%s\", expected another name: the suffix .recorded is reserved for recorded runs", name);
}

/* Reads "LIST, base = 20" or "LIST, base = auto" and returns LIST. Sets s->base_seeds if `base` is given. */
static const char *read_base_seeds(build *b, const char *where, const char *text)
{
    const char *comma = strrchr(text, ',');
    char word[8] = "", number[24] = "", rest[2];
    if (!comma || !has_prefix(comma + 1 + strspn(comma + 1, " \t"), "base")) return text;
    int found = sscanf(comma + 1, " %7[a-z] = %23s %1s", word, number, rest);
    bool is_auto = same(number, "auto");
    if (found != 2 || !same(word, "base") ||
        (!is_auto && (!parse_int(number, &b->s->base_seeds) || b->s->base_seeds < 1 || b->s->base_seeds > MOST_VALUES)))
        complain(b, where, "seeds", "found \"%s\", expected base = auto or base = N with N from 1 to %d",
                 comma + 1 + strspn(comma + 1, " \t"), MOST_VALUES);
    if (is_auto) b->s->base_seeds = BASE_AUTO;
    return arena_strndup(b->a, text, (size_t)(comma - text));
}

static void read_all_seeds(build *b, const char *where)
{
    bool bad = false;
    spec *s = b->s;
    const char *list = read_base_seeds(b, where, s->seeds_text);
    if ((!read_until(b, where, list, &bad) && (bad || !read_seeds(b, where, list))) || !s->base_seeds) return;
    if (s->n_seeds == 1 && !s->analysis.until.most && s->seeds[0] > 1)
        complain(b, where, "seeds", "found only seed %lld with base = ..., expected a list such as 1..%lld",
                 (long long)s->seeds[0], (long long)s->seeds[0]);
    else if (s->base_seeds != BASE_AUTO && (size_t)s->base_seeds < s->n_seeds)
        complain(b, where, "seeds", "found base = %lld, expected auto or at least %zu, the number of seeds of each row",
                 (long long)s->base_seeds, s->n_seeds);
}

void read_experiment(build *b, const ini_section *s, const spec_options *o)
{
    const ini_entry *seeds = find_entry(s, "seeds"), *only = find_entry(s, "only");
    if (s) check_experiment_keys(b, s);
    b->s->name = text_entry(b, s, "name", stem(b->s->path, b->a));
    b->s->note = text_entry(b, s, "note", "");
    b->s->paper = text_entry(b, s, "paper", "");
    check_name(b, s);
    b->s->seeds_text = o->seeds ? arena_strdup(b->a, o->seeds) : seeds ? seeds->value : "1";
    const char *seeds_where = o->seeds ? COMMAND_LINE : seeds ? seeds->where : "";
    read_all_seeds(b, seeds_where);
    const ini_entry *match = find_entry(s, "match");
    b->s->analysis.match = b->s->analysis.match_key = b->s->slurm_options = "";
    if (match) read_match(b, match->where, unquote(match->value, b->a));
    b->only_where = o->n_only ? COMMAND_LINE : only ? only->where : "";
    if (o->n_only) {
        b->s->only = arena_alloc(b->a, o->n_only * sizeof *b->s->only);
        b->s->n_only = o->n_only;
        for (size_t i = 0; i < o->n_only; i++) b->s->only[i] = arena_strdup(b->a, o->only[i]);
    } else if (only && *only->value) {
        b->s->n_only = split_text(only->value, ',', &b->s->only, b->a);
        for (size_t i = 0; i < b->s->n_only; i++) b->s->only[i] = unquote(b->s->only[i], b->a);
    }
}
