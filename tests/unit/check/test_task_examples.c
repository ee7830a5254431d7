/* Every shipped task against plain Python written from the papers and docs/: the examples that the task draws must have
 * the answers, and fixed outputs and likelihoods the scores, that tests/oracle/tasks.py computed
 * (tests/oracle/golden/tasks.txt; tasks.py describes its lines). With $ABLATE_EXAMPLES = FILE, opens the
 * cases of FILE instead and prints all their examples, from which tasks.py computes. */
#include "text/data/dataset.h"
#include "text/metric/metric.h"
#include "services.h"
#include "../train/opened_task.h"
#include <sys/stat.h>
#include <unistd.h>

/* The parts of a case: the splits; train in later epochs (fresh masks); the windows of dev and test. */
enum { EPOCHS = AB_SPLITS, WINDOWS = EPOCHS + 2, PARTS = WINDOWS + 2 };
static const char *const part_names[PARTS] = {"train",  "dev",         "test",        "epoch1",
                                              "epoch2", "dev_windows", "test_windows"};

typedef struct {
    opened o;
    ab_vocabs v;
    dataset windows;
    vocab *vocab;
} task_case;

static char folder[] = "/tmp/ablate-examples-XXXXXX";

/* ---- reading a case ---- */

/* Returns the rest of a line that begins with this word, or NULL. */
static char *after(char *line, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(line, word, n) || (line[n] && line[n] != ' ')) return NULL;
    return line + n + (line[n] == ' ');
}

static int part_named(char *text, char **rest)
{
    for (int part = 0; part < PARTS; part++)
        if ((*rest = after(text, part_names[part]))) return part;
    broken("%s: expected a part, such as train", text);
}

static void append(const char *name, const void *bytes, size_t n, const char *mode)
{
    char *path = path_join(folder, name), *slash = strrchr(path, '/');
    *slash = 0, mkdir(path, 0700), *slash = '/';
    FILE *f = fopen(path, mode);
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f)) broken("cannot write %s", path);
    free(path);
}

/* Writes the files of a case: `file NAME`, then `|line` for each line; `bytes NAME`, then hexadecimal digits. */
static void write_files(char **line, size_t n)
{
    const char *name = NULL;
    for (size_t i = 1; i < n; i++) {
        char *rest;
        if ((rest = after(line[i], "file"))) append(name = rest, "", 0, "wb");
        if (line[i][0] == '|') append(name, line[i] + 1, strlen(line[i]) - 1, "ab"), append(name, "\n", 1, "ab");
        if (!(rest = after(line[i], "bytes"))) continue;
        char *hex = strchr(rest, ' ');
        size_t n_bytes = strlen(hex + 1) / 2;
        *hex++ = 0;
        unsigned char *b = xmalloc(n_bytes + 1);
        for (size_t k = 0; k < n_bytes; k++) sscanf(hex + 2 * k, "%2hhx", &b[k]);
        append(rest, b, n_bytes, "wb");
        free(b);
    }
}

/* Opens `TASK NAME key=value ...`; @ stands for the folder of the case's files. */
static void open_case(task_case *c, char *text)
{
    char message[2048] = "", *name = strchr(text, ' ') + 1, *rest = strchr(name, ' ');
    str set = {0};
    err e = {0};
    *c = (task_case){0};
    *strchr(text, ' ') = 0;
    if (rest) *rest++ = 0;
    for (const char *s = rest ? rest : ""; *s; s++) {
        if (*s == '@')
            str_add(&set, folder);
        else
            str_addc(&set, *s);
    }
    if (open_with(&c->o, text, str_text(&set), message, sizeof message)) broken("%s/%s: %s", text, name, message);
    str_free(&set);
    const ab_task_plugin *t = c->o.t;
    c->v = (ab_vocabs){.flags = t->flags, .src = t->src_vocab, .tgt = t->tgt_vocab};
    if (t->vocabs) t->vocabs(c->o.self, &c->v);
    if (!c->v.window) return;
    vocab *src;
    if (dataset_vocabs(t, c->o.self, false, TOKENS_BPE, 0, false, NULL, &src, &c->vocab, &e) ||
        dataset_build(&c->windows, t, c->o.self, src, c->vocab, 0, &e))
        broken("%s/%s: %s", text, name, e.text);
}

static void close_case(task_case *c)
{
    dataset_free(&c->windows);
    vocab_free(c->vocab);
    close_opened(&c->o);
}

/* ---- examples ---- */

