/* Each sabotaged plugin fails exactly the check that it is made for, with the right message; plugins that cannot be
 * loaded are refused before any of their code runs. */
#include "network/model/fusion.h"
#include "sabotage.h"

static void check_case(size_t i)
{
    char path[1024];
    err e = {0};
    check_result r[CHECK_MOST];
    snprintf(path, sizeof path, BUILD_DIR "/sabotage/%s.so", cases[i].file);
    const char *words = check_sabotage(path, cases[i].check, &e, r);
    printf("%s: %s: %s\n", cases[i].file, cases[i].check ? cases[i].check : "nothing fails", words);
    for (size_t k = 0; k < LENGTH(cases[i].says) && cases[i].says[k]; k++) CHECK_HAS(words, cases[i].says[k]);
}

/* Checks the message of a check that succeeds. */
static void check_said(const char *file, const char *check, const char *words)
{
    char path[1024];
    err e = {0};
    check_result r[CHECK_MOST];
    snprintf(path, sizeof path, BUILD_DIR "/sabotage/%s.so", file);
    const plugin *p = plugin_load(path, &e);
    size_t n = p ? check_plugin(p, check, r) : 0;
    const check_result *found = n ? result_of(r, n, check) : NULL;
    CHECK_HAS(found ? found->message : e.text, words);
}

/* Checks how the plugin's attention runs, and why. */
static void check_fusion(const char *file, const char *how, const char *why)
{
    char path[1024];
    const char *step;
    str because = {0};
    err e = {0};
    snprintf(path, sizeof path, BUILD_DIR "/sabotage/%s.so", file);
    const plugin *p = plugin_load(path, &e);
    const char *found = p ? plugin_fusion(file, &step, &because, &e) : NULL;
    CHECK_TEXT(found ? found : e.text, how);
    CHECK_HAS(str_text(&because), why);
    str_free(&because);
}

/* Checks the exit status of `ablate check`. */
static void check_status(void)
{
    static const char good[] = "schedule/constant", none[] = "attention/scaled_dott",
                      bad[] = BUILD_DIR "/sabotage/wrong_shape.so", refused[] = BUILD_DIR "/sabotage/newer_major.so";
    const check_room room = {0};
    CHECK_INT(check_plugins((const char *[]){good}, 1, &room, false), 0);
    CHECK_INT(check_plugins((const char *[]){bad}, 1, &room, false), 1);
    CHECK_INT(check_plugins((const char *[]){good, refused}, 2, &room, false), 1);
    CHECK_INT(check_plugins((const char *[]){none}, 1, &room, false), 2);
}

int main(int argc, char **argv)
{
    use_plugins();
    check_given.most_pairings = pairings();
    for (size_t i = 0; i < LENGTH(cases); i++)
        if (argc < 2 ? taken(i) || (cases[i].check && same(cases[i].check, "load")) : same(argv[1], cases[i].file))
            check_case(i);
    if (argc < 2) {
        check_said("own_name", "name", "feed_forward/relu is also the name of a shipped plugin");
        check_said("task_lowered", "examples", "12 of 12 test examples are training examples");
        check_fusion("softpick", "fused with a score program", "");
        check_fusion("masks_half", "part fused, part composed", "masked by neither scores nor mask");
        check_status();
    }
    return test_end();
}
