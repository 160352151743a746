/* SPDX-License-Identifier: MIT */
/* Filling templates: what is escaped, repeated, left out, looked for further out, refused. */
#include "experiments/driver/latex.h"
#include "experiments/driver/template.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char json[] = "{\"a\": \"<b> & \\\"c\\\" it's\", \"n\": 12, \"none\": [], \"empty\": \"\", \"no\": false,"
                           "\"list\": [{\"x\": \"1\"}, {\"x\": \"2\", \"a\": \"own\"}], \"words\": [\"p\", \"q\"],"
                           "\"deep\": [{\"list\": [{\"x\": \"i\"}]}]}";

static void expect(const char *text, const char *wanted)
{
    char *out = NULL;
    size_t size = 0;
    struct cnn_error error = { CNN_OK, "" };
    cJSON *data = cJSON_Parse(json);
    FILE *file = open_memstream(&out, &size);
    assert_non_null(data);
    int status = template_render(file, text, data, &error);
    fclose(file);
    if (wanted)
        assert_string_equal(out, wanted);
    assert_int_equal(status, wanted ? CNN_OK : CNN_INVALID);
    assert_true(wanted || strstr(error.text, "is not closed"));
    free(out);
    cJSON_Delete(data);
}

static void values_are_escaped_unless_asked(void **state)
{
    (void)state;
    expect("x{{a}}y", "x&lt;b&gt; &amp; &quot;c&quot; it&#39;sy");
    expect("{{{a}}}", "<b> & \"c\" it's");
    expect("{{n}}{{missing}}{{{missing}}}", "12");
}

static void sections_repeat_and_leave_out(void **state)
{
    (void)state;
    expect("{{#list}}[{{x}}]{{/list}}", "[1][2]");
    expect("{{#words}}{{.}},{{/words}}", "p,q,");
    expect("{{#none}}x{{/none}}{{^none}}y{{/none}}", "y");
    expect("{{#empty}}x{{/empty}}{{#no}}x{{/no}}{{#missing}}x{{/missing}}", "");
    expect("{{#n}}{{n}}{{/n}}{{^n}}x{{/n}}", "12");
    expect("{{#deep}}({{#list}}{{x}}{{/list}}){{/deep}}", "(i)");
}

/* An object's own value hides that of the one around it. */
static void names_are_looked_for_outwards(void **state)
{
    (void)state;
    expect("{{#list}}{{{a}}};{{/list}}", "<b> & \"c\" it's;own;");
}

static void what_is_not_closed_is_refused(void **state)
{
    (void)state;
    expect("{{#list}}x", NULL);
    expect("{{#list}}x{{/words}}", NULL);
    expect("x{{/list}}", NULL);
    expect("{{a", NULL);
}

static void latex_takes_any_text_literally(void **state)
{
    (void)state;
    char out[128], small[8];
    latex_escape("50 % of a_b & {c} #1 $x ^~ \\ 2× 3 µs", out, sizeof out);
    assert_string_equal(out, "50 \\% of a\\_b \\& \\{c\\} \\#1 \\$x \\^{}\\~{} \\textbackslash{} 2$\\times$ 3 $\\mu$s");
    latex_escape("abcdé%%%", small, sizeof small); /* cut between characters, never inside a command */
    assert_string_equal(small, "abcdé");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_escaped_unless_asked), cmocka_unit_test(sections_repeat_and_leave_out),
        cmocka_unit_test(names_are_looked_for_outwards),   cmocka_unit_test(what_is_not_closed_is_refused),
        cmocka_unit_test(latex_takes_any_text_literally),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
