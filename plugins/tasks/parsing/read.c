/* read.c - reads treebanks into sentences and sequences. */
#include "synthetic.h"
#include "task.h"
#include "tasks/path.h"
#include "tasks/reject.h"
#include "tasks/split.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char *task_kept(buffer *b)
{
    char *copy = resized(NULL, b->n + 1, 1);
    memcpy(copy, b->s, b->n + 1);
    buffer_clear(b);
    return copy;
}

/* Chooses the split of a tree of a one-file treebank by a hash of its words, so that equal sentences stay together. */
static split *part_of(task *t, const tree *x)
{
    buffer_clear(&t->scratch);
    tree_words(x, &t->scratch);
    double at = split_place(t->scratch.s);
    return &t->split[at < SPLIT_SHARE ? AB_DEV : at < 2 * SPLIT_SHARE ? AB_TEST : AB_TRAIN];
}

/* s NULL: part_of chooses the split, and of the training trees only the first train_trees are kept. */
static void add_tree(task *t, split *s, const tree *x)
{
    buffer *b = &t->scratch;
    if (!s && (s = part_of(t, x)) == &t->split[AB_TRAIN] && t->c.train_trees && s->n == t->c.train_trees) {
        t->n_left++;
        return;
    }
    if (s->n == s->cap) {
        s->cap = 2 * s->cap + 1024;
        s->src = resized(s->src, (size_t)s->cap, sizeof *s->src);
        s->tgt = resized(s->tgt, (size_t)s->cap, sizeof *s->tgt);
        s->gold = resized(s->gold, (size_t)s->cap, sizeof *s->gold);
    }
    buffer_clear(b);
    tree_words(x, b);
    s->src[s->n] = task_kept(b);
    tree_write(x, b);
    s->gold[s->n] = task_kept(b);
    s->tgt[s->n++] = NULL; /* the sequence is written later, when all labels are known */
    for (size_t i = 1; i < x->n; i++) {
        if (x->at[i].kind != OPEN) continue;
        labels_add(&t->seen, x->at[i].label);
        if (s == &t->split[AB_TRAIN]) labels_add(&t->trained, x->at[i].label);
    }
}

/* Continues behind a bad tree, to append to the message where other bad trees are. */
static void find_more_bad(treebank *b, char *err, size_t n_err)
{
    enum { SHOWN = 5 };
    char message[512], lines[SHOWN * 24] = "";
    tree x = {0};
    long long found = 0;
    size_t used = 0, told = strlen(err);
    for (int got = -1; got < 0; found++) {
        treebank before;
        size_t line = treebank_skip(b);
        if (found && found <= SHOWN)
            used += (size_t)snprintf(lines + used, sizeof lines - used, "%s%zu", used ? ", " : "", line);
        do before = *b, got = treebank_next(b, &x, message, sizeof message);
        while (got == 1);
        *b = before;
    }
    tree_free(&x);
    if (--found)
        snprintf(err + told, n_err - told, "; lines of further bad trees (%lld): %s%s; mend or delete them", found,
                 lines, found > SHOWN ? " ..." : "");
}

static int read_file(task *t, split *s, const char *path, int64_t most, char *err, size_t n_err)
{
    treebank b = {.join = t->c.spaces == JOIN}, before;
    tree x = {0};
    int got = treebank_read(&b, path, err, n_err) ? -1 : 1, read = got;
    while (got == 1 && (!most || !s || s->n < most)) {
        before = b;
        if ((got = treebank_next(&b, &x, err, n_err)) != 1) break;
        if (x.n)
            add_tree(t, s, &x);
        else
            t->n_vanished++;
    }
    if (got < 0 && read == 1) b = before, find_more_bad(&b, err, n_err);
    free(b.text);
    tree_free(&x);
    return got < 0 ? -1 : 0;
}

/* Is the file or one of the folders in its path named gum? */
static int names_gum(const char *path)
{
    for (size_t n; *path; path += n + (path[n] == '/')) {
        n = strcspn(path, "/");
        if (slice_is((slice){path, n}, "gum")) return 1;
    }
    return 0;
}

