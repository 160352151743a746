/* SPDX-License-Identifier: MIT */
/* Every mistake in a study gets its file, its line, what is wrong and what was expected. */
#include "experiments/driver/study.h"
#include "tests/unit/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SERIES "series = ( { id = \"cpu\"; backend = \"cpu\"; } );\n"
#define GOOD "network = \"lenet5\";\n" SERIES

struct mistake {
    const char *text;
    const char *place;  /* how the sentence starts */
    const char *reason; /* what it says */
};

static void assert_refused(const struct mistake *mistake)
{
    struct study study;
    struct cnn_error error = { CNN_OK, "" };
    if (study_read_text(&study, "x.cfg", mistake->text, &error) == CNN_OK) {
        study_free(&study);
        fail_msg("accepted: %s", mistake->text);
    }
    if (error.status != CNN_INVALID || strncmp(error.text, mistake->place, strlen(mistake->place)) ||
        !strstr(error.text, mistake->reason))
        fail_msg("study: %s\nexpected: %s ... %s\nfound: %s", mistake->text, mistake->place, mistake->reason,
                 error.text);
    assert_null(study.series); /* nothing is left behind */
}

#define REFUSE_ALL(list)                                          \
    for (size_t i_ = 0; i_ < sizeof(list) / sizeof *(list); i_++) \
    assert_refused(&(list)[i_])

static void grammar(void **state)
{
    (void)state;
    static const struct mistake mistakes[] = {
        { GOOD "width = 32..104;\n", "x.cfg:3: ", "32..104: a range needs quotes" },
        { GOOD "width = 32..104 step 8;\n", "x.cfg:3: ", "a range needs quotes" },
        { GOOD "\nwidth = 8x;\n", "x.cfg:4: ", "8x is no number" },
        { GOOD "width = 1-2;\n", "x.cfg:3: ", "1-2 is no number" },
        { GOOD "width = ;\n", "x.cfg:3: ", "width has no value" },
        { GOOD "width =\nbatch = 1;\n", "x.cfg:3: ", "width has no value" },
        { GOOD "width\n", "x.cfg:3: ", "expected = behind the key" },
        { GOOD "width 4;\n", "x.cfg:3: ", "expected = behind the key, found 4" },
        { GOOD "isa = scalar;\n", "x.cfg:3: ", "scalar: a word needs quotes" },
        { GOOD "isa = [\"scalar\",\n  avx2];\n", "x.cfg:4: ", "avx2: a word needs quotes" },
        { GOOD "isa = \"scalar;\nbatch = 1;\n", "x.cfg:3: ", "must end with \" on the same line" },
        { GOOD "isa = 'scalar';\n", "x.cfg:3: ", "double quotes" },
        { GOOD "width = [1, 2, 4;\n", "x.cfg:3: ", "the [ of line 3 is not closed: expected , or ], found ;" },
        { GOOD "width = (1,\n 2\nbatch = 1;\n", "x.cfg:5: ", "the ( of line 3 is not closed" },
        { GOOD "width = [1 2 4];\n", "x.cfg:3: ", "a comma is missing before 2" },
        { GOOD "width = [1, 2, ];\n", "x.cfg:3: ", "a comma stands before ]" },
        { GOOD "width = [1, \"2..4\"];\n", "x.cfg:3: ", "use ( ) for a mixed list" },
        { GOOD "width = 1, 2, 4;\n", "x.cfg:3: ", "a list is written [1, 2, 4]" },
        { GOOD "width = 1;;\n", "x.cfg:3: ", "a ; stands alone" },
        { GOOD "exclude = ( { width = 1; );\n", "x.cfg:3: ", ") found where a key was expected" },
        { GOOD "exclude = ( { width = 1;\n", "x.cfg:3: ", "the { of this line is never closed" },
        { GOOD "}\n", "x.cfg:3: ", "} found where a key was expected" },
        { GOOD "/* about\nwidth = 1;\n", "x.cfg:3: ", "never ends: expected */" },
        { GOOD "width = $4;\n", "x.cfg:3: ", "'$' found" },
        { GOOD "width = 1;\nbatch = 2;\n\nwidth = 2;\n", "x.cfg:6: ", "width is given twice, first in line 3" },
        { "network = \"lenet5\";\nseries = ( { id = \"a\";\n backend = \"cpu\";\n id = \"b\"; } );\n",
          "x.cfg:4: ", "id is given twice, first in line 2" },
    };
    REFUSE_ALL(mistakes);
}

