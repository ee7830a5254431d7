/* The commands of `ablate score`: each runs in a child with its own standard input and output. */
#include "test.h"
#include "cli/options.h"
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define FOLDER BUILD_DIR "/test_score.files"
static str output, words; /* the last command's standard output and standard error */

static void put(const char *name, const char *text)
{
    char *path = path_join(FOLDER, name);
    CHECK_INT(file_write(path, text, strlen(text), NULL), 0);
    free(path);
}

static void redirect(const char *name, int flags, int to)
{
    char *path = path_join(FOLDER, name);
    int fd = open(path, flags, 0600);
    if (fd < 0 || dup2(fd, to) < 0) _exit(99);
    free(path);
}

/* Functions that set standard input: FOLDER/in, FOLDER/in from its second line on, a socket. */
static void whole(void) { redirect("in", O_RDONLY, 0); }
static void second_line(void)
{
    char c;
    whole();
    while (read(0, &c, 1) == 1 && c != '\n') {}
}
static void by_socket(void)
{
    int end[2];
    str text = {0};
    if (file_read(FOLDER "/in", &text, NULL) || socketpair(AF_UNIX, SOCK_STREAM, 0, end)) _exit(99);
    if (write(end[1], text.s, text.n) != (ssize_t)text.n || close(end[1]) || dup2(end[0], 0) < 0) _exit(99);
}
static void none(void) { close(0); }
static void (*give_input)(void) = whole;

