/* data_fuzz.c - fuzzes corpora: bytes as a corpus in one file, which is split and inspected (`ablate data check`); as a
 * treebank in brackets or XML; as CoNLL-U with coreference. Each is read, or refused with a message. */
#include "file.h"
#include "corpus.h"
#include "network/plugin/plugin.h"
#include "text/data/brackets.h"
#include "text/data/coreference.h"
#include "text/data/inspect.h"
#include <string.h>

static split parts[AB_SPLITS];

static int64_t count(void *self, ab_split s) { return (void)self, parts[s].n; }
static void get(void *self, ab_split s, int64_t i, ab_example *out)
{
    (void)self;
    *out = (ab_example){.src = parts[s].src[i], .tgt = parts[s].tgt[i]};
}

static void table(const char *path)
{
    static const ab_host host = {.read_lines = read_lines_service, .free_lines = free_lines_service};
    static const ab_task_plugin task = {.count = count, .get = get};
    corpus_place at = {.host = &host, .data_dir = "/", .data = "fuzz", .src = "en", .tgt = "de"};
    char why[512] = "", note[512] = "";
    int bad = corpus_read_table(&parts[AB_TRAIN], &at, path, why, sizeof why);
    int64_t read = parts[AB_TRAIN].n;
    if (!bad)
        bad = corpus_split_off(&parts[AB_TRAIN], &parts[AB_DEV], &parts[AB_TEST], "fuzz", NULL, note, sizeof note, why,
                               sizeof why);
    must(!bad || why[0], "refused without a word");
    if (!bad) {
        data_report r;
        str dangers = {0};
        data_inspect(&task, NULL, &r, NULL);
        data_dangers(&r, &dangers);
        str_free(&dangers);
        int64_t pairs = 0;
        for (int s = AB_TRAIN; s < AB_SPLITS; s++) pairs += r.split[s].pairs;
        must(pairs == read, "pairs were lost or made in splitting");
    }
    for (int s = AB_TRAIN; s < AB_SPLITS; s++) split_free(&parts[s], &host), parts[s] = (split){0};
}

static void trees(const uint8_t *data, size_t n)
{
    /* the first line of the fuzzer's bytes has the numbers of articles */
    char *text = malloc(n + 1), *ids = malloc(n + 1);
    if (!text || !ids) abort();
    memcpy(text, data, n);
    text[n] = 0;
    size_t line = strcspn(text, "\n");
    memcpy(ids, text, line);
    ids[line] = 0;
    for (char *p = ids; *p; p++)
        if (*p == ' ') *p = '\n';
    str out = {0};
    err e = {0};
    if (brackets_lines(text, n, &out, &e)) must(e.text[0], "refused without a word");
    e = (err){0};
    if (brackets_genia(text[line] ? text + line + 1 : text + line, ids, &out, &e))
        must(e.text[0], "refused without a word");
    str_free(&out);
    free(text);
    free(ids);
}

static void pronouns(const char *path)
{
    coreference x;
    err e = {0};
    if (coreference_read(path, &x, &e)) {
        must(e.text[0], "refused without a word");
        return;
    }
    for (size_t i = 0; i < x.n_pairs; i++) {
        const anaphor *a = &x.pair[i];
        must(a->sentence < x.n && a->pronoun < x.sentence[a->sentence].n, "a pronoun outside its sentence");
        must(a->antecedent.from < a->antecedent.to && a->antecedent.to <= a->pronoun, "an antecedent elsewhere");
        must(!a->other.to || (a->other.from < a->other.to && a->other.to <= a->pronoun), "another mention elsewhere");
    }
    coreference_free(&x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *path = fuzz_file(data, n);
    table(path);
    pronouns(path);
    trees(data, n);
    return 0;
}
