/* test_below.c - names of files and databases: plain words, and paths that stay below a folder. */
#include "base/below.h"
#include "test.h"
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/ablate-test-below-XXXXXX";

static void words(void)
{
    static const char *const plain[] = {"mine", "scaled_dot", "t5", "_", "A"}, *const others[] = {
                                                                                   "",      "a b",  "a/b", "../a",
                                                                                   "a.so",  "a-b",  "a\n", "%s",
                                                                                   "a;b",   "a,b",  ".",   "\xc3\xa9",
                                                                                   " mine", "mine "};
    for (size_t i = 0; i < LENGTH(plain); i++) CHECK_THAT(is_plain_word(plain[i]), "%s", plain[i]);
    for (size_t i = 0; i < LENGTH(others); i++) CHECK_THAT(!is_plain_word(others[i]), "%s", others[i]);
    CHECK_THAT(!is_plain_word(NULL), "NULL");
}

/* Returns 1 if the name became a path, 0 if it was refused with a message. */
static int made(const char *name)
{
    err e = {0};
    char *path = path_below(folder, name, &e);
    CHECK_THAT(!path == !!e.text[0], "%s: path %s, message '%s'", name, path ? path : "none", e.text);
    free(path);
    return path != NULL;
}

static void names(void)
{
    static const char *const stay[] = {"a",   "sub/a", "sub/none/a", "none/a", "a..b",
                                       "...", "..a",   "inward/a",   "file",   "sub/up/a"},
                             *const leave[] = {"",    "/a",    "..",       "../a",   "a/..",    "a/../b", "sub/../../a",
                                               ".",   "./a",   "a/./b",    "a//b",   "a/",      "a\nb",   "a\x1b",
                                               "out", "out/a", "dangling", "sub/up", "out/b/c", "a\x7f"};
    for (size_t i = 0; i < LENGTH(stay); i++) CHECK_THAT(made(stay[i]), "%s: refused", stay[i]);
    for (size_t i = 0; i < LENGTH(leave); i++) CHECK_THAT(!made(leave[i]), "%s: not refused", leave[i]);
    err e = {0};
    path_below("none", "a\x1b[2J", &e);
    CHECK_THAT(!strchr(e.text, 27), "%s", e.text);
    e = (err){0};
    char *path = path_below("no/such/folder", "a/b", &e);
    CHECK_THAT(path && same(path, "no/such/folder/a/b"), "%s", path ? path : e.text);
    free(path);
}

static void places(void)
{
    char *in = path_join(folder, "sub/a"), *beside = xprintf("%s-more/a", folder), *up = path_join(folder, "sub/../..");
    CHECK_THAT(path_is_below(folder, in), "%s", in);
    CHECK_THAT(!path_is_below(folder, folder), "%s itself", folder);
    CHECK_THAT(!path_is_below(folder, beside), "%s", beside);
    CHECK_THAT(!path_is_below(folder, up), "%s", up);
    CHECK_THAT(path_is_below("/", in), "%s below /", in);
    free(in);
    free(beside);
    free(up);
}

int main(void)
{
    CHECK_THAT(mkdtemp(folder) && !chdir(folder), "no folder");
    CHECK_THAT(!mkdir("sub", 0777) && !symlink("..", "sub/up") && !symlink("/tmp", "out") &&
                   !symlink("sub", "inward") && !symlink("none such", "dangling"),
               "no links");
    err e = {0};
    CHECK_THAT(!file_write("file", "x", 1, &e), "%s", e.text);
    words();
    names();
    places();
    char *command = xprintf("rm -rf '%s'", folder);
    CHECK_THAT(!chdir("/") && !system(command), "%s", command);
    free(command);
    return test_end();
}
