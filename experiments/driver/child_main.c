/* SPDX-License-Identifier: MIT */
/* The child's side: one point from stdin, one result back. */
#include "experiments/driver/backends.h"
#include "experiments/driver/child.h"
#include "experiments/driver/child_talk.h"
#include "experiments/driver/crew.h"
#include "experiments/driver/measure.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#define QUESTION_BYTES_MAX ((size_t)1 << 20)

/* All of stdin as a string; NULL with a sentence on stderr. */
static char *read_question(void)
{
    char *text = malloc(QUESTION_BYTES_MAX);
    size_t size = text ? fread(text, 1, QUESTION_BYTES_MAX - 1, stdin) : 0;
    if (!text || size == 0 || size == QUESTION_BYTES_MAX - 1 || ferror(stdin)) {
        fprintf(stderr, "%s: no point on stdin (expected JSON of 1 byte to 1 MiB)\n", CHILD_ARGUMENT);
        free(text);
        return NULL;
    }
    text[size] = '\0';
    return text;
}

static bool write_answer(const char *text)
{
    int file = fcntl(CHILD_ANSWER_DESCRIPTOR, F_GETFD) < 0 ? STDOUT_FILENO : CHILD_ANSWER_DESCRIPTOR;
    for (size_t left = strlen(text); left > 0;) {
        ssize_t wrote = write(file, text, left);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0) {
            fprintf(stderr, "%s: the result cannot be written: %s\n", CHILD_ARGUMENT, strerror(errno));
            return false;
        }
        text += wrote;
        left -= (size_t)wrote;
    }
    return true;
}

int child_main(void)
{
    struct point point = { .replay = NULL };
    struct result result;
    struct cnn_error error = { CNN_ERROR, "" };
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a parent that is gone has no use for an answer */
#endif
    crew_begin();
    char *question = read_question();
    if (!question)
        return 1;
    const struct cnn_backend *backend = NULL;
    if (point_from_json(&point, question, &error) == CNN_OK)
        backend = backend_find(point.backend, &error);
    free(question);
    if (backend) {
        measure_point(&point, backend, &result);
    } else {
        result_init(&result);
        result_set(&result, error.status, "%s", error.text);
    }
    free((char *)point.replay);
    char *answer = result_to_json(&result);
    bool written = answer && write_answer(answer);
    free(answer);
    result_free(&result);
    return written ? 0 : 1;
}
