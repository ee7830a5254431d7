/* image.c - grey images as sequences of pixels for decoder-only models: each pixel is predicted from those before it in
 * row-major order (van den Oord et al. 2016, "Pixel recurrent neural networks"; Parmar et al. 2018, "Image
 * Transformer").
 *
 * A line is an image: its class, if there are labels (given, not predicted), then a word per pixel, its grey level. All
 * images have the same size, so no end is predicted, and bits per dimension is the perplexity's logarithm. */
#include "ab_plugin.h"
#include "read.h"
#include "tasks/lines.h"
#include "tasks/path.h"
#include "tasks/random.h"
#include "tasks/reject.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALL = -1, SYMBOL = 8 /* SYMBOL: bytes of a word */ };

typedef struct {
    const char *file[AB_SPLITS], *labels[AB_SPLITS];
    double dev_part, test_part;
    int64_t data_seed, levels, max;
} config;

#define AT(field) offsetof(config, field)
static const ab_option params[] = {
    {"data", AB_TEXT, AT(file[AB_TRAIN]), 0, 0, 0, "digits/images.idx",
     "images to train on: IDX (MNIST's format) or PGM files joined by +, or a folder of PGM files, in the data folder "
     "unless they begin with / or ."},
    {"dev", AB_TEXT, AT(file[AB_DEV]), 0, 0, 0, "", "images to validate on, as for data; empty: `dev_part` of data"},
    {"test", AB_TEXT, AT(file[AB_TEST]), 0, 0, 0, "",
     "images to test on, as for data; empty: `test_part` of data, or dev is scored instead"},
    {"labels", AB_TEXT, AT(labels[AB_TRAIN]), 0, 0, 0, "",
     "classes of the images of data: IDX files of one dimension, joined by +; each image then begins with its class "
     "(=0, =1, ...), which is given, not predicted"},
    {"dev_labels", AB_TEXT, AT(labels[AB_DEV]), 0, 0, 0, "", "classes of the images of dev"},
    {"test_labels", AB_TEXT, AT(labels[AB_TEST]), 0, 0, 0, "", "classes of the images of test"},
    {"dev_part", AB_REAL, AT(dev_part), 0.1, 0.0001, 0.9, NULL, "share of data drawn for validation [part]"},
    {"test_part", AB_REAL, AT(test_part), 0.1, 0, 0.9, NULL, "share of data drawn for the test; 0: no test [part]"},
    {"data_seed", AB_INT, AT(data_seed), 1, 0, 4294967295.0, "run", "seed of these draws; run = the run's own seed"},
    {"levels", AB_INT, AT(levels), ALL, 2, 65536, "all",
     "grey levels after quantisation: value v becomes v levels / (white + 1), rounded down [levels]; all = white + 1"},
    {"max", AB_INT, AT(max), 0, 0, 65535, NULL,
     "the value of white; 0: 255 for IDX, the header's value for PGM [grey value]"},
    {0}};

typedef struct {
    lines_task base; /* lines without src; symbols: "0" .. levels - 1, then "=0", "=1" ... for the classes */
    config c;
    int64_t height, width;
} task;
typedef struct { /* a split's files as read */
    images x;
    classes y;
} part;

static const char *const split_names[AB_SPLITS] = {"data", "dev", "test"}, *const label_names[AB_SPLITS] = {
                                                                               "labels", "dev_labels", "test_labels"};

/* ---- reading ---- */

/* Reads the files that `names` lists: files of images, or, if y is given, of their classes. */
static int read_files(const char *key, const char *names, const ab_env *env, images *x, classes *y, char *err,
                      size_t n_err)
{
    for (const char *name = names;; name++) {
        int length = (int)strcspn(name, "+");
        char path[PATH_BYTES];
        data_path(path, env->data_dir, name, length);
        if (!length || access(path, F_OK))
            return reject(err, n_err, "no file %s (image.%s = %s; data folder %s)%s", path, key, names, env->data_dir,
                          strcmp(names, "digits/images.idx") ? "" : "; experiments/tasks/digits.py writes it");
        if (y ? classes_read(y, path, err, n_err) : images_read(x, path, err, n_err)) return -1;
        name += length;
        if (!*name) return 0;
    }
}

