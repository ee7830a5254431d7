/* slurm.c - [slurm]: resources of the experiment's array job, mostly sbatch options. No key changes a result. */
#include "lab/config/build.h"
#include <string.h>

typedef enum { WORD, TIME, MEMORY, COUNT, RUNS, EXTRA } kind;
typedef struct {
    const char *key, *option; /* option: the sbatch option that the key sets, or NULL */
    kind kind;
    const char *doc;
} slurm_key;
enum { MOST_COUNT = 4096, MOST_RUNS_PER_TASK = 1024 };

static const slurm_key keys[] = {
    {"partition", "--partition", WORD, "partition for the tasks"},
    {"account", "--account", WORD, "account to charge"},
    {"qos", "--qos", WORD, "quality of service"},
    {"time", "--time", TIME,
     "time limit of a task; 120 s before the limit, workers write a checkpoint and the task is requeued"},
    {"mem", "--mem", MEMORY, "memory per node of a task"},
    {"cpus_per_task", "--cpus-per-task", COUNT, "cores of a task, shared by its runs; with ranks: cores of each rank"},
    {"gres", "--gres", WORD, "other resources, such as gpu:1"},
    {"constraint", "--constraint", WORD, "required node features"},
    {"exclude", "--exclude", WORD, "nodes to avoid"},
    {"runs_per_task", NULL, RUNS, "runs that share a task's cores at the same time, like --runs-per-task"},
    {"extra", NULL, EXTRA,
     "other options of sbatch, separated by blanks: \"--nice=100 --mail-type=FAIL\"; `--slurm-args` takes any option"},
};
/* Options that `extra` may have, with = if they need a value. None chooses a program, its environment or a file. */
#define EXTRAS                                                                                                         \
    "--account= --begin= --comment= --constraint= --contiguous --core-spec= --cpu-freq= --deadline= --dependency= "    \
    "--distribution= --exclude= --exclusive --gpus= --gpus-per-node= --gpus-per-task= --gres= --gres-flags= --hint= "  \
    "--hold --licenses= --mail-type= --mail-user= --mem-bind= --mem-per-cpu= --mem-per-gpu= --mincpus= --nice "        \
    "--nodelist= --nodes= --oversubscribe --partition= --prefer= --priority= --qos= --reservation= --spread-job "      \
    "--switches= --thread-spec= --threads-per-core= --time-min= --tmp= --wckey="

static bool is_word(build *b, const char *text)
{
    (void)b;
    return *text && *text != '-' && !text[strcspn(text, " \t'\"")];
}

/* Is the text a Slurm time: up to three numbers separated by ":", or "D-" followed by up to three? */
static bool is_time(build *b, const char *text)
{
    (void)b;
    const char *day = strchr(text, '-'), *at = day ? day + 1 : text;
    int parts = 1;
    if (day && (day == text || strspn(text, "0123456789") != (size_t)(day - text))) return false;
    for (;; at++, parts++) {
        size_t digits = strspn(at, "0123456789");
        if (!digits || digits > 6) return false;
        at += digits;
        if (*at != ':') return !*at && parts <= 3;
    }
}

static bool is_memory(build *b, const char *text)
{
    (void)b;
    size_t digits = strspn(text, "0123456789");
    return digits && digits < 10 && (!text[digits] || (strchr("KMGTkmgt", text[digits]) && !text[digits + 1]));
}

static bool is_count(build *b, const char *text)
{
    int64_t n = 0;
    (void)b;
    return parse_int(text, &n) && n >= 1 && n <= MOST_COUNT;
}

static bool is_runs(build *b, const char *text)
{
    int64_t n = 0;
    return is_count(b, text) && parse_int(text, &n) && n <= MOST_RUNS_PER_TASK;
}

