/* settings.c - the plugin's settings during a check: first those of -s, then every choice and boolean in turn. */
#include "network/check/internal.h"
#include <stdlib.h>
#include <string.h>

check_setup check_given = {.most_pairings = SIZE_MAX, .most_tokens = INT32_MAX};

int check_set(const char *text, err *e)
{
    const char *equals = strchr(text, '='), *dot = strchr(text, '.');
    if (!equals || !dot || dot > equals) return fail(e, "-s %s: expected PLUGIN.KEY=VALUE", text);
    settings_set(&check_given.given, arena_strndup(&check_given.memory, text, (size_t)(equals - text)), equals + 1,
                 &check_given.memory);
    return 0;
}

void check_add_settings(settings *s, arena *a)
{
    for (size_t i = 0; i < check_given.given.n; i++)
        settings_set(s, check_given.given.at[i].key, check_given.given.at[i].value, a);
    if (check_given.tried.key) settings_set(s, check_given.tried.key, check_given.tried.value, a);
}

int check_settings_fit(const plugin *p, err *e)
{
    size_t n = strlen(p->desc.name);
    CLEANUP(arena_free) arena a = {0};
    settings own = {0};
    void *cfg = arena_alloc(&a, p->desc.cfg_size + 16);
    for (size_t i = 0; i < check_given.given.n; i++)
        if (has_prefix(check_given.given.at[i].key, p->desc.name) && check_given.given.at[i].key[n] == '.')
            settings_set(&own, check_given.given.at[i].key, check_given.given.at[i].value, &a);
    if (own.n < check_given.given.n)
        return fail(e, "-s: expected %s.KEY=VALUE, a parameter of the checked plugin", p->desc.name);
    if (own.n && !p->desc.params) return fail(e, "-s: %s has no parameters", p->desc.name);
    return own.n ? config_bind(&own, p->desc.name, p->desc.params, cfg, &a, e) : 0;
}

static const struct {
    const char *name;
    double bound;
    pairing_check *each;
} through[] = {{"future", 0, check_future}, {"gradient", 1e-6, check_gradient}, {"decode", 1e-9, check_decode}};

void check_try(const plugin *p, const char *name, const char *value)
{
    check_given.tried =
        name ? (setting){arena_printf(&check_given.memory, "%s.%s", p->desc.name, name), value} : (setting){0};
}

static void check_value(const plugin *p, const ab_option *q, const char *value, check_result *r)
{
    check_try(p, q->name, value);
    for (size_t i = 0; i < LENGTH(through) && r->outcome != CHECK_FAIL; i++) {
        check_result one = {.name = through[i].name, .measured = -1, .bound = through[i].bound};
        check_each_pairing(p, &one, through[i].each);
        if (one.outcome == CHECK_FAIL) check_fail(r, "%s = %s: %s: %s", q->name, value, one.name, one.message);
    }
    check_try(p, NULL, NULL);
}

/* Repeats checks with every choice and boolean, because the defaults reach only one branch. */
void check_choices(const plugin *p, check_result *r)
{
    size_t n = 0;
    size_t before = check_given.most_pairings;
    check_given.most_pairings = 1;
    for (const ab_option *q = p->desc.params; q && q->name; q++) {
        if (q->type == AB_BOOL) check_value(p, q, q->def != 0 ? "false" : "true", r), n++;
        if (q->type != AB_CHOICE) continue;
        char *choices = xstrdup(q->choices), *save = NULL;
        int i = 0;
        for (char *w = strtok_r(choices, "|", &save); w; w = strtok_r(NULL, "|", &save), i++)
            if (i != (int)q->def) check_value(p, q, w, r), n++;
        free(choices);
    }
    check_given.most_pairings = before;
    if (!n) check_none(r, "no choice or boolean among its parameters");
    check_note(r, "%zu value%s, each checked by future, gradient and decode", n, n == 1 ? "" : "s");
}