/* Runs a command and returns its exit code; argv ends with NULL. */
static int run(const command *what, char **argv, const char *input)
{
    int argc = 0, status = 0;
    while (argv[argc]) argc++;
    put("in", input);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        give_input();
        redirect("out", O_WRONLY | O_CREAT | O_TRUNC, 1);
        redirect("err", O_WRONLY | O_CREAT | O_TRUNC, 2);
        int code = command_run(what, argc, argv, &(places){0});
        fflush(NULL);
        _exit(code);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_INT(file_read(FOLDER "/out", &output, NULL), 0);
    CHECK_INT(file_read(FOLDER "/err", &words, NULL), 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
extern const command score_bleu_command, score_chrf_command, score_ter_command, score_f1_command;
#define RUN(what, input, ...) run(what, (char *[]){__VA_ARGS__, NULL}, input)

/* The figures are sacreBLEU's (2.6.0). */
static void check_chrf_ter(void)
{
    static char ref[] = FOLDER "/ref", two[] = FOLDER "/two";
    static char hyp[] = "on the mat the cat sits\n";
    put("ref", "the cat is on the mat\n");
    put("two", "a\nb\n");
    CHECK_INT(RUN(&score_chrf_command, hyp, "chrf", "--ref", ref), 0);
    CHECK_HAS(str_text(&output), "chrF2 = 64.69\nnrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:ablate-");
    CHECK_INT(RUN(&score_chrf_command, hyp, "chrf", "--ref", ref, "--word-order", "2", "--json"), 0);
    CHECK_HAS(str_text(&output), "{\"name\":\"chrF2++\",\"score\":66.472047806157");
    CHECK_INT(RUN(&score_ter_command, hyp, "ter", "--ref", ref), 0);
    CHECK_HAS(
        str_text(&output),
        "TER = 33.33 (edits = 2 ref_len = 6)\nnrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:ablate-");
    CHECK_INT(RUN(&score_ter_command, hyp, "ter", "--ref", two), 2);
    CHECK_HAS(str_text(&words), "standard input has 1 lines and " FOLDER "/two has 2");
    CHECK_INT(RUN(&score_chrf_command, hyp, "chrf", "--ref", ref, "--char-order", "0"), 2);
    CHECK_HAS(str_text(&words), "--char-order");
    CHECK_INT(RUN(&score_ter_command, "", "ter", "--ref", ref, "--asean"), 2);
    CHECK_HAS(str_text(&words), "did you mean --asian?");
}

static void check_bleu(void)
{
    static char ref[] = FOLDER "/ref", second[] = FOLDER "/second", bad[] = FOLDER "/bad";
    put("ref", "the cat is on the mat\n");
    put("second", "there is a cat on the mat\n");
    put("bad", "caf\xe9\n");
    /* Papineni et al. 2002: 2 of 7 unigrams match, then 0 of 6, 5, 4 */
    CHECK_INT(
        RUN(&score_bleu_command, "the the the the the the the\n", "bleu", "--ref", ref, "--smooth", "none", "--json"),
        0);
    CHECK_HAS(str_text(&output), "{\"score\":0,\"precisions\":[28.571428571428573,0,0,0],\"counts\":[2,0,0,0],"
                                 "\"totals\":[7,6,5,4],\"bp\":1,\"sys_len\":7,\"ref_len\":6,\"signature\":"
                                 "\"nrefs:1|case:mixed|eff:no|tok:13a|smooth:none|version:ablate-");
    CHECK_TEXT(str_text(&words), "");
    CHECK_INT(
        RUN(&score_bleu_command, "The cat is on the mat", "bleu", "--ref", ref, "--ref", second, "--lc", "--tok=none"),
        0);
    CHECK_HAS(str_text(&output),
              "BLEU = 100.00  100.0/100.0/100.0/100.0 (BP = 1.000 ratio = 1.000 hyp_len = 6 ref_len = 6)");
    CHECK_HAS(str_text(&output), "nrefs:2|case:lc|eff:no|tok:none|smooth:exp|version:ablate-");
    CHECK_INT(RUN(&score_bleu_command, "", "bleu", "--help"), 0);
    CHECK_HAS(str_text(&output), "usage: ablate score bleu --ref FILE");
    CHECK_INT(RUN(&score_bleu_command, "a\nb\n", "bleu", "--ref", ref), 2);
    CHECK_HAS(str_text(&words), "standard input has 2 lines and " FOLDER "/ref has 1");
    CHECK_INT(RUN(&score_bleu_command, "a\n", "bleu", "--ref", bad), 2);
    CHECK_HAS(str_text(&words), FOLDER "/bad:1: column 4: byte 0xe9");
    CHECK_INT(RUN(&score_bleu_command, "a\n", "bleu", "--ref", ref, "--tok", "zhh"), 2);
    CHECK_HAS(str_text(&words), "did you mean \"zh\"?\nusage: ");
    CHECK_INT(RUN(&score_bleu_command, "a\n", "bleu"), 2);
    CHECK_HAS(str_text(&words), "--ref FILE is missing");
    CHECK_INT(RUN(&score_bleu_command, "a\n", "bleu", "--ref", ref, "--smoth", "exp"), 2);
    CHECK_HAS(str_text(&words), "unknown option --smoth; did you mean --smooth?");
    CHECK_INT(RUN(&score_bleu_command, "a\n", "bleu", "--ref"), 2);
    CHECK_HAS(str_text(&words), "--ref needs a value: FILE");
    CHECK_INT(RUN(&score_bleu_command, "a\n", "bleu", "--lc=yes", "--ref", ref), 2);
    CHECK_HAS(str_text(&words), "--lc takes no value");
    CHECK_INT(RUN(&score_bleu_command, "a\n", "bleu", "--ref", FOLDER "/none"), 2);
    CHECK_HAS(str_text(&words), "/none");
    CHECK_TEXT(str_text(&output), "");
}

static void check_f1(void)
{
    static char gold[] = FOLDER "/gold", one[] = FOLDER "/one", bad[] = FOLDER "/bad.ptb",
                params[] = FOLDER "/strict.prm";
    static const char test[] = "(S (NP (NN rain)) (VP (VBZ falls)))\n(S (NN rain) (VBZ falls))\n(S (NN rain))\n\n";
    put("gold", "(S (NP (NN rain)) (VP (VBZ falls)))\n(S (NP (NN rain)) (VP (VBZ falls)))\n"
                "(S (NP (NN rain)) (VP (VBZ falls)))\n(S (NP (NN rain)) (VP (VBZ falls)))\n");
    put("one", "(S (NP (NN rain)) (VP (VBZ falls)))\n");
    put("bad.ptb", "(S (NN rain)\n\n\n\n");
    put("strict.prm", "MAX_ERROR 0\nCUTOFF_LEN 1\n");
    /* matched 3 + 1; gold 3 + 3, found 3 + 1; strictly 4 of 12: 2 * 4 / (12 + 4) */
    CHECK_INT(RUN(&score_f1_command, test, "f1", "--gold", gold, "--json"), 0);
    CHECK_HAS(str_text(&output), "{\"all\":{\"sentences\":4,\"errors\":1,\"skipped\":1,\"valid\":2,\"recall\":"
                                 "66.66666666666667,"
                                 "\"precision\":100,\"f1\":80,\"strict_f1\":50,\"complete\":50,\"crossing\":0,"
                                 "\"no_crossing\":100,\"tagging\":100},\"len40\":{\"sentences\":4,");
    CHECK_TEXT(str_text(&words), "standard input:3: error: 1 words that EVALB counts, but 2 in the gold tree\n"
                                 "standard input:4: skipped: no words that EVALB counts\n");
    CHECK_INT(RUN(&score_f1_command, test, "f1", "--gold", gold), 0);
    CHECK_HAS(str_text(&output), "\n   2    2    0   33.33 100.00     1      3    1      0      2     2   100.00\n");
    CHECK_HAS(str_text(&output), "-- len<=40 --\nNumber of sentence        =      4\n");
    CHECK_HAS(str_text(&output), "Strict Recall             =  33.33\nStrict FMeasure           =  50.00\n");
    CHECK(!strstr(str_text(&output), "-- Labels") && !strstr(str_text(&output), "-- By length"));
    CHECK_INT(RUN(&score_f1_command, test, "f1", "--confusion", "--gold", gold, "--by-length"), 0);
    CHECK_HAS(str_text(&output), "\n1-10         4       2   66.67  100.00   80.00   50.00\n");
    CHECK_HAS(str_text(&output),
              "\nNP               2       1       0       1       1        0   50.00  100.00   66.67\n");
    CHECK_HAS(str_text(&output), "gold -> test: none --\n");
    CHECK_INT(RUN(&score_f1_command, "(S (VP (NN rain)) (NX (VBZ falls)))\n", "f1", "--confusion", "1", "--gold", one),
              0);
    CHECK_HAS(str_text(&output), "      1  NP -> VP\nand 1 more pairs\n");
    CHECK_INT(RUN(&score_f1_command, test, "f1", "--gold", gold, "--json", "--confusion=0", "--by-length"), 0);
    CHECK_HAS(str_text(&output), "},\"by_length\":[{\"words\":\"1-10\",\"sentences\":4,");
    CHECK_HAS(str_text(&output), "],\"labels\":[{\"label\":\"S\",\"gold\":2,");
    CHECK_HAS(str_text(&output), ",\"taken\":[]}\n");
    CHECK_INT(RUN(&score_f1_command, test, "f1", "--gold", gold, "--confusion=many"), 2);
    CHECK_HAS(str_text(&words), "--confusion many: expected a number from 0");
    CHECK_INT(RUN(&score_f1_command, test, "f1", "--gold", gold, "--param", params), 2);
    CHECK_HAS(str_text(&words), "more than MAX_ERROR 0 error sentences; the last one is line 3");
    CHECK_TEXT(str_text(&output), "");
    CHECK_INT(RUN(&score_f1_command, test, "f1", "--gold", gold, "--param", gold), 2);
    CHECK_HAS(str_text(&words), FOLDER "/gold:1: unknown parameter \"(S\"");
    CHECK_INT(RUN(&score_f1_command, test, "f1", "--gold", bad), 2);
    CHECK_HAS(str_text(&words), FOLDER "/bad.ptb: gold trees, line 1: column 1: a bracket that is never closed");
    CHECK_INT(RUN(&score_f1_command, "(S (NN x))\n", "f1", "--gold", gold), 2);
    CHECK_HAS(str_text(&words), "standard input has 1 lines and " FOLDER "/gold has 4;");
    put("empty", "");
    CHECK_INT(RUN(&score_f1_command, "", "f1", "--gold", FOLDER "/empty"), 2);
    CHECK_HAS(str_text(&words), "found no trees");
    CHECK_INT(RUN(&score_f1_command, test, "f1"), 2);
    CHECK_HAS(str_text(&words), "--gold FILE is missing");
    CHECK_INT(RUN(&score_f1_command, test, "f1", "--help"), 0);
    CHECK_HAS(str_text(&output), "usage: ablate score f1 --gold FILE");
}

/* Both commands read standard input, a file or a socket, from its current position. */
static void check_inputs(void)
{
    static char ref[] = FOLDER "/ref", gold[] = FOLDER "/one";
    put("ref", "the cat is on the mat\n");
    give_input = by_socket;
    CHECK_INT(RUN(&score_bleu_command, "the cat is on the mat\n", "bleu", "--ref", ref), 0);
    CHECK_HAS(str_text(&output), "BLEU = 100.00");
    CHECK_INT(RUN(&score_f1_command, "(S (NP (NN rain)) (VP (VBZ falls)))\r\n", "f1", "--gold", gold, "--json"), 0);
    CHECK_HAS(str_text(&output), "\"f1\":100,");
    give_input = second_line;
    CHECK_INT(RUN(&score_bleu_command, "a heading\nthe cat is on the mat\n", "bleu", "--ref", ref), 0);
    CHECK_HAS(str_text(&output), "BLEU = 100.00");
    give_input = none;
    CHECK_INT(RUN(&score_f1_command, "", "f1", "--gold", gold), 2);
    CHECK_HAS(str_text(&words), "score f1: standard input: cannot be read: Bad file descriptor");
    give_input = whole;
    CHECK_INT(RUN(&score_bleu_command, "", "bleu", "--ref", ref), 2);
    CHECK_HAS(str_text(&words), "standard input has 0 lines");
}

int main(void)
{
    static const char *const files[] = {"in",   "out", "err",     "ref",        "second", "bad",
                                        "gold", "one", "bad.ptb", "strict.prm", "empty"};
    CHECK_INT(make_folders(FOLDER, NULL), 0);
    check_bleu();
    check_chrf_ter();
    check_f1();
    check_inputs();
    for (size_t i = 0; i < LENGTH(files); i++) {
        char *path = path_join(FOLDER, files[i]);
        remove(path);
        free(path);
    }
    rmdir(FOLDER);
    str_free(&output);
    str_free(&words);
    return test_end();
}
