/* test_file.c - files are read whole, written all or nothing, split into lines; folders are made. */
#include "base/base.h"
#include "test.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/ablate-test-file-XXXXXX";

/* Returns the path of `name` in the test's folder, valid for the next three calls. */
static const char *in(const char *name)
{
    static char paths[4][300];
    static int turn;
    char *p = paths[turn++ % 4];
    snprintf(p, sizeof paths[0], "%s/%s", folder, name);
    return p;
}

static int count_entries(const char *path)
{
    DIR *d = opendir(path);
    int n = 0;
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return n - 2;
}

static int file_write_plain(const char *path, const char *data, size_t n)
{
    FILE *f = fopen(path, "w");
    size_t done = f ? fwrite(data, 1, n, f) : 0;
    return f && !fclose(f) && done == n ? 0 : 1;
}

static void whole_files(void)
{
    err e = {0};
    str s = {0};
    static char big[300001];
    for (size_t i = 0; i < sizeof big; i++) big[i] = (char)(i * 7);
    CHECK_INT(file_write(in("a"), big, sizeof big, &e), 0);
    CHECK_TEXT(e.text, "");
    CHECK_INT(file_read(in("a"), &s, &e), 0);
    CHECK_INT(s.n, sizeof big);
    CHECK(!memcmp(s.s, big, sizeof big));
    CHECK_INT(s.s[s.n], 0);
    CHECK_INT(file_write(in("a"), "new", 3, &e), 0);
    CHECK_INT(file_read(in("a"), &s, &e), 0);
    CHECK_TEXT(s.s, "new");
    CHECK_INT(file_write(in("none"), "", 0, &e), 0);
    CHECK_INT(file_read(in("none"), &s, &e), 0);
    CHECK_TEXT(str_text(&s), "");
    CHECK_INT(mkfifo(in("pipe"), 0600), 0);
    pid_t child = fork();
    if (!child) _exit(file_write_plain(in("pipe"), big, sizeof big));
    CHECK_INT(file_read(in("pipe"), &s, &e), 0); /* a pipe: its size is 0, and read() returns pieces */
    CHECK_INT(s.n, sizeof big);
    CHECK(!memcmp(s.s, big, sizeof big));
    CHECK_INT(waitpid(child, NULL, 0), child);
    CHECK_INT(unlink(in("pipe")), 0);
    CHECK(file_exists(in("a")) && !file_exists(in("b")) && file_exists(folder));
    CHECK(is_folder(folder) && !is_folder(in("a")) && !is_folder(in("b")));
    CHECK_INT(file_read(in("b"), &s, &e), -1);
    CHECK_HAS(e.text, "/b: cannot be opened: No such file");
    CHECK_TEXT(str_text(&s), "");
    e = (err){0};
    CHECK_INT(file_read(folder, &s, &e), -1);
    CHECK_HAS(e.text, "cannot be read: Is a directory");
    e = (err){0};
    CHECK_INT(file_read("/dev/zero", &s, &e), -1);
    CHECK_TEXT(e.text, "/dev/zero: found a pipe or device of more than 256 MB, expected a file");
    str_free(&s);
}

/* A write that fails leaves the old file and nothing else; a process that reads meanwhile gets the old or the new
 * version, never a mix. */
static void all_or_nothing(void)
{
    err e = {0};
    CHECK_INT(file_write(in("no/where"), "x", 1, &e), -1);
    CHECK_HAS(e.text, "no/where: cannot be written: No such file");
    e = (err){0};
    CHECK_INT(make_folders(in("taken/x"), &e), 0);
    int before = count_entries(folder);
    CHECK_INT(file_write(in("taken"), "x", 1, &e), -1); /* a folder that is not empty cannot be replaced */
    CHECK_HAS(e.text, "taken: cannot be written");
    CHECK_INT(count_entries(folder), before);

    enum { SIZE = 50000 };
    static char data[SIZE];
    memset(data, 'a', SIZE);
    e = (err){0};
    CHECK_INT(file_write(in("w"), data, SIZE, &e), 0);
    pid_t child = fork();
    if (!child) {
        for (int i = 0; i < 200; i++) {
            memset(data, 'a' + i % 26, SIZE);
            if (file_write(in("w"), data, SIZE, NULL)) _exit(1);
        }
        _exit(0);
    }
    int mixed = 0, status = -1;
    str s = {0};
    while (!waitpid(child, &status, WNOHANG)) {
        if (file_read(in("w"), &s, &e)) break;
        mixed += s.n != SIZE || s.s[0] != s.s[SIZE - 1] || s.s[0] != s.s[SIZE / 2];
    }
    CHECK_INT(status, 0);
    CHECK_INT(mixed, 0);
    CHECK_TEXT(e.text, "");
    str_free(&s);
    CHECK_INT(count_entries(folder), before + 1);
}

/* A path that is no regular file is written in place. Writing to a link replaces the file that the link points to; the
 * link stays. */