/* Is this an option of EXTRAS, with =VALUE if it needs one? */
static bool is_option(const char *text)
{
    size_t name = strcspn(text, "="), n = name + (text[name] == '=');
    for (const char *at = EXTRAS; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        bool needs = at[length - 1] == '=';
        if (length - needs == name && !strncmp(at, text, name) && (needs ? text[n] && n > name : n == name || text[n]))
            return !strpbrk(text, "'\"\t");
        at += length;
    }
    return false;
}

static bool is_extra(build *b, const char *text)
{
    const char **parts;
    size_t n = split_text(text, ' ', &parts, b->a), good = 0;
    while (good < n && is_option(parts[good])) good++;
    return n && good == n;
}

static const struct {
    bool (*fits)(build *b, const char *text);
    const char *expected;
} kinds[] = {[WORD] = {is_word, "one word"},
             [TIME] = {is_time, "minutes, M:S, H:M:S, D-H, D-H:M or D-H:M:S"},
             [MEMORY] = {is_memory, "megabytes, or a whole number with K, M, G or T"},
             [COUNT] = {is_count, "a whole number from 1 to 4096"},
             [RUNS] = {is_runs, "a whole number from 1 to 1024"},
             [EXTRA] = {is_extra, "only these options, with their values: " EXTRAS}};

static const slurm_key *find_slurm_key(const char *name)
{
    for (size_t i = 0; i < LENGTH(keys); i++)
        if (same(keys[i].key, name)) return &keys[i];
    return NULL;
}

static void unknown(build *b, const ini_entry *at)
{
    const char *names[LENGTH(keys)];
    CLEANUP(str_free) str all = {0};
    for (size_t i = 0; i < LENGTH(keys); i++) {
        names[i] = keys[i].key;
        str_addf(&all, "%s%s", i == 0 ? "" : i + 1 < LENGTH(keys) ? ", " : " or ", keys[i].key);
    }
    complain(b, at->where, at->key, "found an unknown key in [slurm], expected %s%s", str_text(&all),
             suggestion(at->key, names, LENGTH(keys), ""));
}

void read_slurm(build *b, const ini_entry *at, size_t n)
{
    CLEANUP(str_free) str options = {0};
    CLEANUP(name_set_free) name_set seen = {0};
    size_t first;
    for (size_t i = 0; i < n; i++) {
        const slurm_key *k = find_slurm_key(at[i].key);
        const char *text = unquote(at[i].value, b->a);
        int64_t number = 0;
        if (!k) {
            unknown(b, &at[i]);
            continue;
        }
        if (!name_set_add(&seen, at[i].key, i, &first)) complain_twice(b, at[i].where, at[i].key, at[first].where);
        if (!kinds[k->kind].fits(b, text))
            complain(b, at[i].where, at[i].key, "found \"%s\", expected %s", text, kinds[k->kind].expected);
        if (parse_int(text, &number) && k->kind == RUNS) b->s->slurm_per_task = number;
        if (k->kind == COUNT) text = arena_printf(b->a, "%lld", (long long)number);
        settings_set(&b->s->slurm, k->key, text, b->a);
        if (k->option)
            str_addf(&options, "%s%s=%s", options.n ? " " : "", k->option, text);
        else if (k->kind == EXTRA)
            str_addf(&options, "%s%s", options.n ? " " : "", text);
    }
    b->s->slurm_options = arena_strdup(b->a, str_text(&options));
}

void slurm_reference(FILE *f)
{
    fprintf(f, "\n## [slurm]\n\nResources requested by the array job of `ablate run --launcher slurm` "
               "(docs/cluster.md). `--slurm-args` overrides them.\n"
               "They never change a result.\n\n| key | sbatch option | value | meaning |\n|---|---|---|---|\n");
    for (size_t i = 0; i < LENGTH(keys); i++)
        fprintf(f, "| `%s` | %s%s%s | %s | %s |\n", keys[i].key, keys[i].option ? "`" : "",
                keys[i].option ? keys[i].option : "", keys[i].option ? "`" : "", kinds[keys[i].kind].expected,
                keys[i].doc);
}