static void numbers(void **state)
{
    (void)state;
    static const struct mistake mistakes[] = {
        { GOOD "width = 3000000000;\n", "x.cfg:3: ", "3000000000 does not fit" },
        { GOOD "width = [1, 99999999999999999999];\n", "x.cfg:3: ", "99999999999999999999 does not fit" },
        { GOOD "width = 0x80000000;\n", "x.cfg:3: ", "0x80000000 does not fit" },
        { GOOD "rate = 1.0e999;\n", "x.cfg:3: ", "too large for a number" },
        { GOOD "width = 0;\n", "x.cfg:3: ", "width = 0: expected sizes of at least 1" },
        { GOOD "batch = -4;\n", "x.cfg:3: ", "batch = -4: expected sizes of at least 1" },
        { GOOD "image = 2.5;\n", "x.cfg:3: ", "image = 2.5: expected a whole number" },
        { GOOD "width = \"0..4\";\n", "x.cfg:3: ", "at least 1" },
        { GOOD "width = \"-1..4\";\n", "x.cfg:3: ", "at least 1" },
        { GOOD "width = \"8..4\";\n", "x.cfg:3: ", "goes down" },
        { GOOD "width = \"1..4 step 0\";\n", "x.cfg:3: ", "step 0 never ends" },
        { GOOD "width = \"1..4 x1\";\n", "x.cfg:3: ", "x1 never ends" },
        { GOOD "width = \"1..4 x0\";\n", "x.cfg:3: ", "x0 never ends" },
        { GOOD "width = \"32..104 by 8\";\n", "x.cfg:3: ", "expected \"FROM..TO step N\" or \"FROM..TO xN\"" },
        { GOOD "width = \"32..\";\n", "x.cfg:3: ", "expected \"FROM..TO step N\"" },
        { GOOD "width = \"8x\";\n", "x.cfg:3: ", "width = \"8x\": expected a whole number" },
        { GOOD "width = \"\";\n", "x.cfg:3: ", "empty" },
        { GOOD "width = \"1..3000000000\";\n", "x.cfg:3: ", "does not fit" },
        { GOOD "width = \"1..10001\";\n", "x.cfg:3: ", "has 10001 values, at most 10000" },
        { GOOD "width = \"1..2147483647\";\n", "x.cfg:3: ", "has 2147483647 values, at most 10000" },
        { GOOD "epochs = 0;\n", "x.cfg:3: ", "epochs = 0: expected a whole number from 1" },
        { GOOD "epochs = 2.0;\n", "x.cfg:3: ", "epochs = 2: expected a whole number" },
        { GOOD "interval = 0;\n", "x.cfg:3: ", "interval = 0: expected a number from" },
        { GOOD "rate = \"fast\";\n", "x.cfg:3: ", "rate = \"fast\": expected a number" },
        { GOOD "required = 1;\n", "x.cfg:3: ", "expected true or false" },
        { GOOD "seed = -1;\n", "x.cfg:3: ", "seed = -1: expected a whole number from 0" },
        { GOOD "seed = \"18446744073709551616\";\n", "x.cfg:3: ", "expected a whole number from 0" },
        { GOOD "seed = [1, 2, 1];\n", "x.cfg:3: ", "seed: 1 is given twice" },
        { GOOD "distort = \"spin 3\";\n", "x.cfg:3: ", "distort = \"spin 3\": expected \"none\", or rotate" },
        { GOOD "pixels = \"raw\";\n", "x.cfg:3: ", "expected \"standard\", \"unit\" or \"signed\"" },
        { GOOD "target = 99;\n", "x.cfg:3: ", "target = 99: expected a number from 0 to 1" },
        { GOOD "seed = \"1x\";\n", "x.cfg:3: ", "expected a whole number from 0" },
        { GOOD "min_samples = 9; max_samples = 8;\n", "x.cfg: ", "min_samples = 9 is more than max_samples = 8" },
        { GOOD "min_time = 2; max_time = 1;\n", "x.cfg: ", "min_time = 2 (of one sample) is more than" },
    };
    REFUSE_ALL(mistakes);
}

