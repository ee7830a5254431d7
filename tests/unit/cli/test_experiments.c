/* test_experiments.c - every INI of experiments and its folders, read with the plugins that ship, against
 * tests/unit/config/experiment-NAME.expected (README.md there). */
#include "network/plugin/plugin.h"
#include "config/read_case.h"

int main(void)
{
    size_t n;
    plugin_add_folder(BUILD_DIR "/plugins");
    const plugin *const *list = plugin_list(&n);
    plugin_schema *s = xcalloc(n + 1, sizeof *s);
    for (size_t i = 0; i < n; i++)
        s[i] = (plugin_schema){plugin_kind_name(list[i]->desc.kind), list[i]->desc.name, list[i]->desc.params,
                               list[i]->desc.calls};
    CHECK(check_folder(SOURCE_DIR "/experiments", "experiment-", &(plugin_schemas){.list = s, .n = n}) >= 40);
    free(s);
    return test_end();
}
