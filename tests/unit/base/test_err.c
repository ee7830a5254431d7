/* test_err.c - an err keeps its first message, takes prefixes, and may be NULL. */
#include "base/base.h"
#include "test.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void first_is_kept(void)
{
    err e = {0};
    CHECK_INT(fail(&e, "a.ini:%d: heads is %s", 3, "many"), -1);
    CHECK_TEXT(e.text, "a.ini:3: heads is many");
    CHECK_INT(fail(&e, "another"), -1);
    CHECK_TEXT(e.text, "a.ini:3: heads is many");
    CHECK_INT(fail(NULL, "nobody asks"), -1);
    err blank = {0};
    fail(&blank, "%s", "");
    CHECK(blank.text[0] != 0);
}

static void prefix(void)
{
    err e = {0};
    fail(&e, "no such key");
    CHECK_INT(fail_in(&e, "%s:%d: ", "b.ini", 7), -1);
    CHECK_TEXT(e.text, "b.ini:7: no such key");
    fail_in(&e, "(%s) ", e.text); /* the argument is the error's own text */
    CHECK_TEXT(e.text, "(b.ini:7: no such key) b.ini:7: no such key");
    CHECK_INT(fail_in(NULL, "x"), -1);
}

static void long_text_is_cut(void)
{
    static char large[5000];
    memset(large, 'x', sizeof large - 1);
    err e = {0};
    fail(&e, "%s", large);
    CHECK_INT(strlen(e.text), sizeof e.text - 1);
    fail_in(&e, "p: ");
    CHECK_INT(strlen(e.text), sizeof e.text - 1);
    CHECK(has_prefix(e.text, "p: xxx"));
}

static void break_it(void) { broken("rank is %d", 9); }
static void ask_for_all_memory(void)
{
    size_t cap = 0;
    grow(NULL, &cap, SIZE_MAX / 2, 8);
}

/* Calls `what` in a child process; returns its exit status, and its output in text [200]. */
static int end_of(void (*what)(void), char *text)
{
    int ends[2], status = 0;
    CHECK_INT(pipe(ends), 0);
    pid_t child = fork();
    if (!child) {
        dup2(ends[1], 2);
        what();
        _exit(0);
    }
    close(ends[1]);
    memset(text, 0, 200);
    for (ssize_t n = 0, got; (got = read(ends[0], text + n, 199 - (size_t)n)) > 0;) n += got;
    close(ends[0]);
    CHECK_INT(waitpid(child, &status, 0), child);
    return status;
}

static void the_program_ends_with_a_sentence(void)
{
    char text[200];
    int status = end_of(break_it, text);
    CHECK(WIFSIGNALED(status));
    CHECK_INT(WTERMSIG(status), SIGABRT);
    CHECK_TEXT(text, "broken: rank is 9\n");
    status = end_of(ask_for_all_memory, text);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 1);
    CHECK_HAS(text, "out of memory: cannot allocate 18446744073709551615 bytes\n");
}

int main(void)
{
    first_is_kept();
    prefix();
    long_text_is_cut();
    the_program_ends_with_a_sentence();
    return test_end();
}