typedef int find_files(paths *p, const places *in, const char *key, const char *what, char *err, size_t n_err);

/* Appends the trees of the files that `find` returns for `what`, until the split has `most` trees (0: no limit). */
static int read_files(task *t, split *s, const places *in, const char *key, find_files *find, const char *what,
                      int64_t most, char *err, size_t n_err)
{
    paths files = {0};
    int64_t before = s->n;
    int bad = find(&files, in, key, what, err, n_err);
    for (size_t i = 0; i < files.n && !bad; i++) {
        bad = read_file(t, s, files.at[i], most, err, n_err);
        s->gum |= names_gum(files.at[i]);
    }
    if (!bad && s->n == before) {
        snprintf(err, n_err, "%s: no tree with a word in %s%s", key, files.at[0],
                 files.n > 1 ? " and the other files" : "");
        bad = -1;
    }
    paths_free(&files);
    return bad;
}

static int read_split(task *t, ab_split which, const places *in, const char *given, char *err, size_t n_err)
{
    static const char *const keys[AB_SPLITS] = {"parsing.train", "parsing.dev", "parsing.test"};
    static const char *const names[AB_SPLITS] = {"train", "dev", "test"}, *const sections[AB_SPLITS] = {"2-21", "22",
                                                                                                        "23"};
    char usual[4096];
    if (in->wsj)
        snprintf(usual, sizeof usual, "%s", sections[which]);
    else
        snprintf(usual, sizeof usual, "%s/%s.ptb", t->c.data, names[which]);
    int is_auto = !strcmp(given, "auto");
    return read_files(t, &t->split[which], in, keys[which], is_auto ? paths_add : paths_find, is_auto ? usual : given,
                      which == AB_TRAIN ? t->c.train_trees : 0, err, n_err);
}

/* The sequence of a bracketed tree, as written by tree_write. */
static char *sequence(task *t, const char *gold)
{
    char words[256];
    treebank b = {.path = "", .text = (char *)gold, .n = strlen(gold), .line = 1};
    tree x = {0};
    if (treebank_next(&b, &x, words, sizeof words) != 1) {
        fprintf(stderr, "parsing: internal error: a tree read before cannot be read again: %s\n", words);
        abort();
    }
    buffer_clear(&t->scratch);
    linear_write((form)t->c.linearisation, &x, &t->seen, &t->scratch);
    tree_free(&x);
    return task_kept(&t->scratch);
}

static void write_sequences(task *t)
{
    for (int k = 0; k < AB_SPLITS; k++)
        for (int64_t i = 0; i < t->split[k].n; i++) t->split[k].tgt[i] = sequence(t, t->split[k].gold[i]);
    for (size_t i = 0; i < t->trained.n; i++) {
        for (const char *mark = "()"; *mark; mark++) {
            buffer_clear(&t->scratch);
            buffer_add(&t->scratch, mark, 1);
            buffer_text(&t->scratch, t->trained.at[i]);
            labels_add(&t->symbols, (slice){t->scratch.s, t->scratch.n});
        }
    }
}

/* Generates trees of synthetic.c's grammar, dev's first, so that a larger training set changes neither dev nor test. */
static int read_synthetic(task *t, char *err, size_t n_err)
{
    enum { SEED = 1, HELD_OUT = 400, TRAIN = 4000, MOST = 100000 };
    int64_t wanted[AB_SPLITS] = {
        [AB_TRAIN] = t->c.train_trees ? t->c.train_trees : TRAIN, [AB_DEV] = HELD_OUT, [AB_TEST] = HELD_OUT};
    static const ab_split order[] = {AB_DEV, AB_TEST, AB_TRAIN};
    buffer text = {0};
    treebank b = {0};
    tree x = {0};
    int got = 1;
    if (wanted[AB_TRAIN] > MOST || synthetic_trees(SEED, wanted[AB_TRAIN] + 2 * HELD_OUT, &text)) {
        snprintf(err, n_err, "parsing.train_trees = %lld: expected at most %d of the synthetic treebank",
                 (long long)wanted[AB_TRAIN], MOST);
        got = -1;
    } else if (treebank_take(&b, "synthetic", text.s, text.n, err, n_err))
        got = -1;
    for (int k = 0; k < AB_SPLITS && got == 1; k++)
        for (split *s = &t->split[order[k]]; got == 1 && s->n < wanted[order[k]];)
            if ((got = treebank_next(&b, &x, err, n_err)) == 1) add_tree(t, s, &x);
    free(b.text);
    tree_free(&x);
    buffer_free(&text);
    return got == 1 ? 0 : -1;
}