static int read_part(const config *c, ab_split s, const ab_env *env, part *to, char *err, size_t n_err)
{
    if (read_files(split_names[s], c->file[s], env, &to->x, NULL, err, n_err)) return -1;
    if (!*c->labels[AB_TRAIN] != !*c->labels[s])
        return reject(err, n_err, "image.%s = %s, but image.%s = %s: expected classes for both or for neither",
                      label_names[AB_TRAIN], c->labels[AB_TRAIN], label_names[s], c->labels[s]);
    if (!*c->labels[s]) return 0;
    if (read_files(label_names[s], c->labels[s], env, NULL, &to->y, err, n_err)) return -1;
    if (to->x.n == to->y.n) return 0;
    return reject(err, n_err, "image.%s = %s: found %lld labels, expected %lld as %s has images", label_names[s],
                  c->labels[s], (long long)to->y.n, (long long)to->x.n, c->file[s]);
}

/* Reads data, and dev and test if they have files. */
static int read_parts(const config *c, const ab_env *env, part p[AB_SPLITS], char *err, size_t n_err)
{
    for (int s = 0; s < AB_SPLITS; s++) {
        const images *train = &p[AB_TRAIN].x;
        if (!*c->file[s] && s) {
            if (!*c->labels[s]) continue;
            return reject(err, n_err, "image.%s = %s, but image.%s is empty", label_names[s], c->labels[s],
                          split_names[s]);
        }
        p[s].x = (images){.levels = s ? train->levels : c->levels == ALL ? 0 : c->levels, .max = c->max};
        if (read_part(c, (ab_split)s, env, &p[s], err, n_err)) return -1;
        if (p[s].x.height == train->height && p[s].x.width == train->width) continue;
        return reject(err, n_err, "%s: found images of %lld rows of %lld pixels, expected %lld of %lld as in %s",
                      p[s].x.first, (long long)p[s].x.height, (long long)p[s].x.width, (long long)train->height,
                      (long long)train->width, train->first);
    }
    return 0;
}

/* ---- lines ---- */

static void add_line(const task *t, lines *to, const part *p, int64_t i)
{
    enum { WIDEST = SYMBOL + 1 };
    int64_t pixels = p->x.height * p->x.width;
    const uint16_t *level = p->x.level + i * pixels;
    char *line = need(malloc((size_t)(pixels + 1) * WIDEST)), *at = line;
    if (p->y.n) at += sprintf(at, "%s ", t->base.symbol[t->c.levels + p->y.class[i]]);
    for (int64_t k = 0; k < pixels; k++) at += sprintf(at, "%s ", t->base.symbol[level[k]]);
    at[-1] = 0;
    lines_add(to, NULL, need(realloc(line, (size_t)(at - line))));
}

/* Draws each image's split [n]: shares of the images of data, without replacement, go to dev and test if these have no
 * files. */
static uint8_t *draw_splits(const config *c, int64_t n, uint64_t seed, int64_t size[AB_SPLITS])
{
    uint8_t *to = need(calloc((size_t)n + 1, 1));
    int64_t *order = need(malloc((size_t)(n + 1) * sizeof *order)), used = 0;
    random_order(&seed, n, order);
    size[AB_TEST] = *c->file[AB_TEST] ? 0 : (int64_t)llround((double)n * c->test_part);
    size[AB_DEV] = *c->file[AB_DEV] ? 0 : (int64_t)llround((double)n * c->dev_part);
    size[AB_TRAIN] = n - size[AB_TEST] - size[AB_DEV];
    for (int s = AB_TEST; s > AB_TRAIN; s--)
        for (int64_t i = 0; i < size[s] && used < n; i++) to[order[used++]] = (uint8_t)s;
    free(order);
    return to;
}

static int make_splits(task *t, const part p[AB_SPLITS], uint64_t seed, char *err, size_t n_err)
{
    const config *c = &t->c;
    int64_t n = p[AB_TRAIN].x.n, size[AB_SPLITS];
    uint8_t *to = draw_splits(c, n, seed, size);
    if (size[AB_TRAIN] < 1 || (!*c->file[AB_DEV] && !size[AB_DEV]) ||
        (!*c->file[AB_TEST] && c->test_part > 0 && !size[AB_TEST])) {
        free(to);
        return reject(err, n_err,
                      "image.data = %s: %lld images leave %lld to train on, %lld for dev and %lld for the test "
                      "(image.dev_part = %g, test_part = %g); expected at least one of each",
                      c->file[AB_TRAIN], (long long)n, (long long)size[AB_TRAIN], (long long)size[AB_DEV],
                      (long long)size[AB_TEST], c->dev_part, c->test_part);
    }
    for (int s = 0; s < AB_SPLITS; s++) lines_reserve(&t->base.split[s], s && *c->file[s] ? p[s].x.n : size[s]);
    for (int64_t i = 0; i < n; i++) add_line(t, &t->base.split[to[i]], &p[AB_TRAIN], i);
    for (int s = AB_DEV; s < AB_SPLITS; s++)
        for (int64_t i = 0; i < p[s].x.n; i++) add_line(t, &t->base.split[s], &p[s], i);
    free(to);
    return 0;
}

