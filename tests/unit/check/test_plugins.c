/* Every plugin of the project passes the conformance check: in the short suite every tenth, in `--all` a random third,
 * under AddressSanitizer a random twentieth, before a release all. An argument names a single plugin. An attention is
 * checked with one position in the short suite, two in `--all`, every one before a release; under AddressSanitizer,
 * where double precision is ten times slower, with one position and sentences of at most 100 tokens. */
#include "services.h"
#include "network/check/internal.h"

int main(int argc, char **argv)
{
    size_t n_list;
    use_plugins();
#ifdef __SANITIZE_ADDRESS__
    check_given.most_pairings = 1;
    check_given.most_tokens = 100;
#else
    if (!test_exhaustive()) check_given.most_pairings = test_long() ? 2 : 1;
#endif
    const plugin *const *list = plugin_list(&n_list);
    const plugin **all = xcalloc(n_list + 1, sizeof *all);
    memcpy(all, list, n_list * sizeof *all);
    for (size_t i = 0; i < n_list; i++) {
        if (argc > 1         ? !same(argv[1], all[i]->desc.name)
            : TEST_SANITIZED ? !test_drawn(i, 30)
            : test_long()    ? !test_drawn(i, 5)
                             : i % 10 != 1)
            continue;
        check_result r[CHECK_MOST];
        double start = ticks();
        size_t n = check_plugin(all[i], NULL, r);
        char *title =
            xprintf("%s/%s (%.2f s)", plugin_kind_name(all[i]->desc.kind), all[i]->desc.name, ticks() - start);
        size_t failed = 0;
        for (size_t k = 0; k < n; k++) failed += r[k].outcome == CHECK_FAIL;
        CHECK_THAT(n > 0 && !failed, "%s: %zu of %zu checks failed", title, failed, n);
        if (failed)
            check_print(title, r, n, stdout);
        else
            printf("%s\n", title);
        free(title);
    }
    for (size_t i = 0; i < n_list && argc < 2; i++) { /* checks every attention's claims on positions */
        check_result r[CHECK_MOST];
        if (all[i]->desc.kind != AB_ATTENTION || !check_plugin(all[i], "positions", r)) continue;
        CHECK_THAT(r[0].outcome != CHECK_FAIL, "%s", r[0].message);
    }
    free(all);
    return test_end();
}
