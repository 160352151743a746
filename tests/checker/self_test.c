/* SPDX-License-Identifier: MIT */
/* The checker on trial: the oracle behind the seam passes, and each deliberate fault is caught, for its own reason. */
#include "tests/checker/check.h"
#include "tests/checker/oracle_backend.h"

#include <string.h>

#define CASES 120 /* within which every fault must show */

/* A word that the report of each fault must have. */
static const char *const reasons[FAULT_COUNT] = {
    [FAULT_OUTPUT] = ", output",
    [FAULT_DELTA] = ", delta",
    [FAULT_GRADIENT] = ", gradient",
    [FAULT_INPUT_GRADIENT] = "input gradient",
    [FAULT_NAN] = "got nan",
    [FAULT_UNWRITTEN] = "got nan",
    [FAULT_BEYOND_TENSOR] = "outside the caller's buffer",
    [FAULT_BEYOND_LABELS] = "labels or more",
    [FAULT_LABEL] = "its outputs say",
    [FAULT_LOSS] = "loss",
    [FAULT_CORRECT] = "correct of",
    [FAULT_IMAGES] = "images, expected",
    [FAULT_MOMENTUM] = "updated",
    [FAULT_DECAY] = "updated",
    [FAULT_VELOCITY] = "two calls",
    [FAULT_PARAMETER] = "not what was written",
    [FAULT_LAST_BIT] = "another run",
    [FAULT_ROTATION] = "two calls",
    [FAULT_KEEPS_HOST_MEMORY] = "got",
    [FAULT_SYNC] = "canary",
    [FAULT_PLAN] = "add up",
};

/* A wrong last bit is outside the bound where that is a last bit. */
static bool has_reason(enum check_fault fault, const char *text)
{
    return strstr(text, reasons[fault]) || (fault == FAULT_LAST_BIT && strstr(text, "updated"));
}

/* Twice, since some faults show only in a second run. */
static enum check_verdict run_case(const struct check_target *target, uint64_t seed, int index,
                                   struct check_report *report)
{
    struct check_case c;
    struct check_material *material;
    struct cnn_error error;
    check_case_draw(seed, index, &c);
    if (check_material_create(&material, &c, &error)) {
        check_fail(report, "%s", error.text);
        return CHECK_FAILED;
    }
    enum check_verdict verdict = check_run(target, material, report);
    if (verdict == CHECK_PASSED)
        verdict = check_run(target, material, report);
    check_material_destroy(material);
    return verdict;
}

static bool text_comes_back(uint64_t seed, int index)
{
    struct check_case c, again;
    char text[CHECK_TEXT], text_again[CHECK_TEXT];
    check_case_draw(seed, index, &c);
    check_case_format(&c, text);
    if (!check_case_parse(text, &again))
        return false;
    check_case_format(&again, text_again);
    return !strcmp(text, text_again);
}

static int try_fault(enum check_fault fault, uint64_t seed)
{
    const struct cnn_backend *backend = fault == FAULT_NONE ? &check_oracle_backend : check_faulty_backend(fault);
    struct cnn_device_options options = { 0 };
    struct check_report report = { 0 };
    struct cnn_error error;
    struct check_target target = { .backend = backend, .group = "oracle", .algorithm = "oracle" };
    if (backend->open(&target.device, &options, &error))
        return 1;
    enum check_verdict verdict = CHECK_PASSED;
    int index = 0;
    while (index < CASES && verdict == CHECK_PASSED)
        verdict = run_case(&target, seed, index++, &report);
    backend->close(target.device);
    bool caught = verdict == CHECK_FAILED && fault != FAULT_NONE && has_reason(fault, report.text);
    bool right = fault == FAULT_NONE ? verdict == CHECK_PASSED : caught;
    printf("  %-48s %s%s\n", check_fault_name(fault), right ? "" : "UNEXPECTED: ",
           fault == FAULT_NONE && right ? "passes"
           : report.text[0]             ? report.text
                                        : "not caught");
    return !right;
}

int check_self_test(uint64_t seed)
{
    int surprises = 0;
    printf("self-test, seed %llu: the oracle as a backend passes, each fault is caught\n", (unsigned long long)seed);
    for (int index = 0; index < CASES; index++)
        if (!text_comes_back(seed, index)) {
            printf("  case %d does not come back from its text\n", index);
            surprises++;
        }
    surprises += check_contract(&check_oracle_backend, NULL, "oracle");
    for (int fault = 0; fault < FAULT_COUNT; fault++)
        surprises += try_fault((enum check_fault)fault, seed);
    return surprises;
}