/* Reads parsing.data = FILE. note: what became dev and test. Returns 1; 0 if FILE is no file; or -1 and err. */
static int read_whole(task *t, const ab_env *env, char *note, size_t n_note, char *err, size_t n_err)
{
    char path[PATH_BYTES];
    const char *data = t->c.data;
    struct stat s;
    data_path(path, env->data_dir, data, (int)strlen(data));
    if (stat(path, &s) || !S_ISREG(s.st_mode)) return 0;
    if (read_file(t, NULL, path, 0, err, n_err)) return -1;
    long long n[AB_SPLITS];
    for (int k = 0; k < AB_SPLITS; k++) n[k] = (long long)t->split[k].n;
    if (!n[AB_TRAIN] || !n[AB_DEV] || !n[AB_TEST])
        return reject(err, n_err,
                      "parsing.data = %s: %lld trees are too few to split off a twentieth each for dev and test", data,
                      n[AB_TRAIN] + n[AB_DEV] + n[AB_TEST]);
    snprintf(note, n_note,
             "%s: dev (%lld trees) and test (%lld trees) split off from %lld trees by a hash of the words", data,
             n[AB_DEV], n[AB_TEST], n[AB_TRAIN] + n[AB_DEV] + n[AB_TEST] + (long long)t->n_left);
    return 1;
}

int task_read(task *t, const ab_env *env, char *err, size_t n_err)
{
    const config *c = &t->c;
    char note[512] = "";
    int wsj = !strcmp(c->data, "wsj");
    places in = {env->data_dir, c->files, wsj ? c->wsj : NULL};
    if (wsj && !*c->wsj)
        return reject(
            err, n_err,
            "parsing.data = wsj needs parsing.wsj: the folder of sections 00 to 24 of the Penn Treebank's Wall "
            "Street Journal (LDC99T42: parsed/mrg/wsj), which you need a licence for");
    const char *const given[AB_SPLITS] = {c->train, c->dev, c->test};
    int synthetic = !strcmp(c->data, "synthetic");
    for (int k = 0; k < AB_SPLITS && synthetic; k++) {
        static const char *const keys[AB_SPLITS] = {"train", "dev", "test"};
        if (!strcmp(given[k], "auto")) continue;
        return reject(err, n_err, "parsing.%s = %s: parsing.data = synthetic makes its own trees; expected auto",
                      keys[k], given[k]);
    }
    if (synthetic && read_synthetic(t, err, n_err)) return -1;
    int all_auto = !strcmp(c->train, "auto") && !strcmp(c->dev, "auto") && !strcmp(c->test, "auto");
    int whole = !synthetic && !wsj && all_auto ? read_whole(t, env, note, sizeof note, err, n_err) : 0;
    if (whole < 0) return -1;
    for (int k = 0; k < AB_SPLITS && !synthetic && !whole; k++)
        if (read_split(t, (ab_split)k, &in, given[k], err, n_err)) return -1;
    t->n_gold = t->split[AB_TRAIN].n;
    split *train = &t->split[AB_TRAIN];
    if (*c->silver && read_files(t, train, &in, "parsing.silver", paths_find, c->silver, 0, err, n_err)) return -1;
    write_sequences(t);
    snprintf(err, n_err, "%s", note);
    size_t used = strlen(err);
    if (t->n_vanished)
        snprintf(err + used, n_err - used, "%strees of empty elements (-NONE-) alone, left out: %lld", used ? "; " : "",
                 (long long)t->n_vanished);
    return 0;
}
