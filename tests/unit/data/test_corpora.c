/* test_corpora.c - downloading corpora from a small web server in this test: checksums, resuming, refusals, the
 * command. */
#include "text/data/brackets.h"
#include "text/data/corpora.h"
#include "text/data/fetch.h"
#include "test.h"
#include <arpa/inet.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a web server for the files of a folder; a file there says how it behaves, so that the test can change it ---- */

enum { GOOD, NO_RANGES, CUT_SHORT }; /* CUT_SHORT: hangs up after half of each answer */

static void answer(int to, const char *root, int how)
{
    char request[4096] = "", path[1024] = "";
    size_t n = 0;
    while (n + 1 < sizeof request && !strstr(request, "\r\n\r\n")) {
        ssize_t got = read(to, request + n, sizeof request - 1 - n);
        if (got <= 0) return;
        request[n += (size_t)got] = 0;
    }
    long from = 0;
    const char *range = strstr(request, "Range: bytes=");
    if (range && how != NO_RANGES) from = atol(range + strlen("Range: bytes="));
    if (sscanf(request, "GET /%1023s ", path) != 1) return;
    char *file = xprintf("%s/%s", root, path);
    str body = {0}, head = {0};
    bool found = !file_read(file, &body, NULL);
    if (!found)
        str_add(&head, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    else if (from > (long)body.n)
        from = (long)body.n;
    char *starts = xprintf("%s.starts", root);
    FILE *log = fopen(starts, "a");
    if (log) fprintf(log, "%ld ", from), fclose(log);
    free(starts);
    size_t left = found ? body.n - (size_t)from : 0;
    if (found && from)
        str_addf(&head, "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes %ld-%zu/%zu\r\n", from, body.n - 1,
                 body.n);
    else if (found)
        str_add(&head, "HTTP/1.1 200 OK\r\n");
    if (found) str_addf(&head, "Content-Length: %zu\r\nConnection: close\r\n\r\n", left);
    ssize_t put = write(to, head.s, head.n);
    size_t send = how == CUT_SHORT ? left / 2 : left;
    for (size_t done = 0; put > 0 && done < send; done += (size_t)put)
        put = write(to, body.s + from + done, send - done);
    free(file);
    str_free(&body);
    str_free(&head);
}

static pid_t serve(const char *root, int how, int *port)
{
    int door = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    CHECK(!bind(door, (struct sockaddr *)&at, n) && !listen(door, 8) && !getsockname(door, (struct sockaddr *)&at, &n));
    *port = ntohs(at.sin_port);
    pid_t child = fork();
    if (child) {
        close(door);
        return child;
    }
    signal(SIGPIPE, SIG_IGN);
    for (;;) {
        int to = accept(door, NULL, NULL);
        if (to < 0) _exit(1);
        answer(to, root, how);
        close(to);
    }
}

static pid_t server;
static char *mirror;

static void start(const char *root, int how)
{
    int port;
    server = serve(root, how, &port);
    free(mirror);
    mirror = xprintf("http://127.0.0.1:%d", port);
    setenv("ABLATE_DATA_MIRROR", mirror, 1);
}

static void stop(void)
{
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
}

/* ---- downloading one corpus ---- */

static void sh(const char *command)
{
    int status = system(command);
    if (status) printf("%s: status %d\n", command, status);
    CHECK_INT(status, 0);
}

static download about(const char *root, const char *url, char sum[65])
{
    char *path = xprintf("%s/%s", root, strstr(url, "://") + 3);
    struct stat info = {0};
    err e = {{0}};
    CHECK_INT(stat(path, &info), 0);
    CHECK_INT(sha256_file(path, sum, &e), 0);
    free(path);
    return (download){url, info.st_size, sum};
}

static void check_file(const char *dir, const char *name, const char *expected)
{
    char *path = path_join(dir, name);
    str text = {0};
    err e = {{0}};
    CHECK_INT(file_read(path, &text, &e), 0);
    CHECK_TEXT(str_text(&text), expected);
    str_free(&text);
    free(path);
}

static void remove_file(const char *dir, const char *name)
{
    char *path = path_join(dir, name);
    CHECK_INT(unlink(path), 0);
    free(path);
}

/* Downloads a corpus of the real table; returns 1 if that failed. */
static int get(const char *dir, const char *name)
{
    err e = {{0}};
    for (int i = 0; i < n_known_corpora; i++)
        if (same(known_corpora[i].name, name)) return corpus_get(&known_corpora[i], dir, &e) ? 1 : 0;
    return 2;
}

static void test_get(const char *dir)
{
    char *root = path_join(dir, "web"), *data = path_join(dir, "data");
    char *make = xprintf("mkdir -p %s/a.org/x %s/b.org && cd %s && mkdir t && printf 'one\\ntwo\\n' >t/p.en "
                         "&& printf 'eins\\nzwei\\n' >t/p.de"
                         " && printf 'three\\n' | gzip >q.en.gz && printf 'drei\\n' | gzip >q.de.gz && tar "
                         "-czf a.org/x/p.tgz t"
                         " && tar -cf a.org/x/q.tar q.en.gz q.de.gz && printf 'dev\\n' >b.org/dev.en && "
                         "printf 'Dev\\n' | gzip >b.org/dev.de.gz",
                         root, root, root);
    sh(make);
    char sum[4][65], wrong_sum[65];
    download p = about(root, "https://a.org/x/p.tgz", sum[0]), q = about(root, "http://a.org/x/q.tar", sum[1]);
    download dev_en = about(root, "https://b.org/dev.en", sum[2]),
             dev_de = about(root, "https://b.org/dev.de.gz", sum[3]);
    const piece pieces[] = {
        {"train.en", &p, "t/p.en", false}, {"train.en", &q, "q.en.gz", true}, {"train.de", &p, "t/p.de", false},
        {"train.de", &q, "q.de.gz", true}, {"dev.en", &dev_en, NULL, false},  {"dev.de", &dev_de, NULL, true},
    };
    const corpus c = {"mine", "a test", "none", pieces, LENGTH(pieces), NULL};
    CHECK_INT(corpus_download_bytes(&c), p.bytes + q.bytes + dev_en.bytes + dev_de.bytes);
    int here, all;
    corpus_state(&c, data, &here, &all);
    CHECK_INT(here, 0);
    CHECK_INT(all, 4);

    start(root, GOOD);
    err e = {{0}};
    CHECK_INT(corpus_get(&c, data, &e), 0);
    CHECK_TEXT(e.text, "");
    check_file(data, "mine/train.en", "one\ntwo\nthree\n");
    check_file(data, "mine/train.de", "eins\nzwei\ndrei\n");
    check_file(data, "mine/dev.en", "dev\n");
    check_file(data, "mine/dev.de", "Dev\n");
    corpus_state(&c, data, &here, &all);
    CHECK_INT(here, 4);
    char *left = xprintf("test -z \"$(find %s -name '*.part' -o -name '*.scratch')\"", data);
    sh(left);

    /* Archives are kept: without a server a lost text file is restored, and existing files stay unchanged. */
    stop();
    remove_file(data, "mine/train.de");
    char *killed = path_join(data, "mine/train.en.part"); /* a part file that a killed call left behind */
    CHECK_INT(file_write(killed, "a\nb\nc\n", 6, &e), 0);
    CHECK_INT(corpus_get(&c, data, &e), 0);
    CHECK_INT(corpus_get(&c, data, &e), 0);
    check_file(data, "mine/train.de", "eins\nzwei\ndrei\n");
    check_file(data, "mine/train.en", "one\ntwo\nthree\n");
    sh(left);
    free(killed);

    /* No network. */
    remove_file(data, "mine/dev.en");
    remove_file(data, "downloads/b.org_dev.en");
    CHECK_INT(corpus_get(&c, data, &e), -1);
    CHECK_HAS(e.text, "cannot get http://127.0.0.1:");
    CHECK_HAS(e.text, "/b.org/dev.en: ");
    CHECK_HAS(e.text, "is there a network? $ABLATE_DATA_MIRROR sets another source");

    /* The server lacks a file. */
    start(root, GOOD);
    e.text[0] = 0;
    download lost = {"https://b.org/lost.en", 4, sum[2]};
    const piece one[] = {{"dev.en", &lost, NULL, false}};
    CHECK_INT(corpus_get(&(corpus){"lost", "", "", one, 1, NULL}, data, &e), -1);
    CHECK_HAS(e.text, "/b.org/lost.en: ");
    CHECK_HAS(e.text, "404");

    /* A wrong checksum: the message names both sums, and no file remains. */
    e.text[0] = 0;
    memcpy(wrong_sum, sum[2], 65);
    wrong_sum[0] = wrong_sum[0] == '0' ? '1' : '0';
    download wrong = {"https://b.org/dev.en", dev_en.bytes, wrong_sum};
    const piece two[] = {{"dev.en", &wrong, NULL, false}};
    const corpus bad = {"bad", "", "", two, 1, NULL};
    CHECK_INT(corpus_get(&bad, data, &e), -1);
    CHECK_HAS(e.text, "wrong checksum");
    CHECK_HAS(e.text, sum[2]);
    CHECK_HAS(e.text, wrong_sum);
    corpus_state(&bad, data, &here, &all);
    CHECK_INT(here, 0);
    sh(left);

    /* An archive lacks the member; the two sides have different numbers of lines. */
    e.text[0] = 0;
    const piece none[] = {{"train.en", &p, "t/none.en", false}};
    CHECK_INT(corpus_get(&(corpus){"none", "", "", none, 1, NULL}, data, &e), -1);
    CHECK_HAS(e.text, "t/none.en: tar failed");
    e.text[0] = 0;
    const piece unlike[] = {{"train.en", &p, "t/p.en", false}, {"train.de", &q, "q.de.gz", true}};
    CHECK_INT(corpus_get(&(corpus){"unlike", "", "", unlike, 2, NULL}, data, &e), -1);
    CHECK_HAS(e.text, "train.de has 1 lines, but train.en, its other side, has 2");
    corpus_state(&(corpus){"unlike", "", "", unlike, 2, NULL}, data, &here, &all);
    CHECK_INT(here, 0);
    stop();
    free(root);
    free(data);
    free(make);
    free(left);
}

/* ---- treebanks ---- */

static const char xml[] =
    "<a><PubmedArticle><PMID>7</PMID><sentence id=\"S1\"><cons cat=\"S\"><cons cat=\"NP\" role=\"SBJ\">"
    "<tok cat=\"NN\">cell A (x)</tok></cons> "
    "<cons cat=\"VP\"><tok cat=\"VBZ\">&lt; B</tok><cons cat=\"NP\" null=\"NONE\"></cons><cons "
    "cat=\"X\"/></cons>"
    "<tok cat=\"PERIOD\">.</tok></cons></sentence></PubmedArticle>\n"
    "<PubmedArticle><PMID>12</PMID><sentence><tok cat=\"LRB\">(</tok></sentence></PubmedArticle></a>";

static void check_brackets(const char *text, const char *expected, const char *words)
{
    str out = {0};
    err e = {{0}};
    CHECK_INT(brackets_lines(text, strlen(text), &out, &e), words ? -1 : 0);
    if (!words) CHECK_TEXT(str_text(&out), expected);
    if (words) CHECK_TEXT(e.text, words);
    str_free(&out);
}

static void check_genia(const char *text, const char *ids, const char *expected, const char *words)
{
    str out = {0};
    err e = {{0}};
    CHECK_INT(brackets_genia(text, ids, &out, &e), words ? -1 : 0);
    if (!words) CHECK_TEXT(str_text(&out), expected);
    if (words) CHECK_HAS(e.text, words);
    str_free(&out);
}

static void test_brackets(void)
{
    check_brackets("( (S\n  (NP (NN  a\xe2\x80\x89 ) ) ) )\n\n(X b)", "( (S (NP (NN a))))\n(X b)\n", NULL);
    check_brackets("", "", NULL);
    check_brackets("(A b)\n)", NULL, "line 2: ')' outside brackets");
    check_brackets("(A b)\nc", NULL, "line 2: 'c' outside brackets");
    check_brackets("(A (B c)\n", NULL, "line 2: the text ends in a tree with 1 open bracket");
    check_genia(xml, "012\n7\n", "(TOP (-LRB- -LRB-))\n(TOP (S (NP (NN cell_A_-LRB-x-RRB-)) (VP (VBZ <_B)) (. .)))\n",
                NULL);
    check_genia(xml, "8\n", NULL, "article 8 is missing");
    check_genia("<PMID>1</PMID><sentence><cons cat=\"S\"></sentence></PubmedArticle>", "1", NULL,
                "article 1: elements do not nest");
    check_genia("<PMID>1</PMID><sentence></cons></sentence></PubmedArticle>", "1", NULL,
                "article 1: elements do not nest");
}

/* Treebanks are converted after download, and the result is checked. */
static void test_treebanks(const char *dir)
{
    char *root = path_join(dir, "trees"), *data = path_join(dir, "banks"), sum[5][65];
    char *make = xprintf("mkdir -p %s/a.org/t/G && cd %s/a.org && printf '( (S\\n (A b)) )\\n' >one && "
                         "printf '(X\\n y)' >two && printf '7\\n' >list"
                         " && printf '(TOP (S (NP (NN cell_A_-LRB-x-RRB-)) (VP (VBZ <_B)) (. .)))\\n' >genia "
                         "&& printf '( (S (A b)))\\n(X y)\\n' >trees",
                         root, root);
    sh(make);
    err e = {{0}};
    char *article = xprintf("%s/a.org/t/G/7.xml", root),
         *pack = xprintf("tar -czf %s/a.org/g.tgz -C %s/a.org/t G", root, root);
    CHECK_INT(file_write(article, xml, strlen(xml), &e), 0);
    sh(pack);
    download one = about(root, "https://a.org/one", sum[0]), two = about(root, "https://a.org/two", sum[1]);
    download tgz = about(root, "https://a.org/g.tgz", sum[2]), list = about(root, "https://a.org/list", sum[3]);
    const piece lines[] = {
        {"train.ptb", &one, NULL, false}, {"train.ptb", &two, NULL, false}, {"LICENSE.txt", &list, NULL, false}};
    const piece folder[] = {{"dev.ptb", &tgz, "G", false}};
    char trees_sum[65], genia_sum[65];
    about(root, "https://a.org/trees", trees_sum), about(root, "https://a.org/genia", genia_sum);
    const tree_file train = {"train.ptb", trees_sum, NULL}, dev = {"dev.ptb", genia_sum, &list},
                    wrong = {"train.ptb", genia_sum, NULL};
    const tree_form plain = {FORM_BRACKETS, &train, 1}, genia = {FORM_GENIA, &dev, 1},
                    other = {FORM_BRACKETS, &wrong, 1};
    start(root, GOOD);
    CHECK_INT(corpus_get(&(corpus){"plain", "", "", lines, 3, &plain}, data, &e), 0);
    CHECK_INT(corpus_get(&(corpus){"xml", "", "", folder, 1, &genia}, data, &e), 0);
    CHECK_TEXT(e.text, "");
    check_file(data, "plain/train.ptb", "( (S (A b)))\n(X y)\n");
    check_file(data, "plain/LICENSE.txt", "7\n"); /* copied unchanged */
    check_file(data, "plain/documents.tsv", "document\tsplit\ttrees\none\ttrain\t1\ntwo\ttrain\t1\n");
    char *none = path_join(data, "xml/documents.tsv");
    CHECK(!file_exists(none));
    remove_file(data, "plain/LICENSE.txt"); /* kept trees get no list of documents anew */
    remove_file(data, "plain/documents.tsv");
    CHECK_INT(corpus_get(&(corpus){"plain", "", "", lines, 3, &plain}, data, &e), 0);
    char *again = path_join(data, "plain/documents.tsv");
    CHECK(!file_exists(again));
    check_file(data, "xml/dev.ptb", "(TOP (S (NP (NN cell_A_-LRB-x-RRB-)) (VP (VBZ <_B)) (. .)))\n");
    CHECK_INT(corpus_get(&(corpus){"other", "", "", lines, 2, &other}, data, &e), -1);
    CHECK_HAS(e.text, "other/train.ptb has sha256 ");
    /* a list of numbers is missing: no trees are written */
    const tree_form lost = {FORM_GENIA, &(tree_file){"dev.ptb", genia_sum, &one}, 1};
    e.text[0] = 0;
    CHECK_INT(corpus_get(&(corpus){"lost", "", "", folder, 1, &lost}, data, &e), -1);
    CHECK_HAS(e.text, " has sha256 ");
    stop();
    e.text[0] = 0;
    setenv("ABLATE_DATA_MIRROR", "http://127.0.0.1:1", 1);
    CHECK_INT(get(data, "gum"), 1);
    char *left = xprintf("test -z \"$(find %s -name '*.part' -o -name '*.scratch*')\"", data);
    sh(left);
    free(left), free(root), free(data), free(make), free(article), free(pack), free(none), free(again);
}

static void test_resume(const char *dir)
{
    char *root = path_join(dir, "big"),
         *make = xprintf("mkdir -p %s/a.org && seq 100000 >%s/a.org/big.txt", root, root), sum[65];
    sh(make);
    download d = about(root, "https://a.org/big.txt", sum);
    char *to = path_join(dir, "big.txt"), *part = path_join(dir, "big.txt.part");
    err e = {{0}};
    start(root, CUT_SHORT);
    CHECK_INT(fetch_download(&d, to, &e), -1);
    CHECK_HAS(e.text, "cannot get");
    stop();
    struct stat info = {0};
    char *starts = xprintf("0 %lld ", (long long)d.bytes / 2);
    CHECK_INT(stat(part, &info), 0);
    CHECK(info.st_size >= d.bytes / 2 && info.st_size < d.bytes); /* keeps the part that was received */
    start(root, GOOD);
    e.text[0] = 0;
    CHECK_INT(fetch_download(&d, to, &e), 0);
    CHECK_TEXT(e.text, "");
    CHECK(!file_exists(part));
    check_file(dir, "big.starts", starts); /* the second download began where the first had stopped */
    free(starts);

    /* A server that does not support ranges. */
    stop();
    start(root, NO_RANGES);
    CHECK_INT(rename(to, part), 0);
    CHECK_INT(truncate(part, 1000), 0);
    CHECK_INT(fetch_download(&d, to, &e), 0);
    CHECK_TEXT(e.text, "");
    stop();

    /* A complete .part is only checked; a damaged file is downloaded again. */
    CHECK_INT(rename(to, part), 0);
    CHECK_INT(fetch_download(&d, to, &e), 0);
    CHECK_INT(truncate(to, 1000), 0);
    start(root, GOOD);
    log_to(stderr, LOG_ERROR);
    CHECK_INT(fetch_download(&d, to, &e), 0);
    stop();
    CHECK_TEXT(e.text, "");
    free(root);
    free(make);
    free(to);
    free(part);
}

/* The real table's checksums and names have a valid form, and each corpus has a source and a target side. */
static void test_table(void)
{
    for (int i = 0; i < n_known_corpora; i++) {
        const corpus *c = &known_corpora[i];
        CHECK(c->name && *c->about && *c->licence && c->n_pieces >= 1);
        for (int k = 0; k < c->n_pieces; k++) {
            const download *d = c->pieces[k].from;
            CHECK_INT(strlen(d->sha256), 64);
            CHECK_INT(strspn(d->sha256, "0123456789abcdef"), 64);
            CHECK(has_prefix(d->url, "https://") && d->bytes > 0);
            CHECK(strrchr(c->pieces[k].out, '.') != NULL);
        }
        for (int k = 0; c->trees && k < c->trees->n; k++)
            CHECK_INT(strspn(c->trees->file[k].sha256, "0123456789abcdef"), 64);
    }
}

/* Downloads the real Multi30k by the real table. */
static void test_multi30k(const char *dir)
{
    if (!test_data()) {
        printf("skipped: data get multi30k-lctok (no $ABLATE_DATA)\n");
        return;
    }
    char *root = path_join(dir, "real"), *data = path_join(dir, "got");
    const corpus *c = NULL;
    for (int i = 0; i < n_known_corpora; i++)
        if (same(known_corpora[i].name, "multi30k-lctok")) c = &known_corpora[i];
    for (int k = 0; k < c->n_pieces; k++) {
        const char *path = strstr(c->pieces[k].from->url, "://") + 3;
        char *copy = xprintf("mkdir -p $(dirname %s/%s) && cp %s/%s/%s %s/%s", root, path, test_data(), c->name,
                             c->pieces[k].out, root, path);
        sh(copy);
        free(copy);
    }
    start(root, GOOD);
    CHECK_INT(get(data, "multi30k-lctok"), 0);
    char *compare =
        xprintf("for f in train val test2016; do cmp %s/multi30k-lctok/$f.de %s/multi30k-lctok/$f.de || exit 1; done",
                data, test_data());
    sh(compare);
    CHECK_INT(get(data, "multi30k"), 1); /* the server has no such file */
    stop();
    free(root);
    free(data);
    free(compare);
}

int main(void)
{
    char dir[] = "/tmp/test_corpora.XXXXXX";
    CHECK(mkdtemp(dir));
    log_to(stderr, LOG_WARN);
    if (system("curl --version >/dev/null 2>&1 || wget --version >/dev/null 2>&1")) {
        printf("skipped: neither curl nor wget\n");
        return 77;
    }
    unsetenv("http_proxy");
    unsetenv("all_proxy");
    unsetenv("ALL_PROXY");
    test_table();
    test_get(dir);
    test_brackets();
    test_treebanks(dir);
    test_resume(dir);
    test_multi30k(dir);
    fflush(stdout);
    char *clean = xprintf("rm -r %s", dir);
    sh(clean);
    free(clean);
    free(mirror);
    return test_end();
}