static void through_links(void)
{
    err e = {0};
    str s = {0};
    char text[20] = "";
    struct stat info, before;
    CHECK_INT(mkfifo(in("fifo"), 0600), 0);
    int fd = open(in("fifo"), O_RDWR | O_CLOEXEC); /* so that written bytes stay until they are read */
    CHECK(fd >= 0);
    CHECK_INT(file_write(in("fifo"), "through", 7, &e), 0);
    CHECK_TEXT(e.text, "");
    CHECK(!lstat(in("fifo"), &info) && S_ISFIFO(info.st_mode));
    if (S_ISFIFO(info.st_mode)) CHECK_INT(read(fd, text, sizeof text), 7);
    CHECK_TEXT(text, "through");
    CHECK_INT(close(fd), 0);

    CHECK_INT(make_folders(in("far"), &e), 0);
    CHECK_INT(file_write(in("far/file"), "a longer one", 12, &e), 0);
    CHECK_INT(symlink("far/file", in("near")), 0);
    CHECK_INT(symlink("near", in("chain")), 0);
    CHECK_INT(symlink("far/new", in("dangling")), 0);
    CHECK_INT(stat(in("far/file"), &before), 0);
    CHECK_INT(file_write(in("chain"), "new", 3, &e), 0);
    CHECK(!lstat(in("chain"), &info) && S_ISLNK(info.st_mode));
    CHECK(!lstat(in("near"), &info) && S_ISLNK(info.st_mode));
    CHECK(!lstat(in("far/file"), &info) && S_ISREG(info.st_mode) && info.st_ino != before.st_ino);
    CHECK_INT(file_read(in("far/file"), &s, &e), 0);
    CHECK_TEXT(s.s, "new");
    CHECK_INT(file_write(in("dangling"), "first", 5, &e), 0);
    CHECK(!lstat(in("dangling"), &info) && S_ISLNK(info.st_mode));
    CHECK_INT(file_read(in("far/new"), &s, &e), 0);
    CHECK_TEXT(str_text(&s), "first");
    CHECK_INT(count_entries(in("far")), 2);
    CHECK_TEXT(e.text, "");
    CHECK_INT(symlink("/dev/full", in("full")), 0);
    CHECK_INT(file_write(in("full"), "x", 1, &e), -1);
    CHECK_HAS(e.text, "/full: cannot be written: No space left");
    CHECK(!lstat(in("full"), &info) && S_ISLNK(info.st_mode));
    str_free(&s);
}

static void lines_of(const char *text, size_t size, const char *joined)
{
    err e = {0};
    str raw = {0}, b = {0};
    char **lines;
    size_t n;
    CHECK_INT(file_write(in("lines"), text, size, &e), 0);
    CHECK_INT(file_lines(in("lines"), &raw, &lines, &n, &e), 0);
    for (size_t i = 0; i < n; i++) str_addf(&b, "[%s]", lines[i]);
    CHECK_TEXT(str_text(&b), joined);
    CHECK(lines != NULL);
    free(lines);
    str_free(&raw);
    str_free(&b);
}

static void lines(void)
{
#define LINES(text, joined) lines_of(text, sizeof(text) - 1, joined)
    LINES("", "");
    LINES("\n", "[]");
    LINES("\r\n", "[]");
    LINES("one\ntwo\n", "[one][two]");
    LINES("one\ntwo", "[one][two]");
    LINES("one\r\ntwo\r\n", "[one][two]");
    LINES("one\r\ntwo\r", "[one][two]");
    LINES("one\rtwo\n", "[one\rtwo]");
    LINES("one\n\n\nfour\n\n", "[one][][][four][]");
    LINES("\xc3\xa4 \xc2\x85 \xe2\x80\xa8 b\n",
          "[\xc3\xa4 \xc2\x85 \xe2\x80\xa8 b]"); /* Unicode's line separators do not split lines */
    err e = {0};
    str raw = {0};
    char **list;
    size_t n;
    CHECK_INT(file_write(in("zero"), "a\nb\0c\n", 6, &e), 0);
    CHECK_INT(file_lines(in("zero"), &raw, &list, &n, &e), -1);
    CHECK_HAS(e.text, "zero:2: found a zero byte");
    CHECK(!list && !n);
    e = (err){0};
    CHECK_INT(file_lines(in("absent"), &raw, &list, &n, &e), -1);
    CHECK_HAS(e.text, "absent: cannot be opened");
    CHECK(!list && !n);
    str_free(&raw);
}

static void folders(void)
{
    err e = {0};
    CHECK_INT(make_folders(in("x/y//z/"), &e), 0);
    CHECK(is_folder(in("x/y/z")));
    CHECK_INT(make_folders(in("x/y/z"), &e), 0);
    CHECK_INT(make_folders("/", &e), 0);
    CHECK_INT(make_folders(in("a/b"), &e), -1);
    CHECK_HAS(e.text, "/a: folder cannot be made");
    e = (err){0};
    CHECK_INT(make_folders("", &e), -1);
    CHECK(e.text[0] != 0);
    static const struct {
        const char *a, *b, *whole;
    } cases[] = {{"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"a", "/b", "/b"},
                 {"", "b", "b"},    {"a", "", "a"},     {"/", "b", "/b"}};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        char *p = path_join(cases[i].a, cases[i].b);
        CHECK_TEXT(p, cases[i].whole);
        free(p);
    }
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    whole_files();
    all_or_nothing();
    through_links();
    lines();
    folders();
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK_INT(system(command), 0);
    return test_end();
}