static int64_t part_count(const task_case *c, int part)
{
    const ab_task_plugin *t = c->o.t;
    if (part < EPOCHS) return t->count(c->o.self, (ab_split)part);
    if (part < WINDOWS) return t->get_epoch ? t->count(c->o.self, AB_TRAIN) : 0;
    return c->v.window ? c->windows.split[part - WINDOWS + AB_DEV].n : 0;
}

/* Appends the tokens of a window, a line's end as \n. */
static void add_window(const task_case *c, const pairs *p, int64_t i, str *out)
{
    for (int64_t k = p->tgt_at[i]; k < p->tgt_at[i + 1]; k++) {
        if (c->v.tgt != AB_VOCAB_CHARS && k > p->tgt_at[i]) str_addc(out, ' ');
        str_add(out, p->tgt[k] == VOCAB_EOS ? "\\n" : vocab_token(c->vocab, p->tgt[k]));
    }
}

/* Makes an example's line: source, target, and for a task with formatted lines the reference and the target
 * formatted, tabs between. */
static const char *example_line(const task_case *c, int part, int64_t i, str *out)
{
    const ab_task_plugin *t = c->o.t;
    ab_example x = {0};
    str_clear(out);
    if (part >= WINDOWS) return add_window(c, &c->windows.split[part - WINDOWS + AB_DEV], i, out), str_text(out);
    if (part >= EPOCHS)
        t->get_epoch(c->o.self, i, part - EPOCHS + 1, &x);
    else
        t->get(c->o.self, (ab_split)part, i, &x);
    str_addf(out, "%s\t%s", x.src ? x.src : "", x.tgt);
    if (part < EPOCHS && t->reference_line)
        str_addf(out, "\t%s", t->reference_line(c->o.self, (ab_split)part, i, NULL));
    if (part < EPOCHS && t->format_output) {
        t->get(c->o.self, (ab_split)part, i, &x);
        str_addf(out, "\t%s", t->format_output(c->o.self, x.src, x.tgt));
    }
    return str_text(out);
}

static void print_examples(const task_case *c)
{
    str s = {0};
    for (int part = 0; part < PARTS; part++)
        for (int64_t i = 0; i < part_count(c, part); i++)
            printf("%s %s\n", part_names[part], example_line(c, part, i, &s));
    str_free(&s);
}

/* Checks `all PART COUNT HASH`: FNV-1a, 64 bits, of all lines, each with its end. */
static void check_all(const task_case *c, char *text)
{
    char *rest;
    int part = part_named(text, &rest);
    uint64_t h = 14695981039346656037u;
    str s = {0};
    CHECK_INT(part_count(c, part), strtoll(rest, &rest, 10));
    for (int64_t i = 0; i < part_count(c, part); i++) {
        for (const char *b = example_line(c, part, i, &s); *b; b++) h = (h ^ (unsigned char)*b) * 1099511628211u;
        h = (h ^ '\n') * 1099511628211u;
    }
    CHECK_THAT(h == strtoull(rest, NULL, 16), "%s, all lines: found the hash %" PRIx64 ", expected%s", part_names[part],
               h, rest);
    str_free(&s);
}

/* Checks `example PART NUMBER LINE`. */
static void check_example(const task_case *c, char *text)
{
    char *rest;
    int part = part_named(text, &rest);
    int64_t i = strtoll(rest, &rest, 10);
    str s = {0};
    if (i < part_count(c, part)) CHECK_TEXT(example_line(c, part, i, &s), rest + (*rest == ' '));
    str_free(&s);
}

/* ---- scores ---- */

/* Finds how many tokens example i has to predict. */
static int64_t predicted(const task_case *c, ab_split s, int64_t i)
{
    ab_example x = {0};
    int64_t n = 0;
    if (c->v.window) return c->windows.split[s].tgt_at[i + 1] - c->windows.split[s].tgt_at[i];
    c->o.t->get(c->o.self, s, i, &x);
    char *text = xstrdup(x.tgt), *rest = text;
    for (const char *w; (w = strsep(&rest, " "));) n += !same(w, AB_NO_LABEL);
    free(text);
    return n - c->v.given;
}

/* Makes likelihoods that depend on the example's number alone. */
static ab_likelihood *made_up(const task_case *c, ab_split s, int64_t n)
{
    ab_likelihood *x = xcalloc((size_t)n + 1, sizeof *x);
    for (int64_t i = 0; i < n; i++) {
        int64_t tokens = predicted(c, s, i), wrong = i * i % 7 % 3 < tokens ? i * i % 7 % 3 : tokens;
        x[i] = (ab_likelihood){-0.375 * (double)((1 + i % 5) * tokens), tokens, tokens - wrong};
    }
    return x;
}

