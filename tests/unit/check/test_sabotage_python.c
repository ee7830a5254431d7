/* The sabotaged plugins' twins in Python, tests/python/sabotage, fail the checks that the plugins in C fail, in equal
 * words but for names of functions. `# says: ` at a twin's beginning stands for words of its own, `# fails: ` for
 * another check. A plugin without a twin is named below with the reason. */
#include "sabotage.h"
#include "network/check/internal.h"
#include "network/plugin/python.h"
#include "base/shell.h"
#include <ctype.h>
#include <unistd.h>

static const struct {
    const char *files, *why;
} without[] = {
    {"kernel_large kernel_mixed kernel_long kernel_past kernel_before kernel_hole kernel_late kernel_day kernel_keeps "
     "wrong_kernel keeps_state hidden_state late_update",
     "operations in Python have no kernel"},
    {"newer_minor older_minor newer_major older_major no_macro",
     "the module exports no symbol, and has the program's version"},
    {"narrow_field overlapping endless_table endless_calls", "the module makes the C structures"},
    {"wrong_gradient",
     "the module lists every operation of a file, so that each is checked on its own: wrong_op_gradient"},
    {"nameless_slots", "a slot is a name"},
    {"uninitialised", "Python has no value without an initialisation"},
    {"task_reuses", "texts do not change"},
    {"task_score task_lowered", "the module adds the examples' numbers up, and the highest score is the best"},
};

static const char *reason(const char *file)
{
    size_t n = strlen(file);
    for (size_t i = 0; i < LENGTH(without); i++)
        for (const char *at = without[i].files; (at = strstr(at, file)); at += n)
            if ((at == without[i].files || at[-1] == ' ') && (!at[n] || at[n] == ' ')) return without[i].why;
    return NULL;
}

/* A message without what C and Python write differently: ab_, AB_, ab. and c. before names, and a C file's line. */
static void plain(str *to, const char *text, const char *file)
{
    static const char *const prefixes[] = {"ab_", "AB_", "ab.", "c."};
    size_t n = strlen(file);
    if (!strncmp(text, file, n) && !strncmp(text + n, ".c:", 3)) {
        text += n + 3 + strspn(text + n + 3, "0123456789");
        text += strspn(text, ": ");
    }
    str_clear(to);
    for (const char *at = text; *at;) {
        size_t skip = 0;
        for (size_t i = 0; i < LENGTH(prefixes) && (at == text || !isalnum((unsigned char)at[-1])); i++)
            if (!strncmp(at, prefixes[i], strlen(prefixes[i]))) skip = strlen(prefixes[i]);
        if (skip)
            at += skip;
        else
            str_addc(to, *at++);
    }
}

/* The rest of the line behind `key`, one of the comments with which the twin begins; NULL: it has none. */
static char *comment(const char *source, const char *key)
{
    size_t n = strlen(key);
    while (*source == '#' && strncmp(source, key, n)) source += strcspn(source, "\n"), source += *source == '\n';
    return *source == '#' ? xstrndup(source + n, strcspn(source + n, "\n")) : NULL;
}

static void check_twin(const sabotage *c, const char *path)
{
    err e = {0};
    str source = {0}, said = {0}, expected = {0};
    check_result r[CHECK_MOST];
    CHECK_INT(file_read(path, &source, &e), 0);
    char *says = comment(str_text(&source), "# says: "), *fails = comment(str_text(&source), "# fails: ");
    const char *check = fails ? fails : c->check, *words = check_sabotage(path, check, &e, r);
    printf("%s: %s: %s\n", c->file, check ? check : "nothing fails", words);
    plain(&said, words, c->file);
    CHECK_THAT(!strstr(words, "ab_") && !strstr(words, "AB_"), "%s: found C's names in \"%s\"\n", c->file, words);
    if (says) CHECK_HAS(words, says);
    for (size_t k = 0; !says && k < LENGTH(c->says) && c->says[k]; k++) {
        char place[64];
        snprintf(place, sizeof place, "%s.c:", c->file);
        if (strstr(c->says[k], place) == c->says[k]) {
            snprintf(place, sizeof place, "%s.py:", c->file);
            CHECK_HAS(words, place);
        }
        plain(&expected, c->says[k], c->file);
        CHECK_HAS(str_text(&said), str_text(&expected));
    }
    free(says);
    free(fails);
    str_free(&source), str_free(&said), str_free(&expected);
}

/* Python starts anew for each, and for its second process before it has run anything. */
static void in_process(const sabotage *c, const char *path)
{
    fflush(NULL);
    pid_t pid = fork();
    if (!pid) {
        test_failed = test_done = 0;
        check_second_start(NULL);
        check_twin(c, path);
        _exit(fflush(NULL) || test_end());
    }
    CHECK_INT(process_wait(pid), 0);
}

int main(int argc, char **argv)
{
    err e = {0};
    use_plugins();
    if (python_find(&e)) return printf("skipped: %s\n", e.text), 77;
    check_given.most_pairings = pairings();
    for (size_t i = 0; i < LENGTH(cases); i++) {
        char path[1024];
        snprintf(path, sizeof path, SOURCE_DIR "/tests/python/sabotage/%s.py", cases[i].file);
        const char *why = reason(cases[i].file);
        bool there = !access(path, R_OK), loads = cases[i].check && same(cases[i].check, "load");
        if (there == (why != NULL))
            printf("%s: %s\n", cases[i].file,
                   there ? "has a twin, and a reason for none" : "has no twin, and no reason");
        CHECK(there == (why == NULL));
        if (there && (argc < 2 ? (test_long() && taken(i)) || loads : same(argv[1], cases[i].file)))
            in_process(&cases[i], path);
    }
    return test_end();
}