static void words(void **state)
{
    (void)state;
    static const struct mistake mistakes[] = {
        { "network = \"lenet\";\n" SERIES, "x.cfg:1: ", "did you mean \"lenet5\"?" },
        { "network = 5;\n" SERIES, "x.cfg:1: ", "expected a network's name in quotes" },
        { GOOD "widht = 4;\n", "x.cfg:3: ", "widht: a study has no such key (did you mean \"width\"?)" },
        { GOOD "rate-decay = 0.5;\n", "x.cfg:3: ", "did you mean \"rate_decay\"?" },
        { GOOD "xyzzy = 4;\n", "x.cfg:3: ", "xyzzy: a study has no such key" },
        { GOOD "phase = \"trian\";\n", "x.cfg:3: ", "did you mean \"train\"?" },
        { GOOD "phase = [];\n", "x.cfg:3: ", "phase is an empty list" },
        { GOOD "width = ();\n", "x.cfg:3: ", "width is an empty list" },
        { GOOD "width = [1, 2, 1];\n", "x.cfg:3: ", "1 is given twice" },
        { GOOD "width = { a = 1; };\n", "x.cfg:3: ", "width = a group { }: expected a whole number" },
        { GOOD "copies = \"all\";\n", "x.cfg:3: ", "expected \"none\", \"answer\", \"paper\" or \"pipelined\"" },
        { GOOD "isa = \"avx3\";\n", "x.cfg:3: ", "did you mean \"avx2\"?" },
        { GOOD "loss = \"hinge\";\n", "x.cfg:3: ", "expected \"mse\" or \"softmax\"" },
        { GOOD "preset = \"pear\";\n", "x.cfg:3: ", "did you mean \"peer\"?" },
        { GOOD "data = \"minst\";\n", "x.cfg:3: ", "did you mean \"mnist\"?" },
        { GOOD "figures = (\"times\");\n", "x.cfg:3: ", "did you mean \"time\"?" },
        { GOOD "connections = \"fan-in\";\n", "x.cfg:3: ", "as in \"fan-in 8\"" },
        { GOOD "connections = \"fan-in 0\";\n", "x.cfg:3: ", "as in \"fan-in 8\"" },
        { GOOD "connections = \"density 1.5\";\n", "x.cfg:3: ", "as in \"density 0.2\"" },
        { GOOD "connections = \"lecun\";\n", "x.cfg:3: ", "is a table of one layer" },
        { GOOD "title = \"\";\n", "x.cfg:3: ", "expected a text in quotes" },
        { GOOD "conv_forward = \"nave\";\n", "x.cfg:", "did you mean \"naive\"?" },
        { GOOD "conv_foward = \"naive\";\n", "x.cfg:3: ", "did you mean \"conv_forward\"?" },
        { GOOD "phase = \"accuracy\"; data = \"normal\";\n", "x.cfg: ", "has nothing to learn" },
    };
    REFUSE_ALL(mistakes);
}

#define ONE "{ id = \"a\"; backend = \"cpu\"; }"