static double summed(const metric *m, const ab_likelihood *x, int64_t n)
{
    double sum[2] = {0};
    for (int64_t i = 0; i < n; i++) {
        sum[0] += m == &metric_perplexity ? -x[i].log_likelihood : (double)x[i].right;
        sum[1] += (double)x[i].tokens;
    }
    return m->sum->score(sum, NULL);
}

/* Finds a metric's value on a split, from these outputs or, if there are none, from made-up likelihoods. */
static double score_of(const task_case *c, ab_split s, const char *const *output, int64_t n, const char *name)
{
    char words[1024] = "";
    ab_metric m[8];
    ab_likelihood *x = output ? NULL : made_up(c, s, n);
    double value = NAN;
    int made = output ? c->o.t->score(c->o.self, s, output, n, m, 8, words, sizeof words)
                      : c->o.t->score_likelihoods(c->o.self, s, x, n, m, 8, words, sizeof words);
    CHECK_TEXT(words, "");
    for (int i = 0; i < made; i++)
        if (same(m[i].name, name)) value = m[i].value;
    if (x && same(name, metric_perplexity.name)) value = summed(&metric_perplexity, x, n);
    if (x && same(name, metric_token_accuracy.name)) value = summed(&metric_token_accuracy, x, n);
    free(x);
    return value;
}

/* Checks `score SPLIT NAME VALUE`. */
static void check_score(const task_case *c, char *text, const char *const *output, int64_t n)
{
    char *rest;
    int part = part_named(text, &rest);
    char *value = strchr(rest, ' ');
    *value++ = 0;
    double expected = strtod(value, NULL);
    if (!output) n = c->v.window ? c->windows.split[part].n : part_count(c, part);
    CHECK_NEAR(score_of(c, (ab_split)part, output, n, rest), expected, 1e-9 * fmax(1, fabs(expected)));
}

/* ---- cases ---- */

static void check_case(const task_case *c, char **line, size_t n)
{
    const char **output = xmalloc((n + 1) * sizeof *output);
    int64_t outputs = 0;
    for (size_t i = 1; i < n; i++) {
        char *rest;
        if ((rest = after(line[i], "all"))) check_all(c, rest);
        if ((rest = after(line[i], "example"))) check_example(c, rest);
        if (after(line[i], "outputs")) outputs = 0;
        if ((rest = after(line[i], "output"))) output[outputs++] = rest;
        if ((rest = after(line[i], "score"))) check_score(c, rest, outputs ? output : NULL, outputs);
    }
    free(output);
}

static void check_covered(char **line, size_t n)
{
    size_t n_plugins;
    const plugin *const *list = plugin_list(&n_plugins);
    for (size_t i = 0; i < n_plugins; i++) {
        if (list[i]->desc.kind != AB_TASK) continue;
        bool found = false;
        for (size_t k = 0; k < n; k++) {
            char *rest = after(line[k], "case");
            found |= rest && after(rest, list[i]->desc.name);
        }
        CHECK_THAT(found, "task/%s: found no case in golden/tasks.txt, expected one", list[i]->desc.name);
    }
}

/* Opens a case [n lines] and prints its examples, or compares them and the scores. */
static void run_case(char **line, size_t n, bool printing)
{
    int failed = test_failed;
    char *head = xstrdup(after(line[0], "case")), *opening = xstrdup(head);
    task_case c;
    printf("case %s\n", head);
    write_files(line, n);
    open_case(&c, opening);
    if (printing)
        print_examples(&c);
    else
        check_case(&c, line, n);
    if (test_failed > failed) printf("DIFFERS: case %s\n", head);
    close_case(&c);
    free(head);
    free(opening);
}

int main(void)
{
    const char *wanted = getenv("ABLATE_EXAMPLES");
    str text = {0};
    char **line;
    size_t n;
    err e = {0};
    use_plugins();
    if (!mkdtemp(folder)) broken("cannot make %s", folder);
    if (file_lines(wanted ? wanted : SOURCE_DIR "/tests/oracle/golden/tasks.txt", &text, &line, &n, &e))
        broken("%s", e.text);
    if (!wanted) check_covered(line, n);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && !after(line[end], "case");) end++;
        if (after(line[i], "case")) run_case(line + i, end - i, wanted != NULL);
    }
    free(line);
    str_free(&text);
    char *command = xprintf("rm -r %s", folder);
    CHECK_INT(system(command), 0);
    free(command);
    return wanted ? 0 : test_end();
}
