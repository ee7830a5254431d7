/* The page and the figures of attention weights: which shapes are drawn for known weights. */
#include "lab/report/attention_view.h"
#include "test.h"

static const char *const tokens[] = {"the", "law", "</script>"};
/* Head 1 attends to the token itself, head 2 to the previous token (the first token to itself). */
static const float weights[] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0.25f, 0.75f};
static const attention_map map = {"encoder self-attention", 5, 2, 3, 3, tokens, tokens, weights, NULL};

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, part)); p++) n++;
    return n;
}

static void check_figure(attention_figure f, size_t lines, size_t squares)
{
    str svg = {0}, pdf = {0};
    err e = {0};
    drawing *d = attention_draw(&map, &f);
    drawing_svg(d, SVG_ALONE, &svg);
    CHECK_INT(count(svg.s, "<path"), lines);
    CHECK_INT(count(svg.s, "<rect") - 1, squares); /* the first rectangle is the background */
    CHECK_INT(drawing_pdf(d, &pdf, &e), 0);
    drawing_free(d);
    str_free(&svg), str_free(&pdf);
}

int main(void)
{
    /* the token has one shape in head 1, two in head 2 */
    check_figure((attention_figure){.figure = 3, .token = 2}, 3, 3);
    /* all of head 1: 3; one token: 1 + 1 */
    check_figure((attention_figure){.figure = 4, .token = 1, .next = 1}, 5, 2);
    check_figure((attention_figure){.figure = 5, .next = 1}, 7, 0);
    str page = {0};
    attention_page(&map, 1, "run <1>", "the law", "das Gesetz", &page);
    CHECK_HAS(
        page.s,
        "\"part\":\"encoder self-attention\",\"layer\":5,\"heads\":2,\"q\":[\"the\",\"law\",\"\\u003c/script>\"]");
    CHECK_HAS(page.s, "\"w\":\"__AAAA"); /* weights are stored in 12 bits: 1 is 4095, 0 is 0 */
    CHECK_HAS(page.s, "AAQAv_\"}");      /* weights 0.25 and 0.75 */
    CHECK_HAS(page.s, "run &lt;1&gt;");
    CHECK_INT(count(page.s, "</script>"), 2);
    str_free(&page);
    return test_end();
}