static void series(void **state)
{
    (void)state;
    static const struct mistake mistakes[] = {
        { "network = \"lenet5\";\n", "x.cfg: ", "series is missing" },
        { SERIES, "x.cfg: ", "network is missing" },
        { "", "x.cfg: ", "series is missing" },
        { "network = \"lenet5\";\nseries = ();\n", "x.cfg:2: ", "series is an empty list" },
        { "network = \"lenet5\";\nseries = \"cpu\";\n", "x.cfg:2: ", "expected groups such as" },
        { "network = \"lenet5\";\nseries = (\n{ backend = \"cpu\"; } );\n", "x.cfg:3: ", "id is missing" },
        { "network = \"lenet5\";\nseries = (\n{ id = \"a\"; } );\n", "x.cfg:3: ", "series \"a\" has no backend" },
        { "network = \"lenet5\";\nseries = ( " ONE ",\n " ONE " );\n",
          "x.cfg:3: ", "\"a\" is taken by the series of line 2" },
        { "network = \"lenet5\";\nseries = (\n{ id = \"a b\"; backend = \"cpu\"; } );\n",
          "x.cfg:3: ", "expected letters, digits" },
        { "network = \"lenet5\";\nseries = ( { id = \"a\";\n backend = \"gpu\"; } );\n",
          "x.cfg:3: ", "did you mean \"cpu\"?" },
        { "network = \"lenet5\";\nseries = ( { id = \"a\"; backend = \"cpu\";\n algorithm = \"dirct\"; } );\n",
          "x.cfg:3: ", "did you mean \"direct\"?" },
        { "network = \"lenet5\";\nseries = ( { id = \"a\"; backend = \"cpu\";\n treads = 2; } );\n",
          "x.cfg:3: ", "treads: a series has no such key (did you mean \"threads\"?)" },
        { "network = \"lenet5\";\nseries = ( { id = \"a\"; backend = \"cpu\";\n width = [1, 2]; } );\n",
          "x.cfg:3: ", "a series fixes an axis to one value, found 2" },
        { GOOD "base = \"gpu\";\n", "x.cfg:3: ", "\"gpu\" is no series: expected \"cpu\"" },
    };
    REFUSE_ALL(mistakes);
}

#define TWO "network = \"lenet5\";\nseries = ( " ONE ", { id = \"b\"; backend = \"omp\"; } );\n"

static void claims_zips_exclusions(void **state)
{
    (void)state;
    static const struct mistake mistakes[] = {
        { TWO "claims = ( { text = \"x\"; ratio = \"2..24\";\n pairs = (\"a/c\"); } );\n",
          "x.cfg:4: ", "\"c\" is no series" },
        { TWO "claims = ( { text = \"x\"; ratio = \"2..24\"; pairs = (\"ab\"); } );\n",
          "x.cfg:3: ", "as in \"naive/gpu\"" },
        { TWO "claims = ( { text = \"x\"; ratio = \"2..24\"; pairs = (\"a/a\"); } );\n",
          "x.cfg:3: ", "compared with itself" },
        { TWO "claims = ( { text = \"x\"; ratio = \"2..24\"; pairs = (); } );\n", "x.cfg:3: ", "expected 1 to 16" },
        { TWO "claims = ( { text = \"x\"; ratio = \"24..2\"; pairs = (\"a/b\"); } );\n",
          "x.cfg:3: ", "ratio = \"24..2\"" },
        { TWO "claims = ( { text = \"x\"; ratio = 2; pairs = (\"a/b\"); } );\n",
          "x.cfg:3: ", "ratio = 2: expected a text" },
        { TWO "claims = ( { text = \"x\"; pairs = (\"a/b\"); } );\n", "x.cfg:3: ", "ratio is missing" },
        { TWO "claims = ( { txt = \"x\"; } );\n", "x.cfg:3: ", "did you mean \"text\"?" },
        { TWO "width = [1, 2];\nimage = [32, 40, 48];\nzip = ( [\"width\", \"image\"] );\n",
          "x.cfg:4: ", "width has 2 values and image has 3" },
        { TWO "width = [1, 2];\nzip = ( [\"width\", \"image\"] );\n", "x.cfg: ", "zip: image has no values" },
        { TWO "zip = ( [\"width\"] );\n", "x.cfg:3: ", "at least two axes" },
        { TWO "zip = ( [\"width\", \"widht\"] );\n", "x.cfg:3: ", "did you mean \"width\"?" },
        { TWO "zip = ( [\"width\", \"image\"],\n [\"image\", \"batch\"] );\n",
          "x.cfg:4: ", "image stands there twice" },
        { TWO "exclude = ( { width = 1; series = \"c\"; } );\n", "x.cfg:3: ", "\"c\" is no series" },
        { TWO "exclude = ( { widht = 1; } );\n", "x.cfg:3: ", "widht: an exclusion has no such key" },
        { TWO "exclude = ( { } );\n", "x.cfg:3: ", "expected groups such as" },
        { TWO "width = \"1..1000\"; batch = \"1..1000\";\n", "x.cfg: ", "make 2000000 points, at most 100000" },
        { TWO "width = \"1..10000\"; batch = \"1..10000\"; image = \"1..10000\"; depth = \"1..10000\"; threads = "
              "\"1..10000\";\n",
          "x.cfg: ", "more points than can be counted" },
    };
    REFUSE_ALL(mistakes);
}