static void describe_splits(const task *t, char *line, size_t n_line)
{
    static const char drawn[] = " (drawn from it)";
    const config *c = &t->c;
    const lines *split = t->base.split;
    snprintf(line, n_line, "%s: images of %lld rows of %lld pixels: train %lld, dev %lld%s, test %lld%s",
             c->file[AB_TRAIN], (long long)t->height, (long long)t->width, (long long)split[AB_TRAIN].n,
             (long long)split[AB_DEV].n, *c->file[AB_DEV] ? "" : drawn, (long long)split[AB_TEST].n,
             *c->file[AB_TEST] || !split[AB_TEST].n ? "" : drawn);
}

static void make_symbols(task *t, int64_t n_classes)
{
    t->base.symbol = number_words(t->c.levels, n_classes);
    t->base.n_symbols = t->c.levels;
    for (int i = 0; i < n_classes; i++) {
        char word[SYMBOL];
        snprintf(word, sizeof word, "=%d", i & UINT8_MAX);
        t->base.symbol[t->base.n_symbols++] = need(strdup(word));
    }
}

/* ---- the task ---- */

static int read_all(task *t, const ab_env *env, char *err, size_t n_err)
{
    part p[AB_SPLITS] = {0};
    int64_t n_classes = 0;
    int bad = read_parts(&t->c, env, p, err, n_err);
    for (int s = 0; s < AB_SPLITS; s++)
        for (int64_t i = 0; i < p[s].y.n; i++)
            if (p[s].y.class[i] >= n_classes) n_classes = p[s].y.class[i] + 1;
    t->c.levels = p[AB_TRAIN].x.levels;
    t->height = p[AB_TRAIN].x.height, t->width = p[AB_TRAIN].x.width;
    if (!bad) make_symbols(t, n_classes);
    bad = bad || make_splits(t, p, lines_seed(t->c.data_seed, env), err, n_err);
    for (int s = 0; s < AB_SPLITS; s++) images_free(&p[s].x), classes_free(&p[s].y);
    if (!bad) describe_splits(t, err, n_err);
    return bad ? -1 : 0;
}

static int open_task(void **self, const void *cfg, const ab_host *host, const ab_env *env, char *err, size_t n_err)
{
    (void)host;
    task *t = need(calloc(1, sizeof *t));
    t->c = *(const config *)cfg;
    if (!env->no_data && read_all(t, env, err, n_err)) {
        lines_close(t);
        return -1;
    }
    *self = t;
    return 0;
}

static void vocabs(void *self, ab_vocabs *v)
{
    const task *t = self;
    lines_vocabs(self, v);
    v->given = *t->c.labels[AB_TRAIN] != 0;
    v->endless = 1;
}

/* stats [n][2] of each image: its bits / 100, because a ratio is multiplied by 100; its pixels. */
static int score(void *self, ab_split s, const ab_likelihood *x, int64_t n, ab_metric *out, int max, char *err,
                 size_t n_err)
{
    static const double bits = 1.4426950408889634; /* 1 / ln 2 */
    task *t = self;
    double pixels = 0;
    double *stats = t->base.stats = need(realloc(t->base.stats, (size_t)n * 2 * sizeof *stats + 1));
    for (int64_t i = 0; i < n; i++) {
        stats[2 * i] = -x[i].log_likelihood * bits / 100;
        pixels += stats[2 * i + 1] = (double)x[i].tokens;
    }
    if (!(pixels > 0)) return reject(err, n_err, "no pixel of %s to score", split_names[s]);
    if (max < 1) return 0;
    char how[sizeof out[0].signature];
    snprintf(how, sizeof how, "-log2 p of each pixel, row-major, %lld x %lld, %lld levels%s; %s", (long long)t->height,
             (long long)t->width, (long long)t->c.levels, *t->c.labels[AB_TRAIN] ? ", given the class" : "",
             s == AB_TRAIN ? "train" : split_names[s]);
    out[0] = ratio_metric("bits_per_dim", "bits/dim", how, stats, n);
    out[0].better = AB_LOWER;
    return 1;
}

static const ab_task_plugin self = LINES_TASK(open_task, vocabs, score);

AB_PLUGIN(config, params, &self, .name = "image",
          .doc = "grey images from IDX or PGM files, pixel by pixel in row-major order, for decoder-only models; "
                 "scored by bits per dimension",
          .paper = "van den Oord et al. 2016; Parmar et al. 2018", .version = "1.0");