#define NETWORK(layers) "network = { name = \"mine\"; image = 8;\nlayers = ( " layers " ); };\n" SERIES

static void written_networks(void **state)
{
    (void)state;
    static const struct mistake mistakes[] = {
        { NETWORK("{ kind = \"cnov\"; }"), "x.cfg:2: ", "did you mean \"conv\"?" },
        { NETWORK("{ maps = 4; }"), "x.cfg:2: ", "kind is missing" },
        { NETWORK("{ kind = \"conv\"; maps = 4; }"), "x.cfg:2: ", "kernel is missing: a conv layer needs one" },
        { NETWORK("{ kind = \"conv\"; kernel = 3; }, { kind = \"full\"; }"), "x.cfg:2: ", "maps is missing" },
        { NETWORK("{ kind = \"conv\"; maps = 4; kernel = 0; }"),
          "x.cfg:2: ", "kernel = 0: expected a whole number from 1" },
        { NETWORK("{ kind = \"full\"; kernel = 3; }"), "x.cfg:2: ", "kernel: a full layer has none" },
        { NETWORK("{ kind = \"maxpool\"; kernel = 2; maps = 3; }"), "x.cfg:2: ", "maps: a maxpool layer has none" },
        { NETWORK("{ kind = \"maxpool\"; kernel = 2; padding = \"same\"; }"),
          "x.cfg:2: ", "padding: a maxpool layer has none" },
        { NETWORK("{ kind = \"conv\"; maps = 4; kernel = 3; stide = 2; }"), "x.cfg:2: ", "did you mean \"stride\"?" },
        { NETWORK("{ kind = \"conv\"; maps = 4; kernel = 3; connections = \"fan-in x\"; }"),
          "x.cfg:2: ", "as in \"fan-in 8\"" },
        { NETWORK("{ kind = \"full\"; activation = \"tanhh\"; }"), "x.cfg:2: ", "did you mean \"tanh\"?" },
        { NETWORK(""), "x.cfg:2: ", "expected a list of groups" },
        { "network = { name = \"mine\"; };\n" SERIES, "x.cfg:1: ", "layers is missing" },
        { "network = { layers = ( { kind = \"full\"; } ); };\n" SERIES, "x.cfg:1: ", "name is missing" },
        { "network = { name = \"lenet5\"; layers = ( { kind = \"full\"; } ); };\n" SERIES,
          "x.cfg:1: ", "is a built-in network" },
        { "network = { name = \"mine\"; layers = ( { kind = \"full\"; } ); };\n" SERIES, "x.cfg: ", "has no image" },
    };
    REFUSE_ALL(mistakes);
}

/* ---- files ---- */

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/convscale-study-XXXXXX");
    return mkdtemp(folder) ? 0 : 1;
}

static int remove_folder(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *bytes, size_t size)
{
    FILE *file = fopen(path_of(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void write_text(const char *name, const char *text)
{
    write_file(name, text, strlen(text));
}

static void assert_file_refused(const char *name, const char *reason)
{
    struct study study;
    struct cnn_error error = { CNN_OK, "" };
    assert_int_not_equal(study_read(&study, path_of(name), &error), CNN_OK);
    if (!strstr(error.text, reason))
        fail_msg("%s: expected: %s\nfound: %s", name, reason, error.text);
}

static void files_that_cannot_be_read(void **state)
{
    (void)state;
    static const char zero[] = "width = 1;\n\0\n";
    assert_file_refused("none.cfg", "none.cfg: cannot be read: No such file");
    assert_file_refused("n*.cfg", "does the pattern match nothing?");
    assert_file_refused("", "is a folder");
    write_file("zero.cfg", zero, sizeof zero - 1);
    assert_file_refused("zero.cfg", "zero byte at offset 11");
    write_text("wide.cfg", "\xff\xfe");
    assert_file_refused("wide.cfg", "is UTF-16 text");
}

static void included_files_have_lines_of_their_own(void **state)
{
    (void)state;
    write_text("part.cfg", "\xef\xbb\xbf" SERIES "batch = ;\n");
    write_text("whole.cfg", "network = \"lenet5\";\n@include \"part.cfg\"\n");
    assert_file_refused("whole.cfg", "/part.cfg:2: batch has no value");
    write_text("part.cfg", SERIES);
    write_text("whole.cfg", "network = \"lenet5\";\n@include \"part.cfg\"\nwidth = 0;\n");
    assert_file_refused("whole.cfg", "/whole.cfg:3: width = 0");
    write_text("whole.cfg", "network = \"lenet5\";\n\n@include \"none.cfg\"\n");
    assert_file_refused("whole.cfg", "/whole.cfg:3: @include: ");
    write_text("whole.cfg", "@include \"whole.cfg\"\n");
    assert_file_refused("whole.cfg", "does \"whole.cfg\" include itself?");
    write_text("whole.cfg", "@include part.cfg\n");
    assert_file_refused("whole.cfg", "/whole.cfg:1: expected a file name in quotes");
}

static void assert_read(const char *name, const char *text)
{
    struct study study;
    struct cnn_error error = { CNN_OK, "" };
    write_text(name, text);
    if (study_read(&study, path_of(name), &error) != CNN_OK)
        fail_msg("%s: %s", name, error.text);
    study_free(&study);
}

static void ends_of_lines_and_files_do_not_matter(void **state)
{
    (void)state;
    assert_read("a.cfg", "\xef\xbb\xbfnetwork = \"lenet5\";\r\n# a comment\r\n" SERIES);
    assert_read("a.cfg", "network = \"lenet5\";\rseries = ( { id = \"a\"; backend = \"cpu\" } )");
    assert_read("a.cfg", SERIES "network = \"lenet5\" // end");
    assert_read("a.cfg", SERIES "network = \"lenet5\" /* end */");
    assert_read("a.cfg", SERIES "network = \"lenet5\"; # end");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grammar),
        cmocka_unit_test(numbers),
        cmocka_unit_test(words),
        cmocka_unit_test(series),
        cmocka_unit_test(claims_zips_exclusions),
        cmocka_unit_test(written_networks),
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(included_files_have_lines_of_their_own),
        cmocka_unit_test(ends_of_lines_and_files_do_not_matter),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
