/* SPDX-License-Identifier: MIT */
/* Which algorithm does which operation, as text: "all=direct conv_forward:C3=winograd full_forward@5=gemm" is one
 * algorithm for everything, then what differs: an operation of a layer by its name, by its place where the name is not
 * unique, or of every layer where none follows. And the file of a run that keeps these texts by the keys of points. */
#ifndef DRIVER_CHOICES_H
#define DRIVER_CHOICES_H

#include "lib/backend.h"

#include <stdbool.h>

#define CHOICES_AUTO "auto" /* the algorithm of a point that asks the driver to choose */
#define CHOICES_FILE "choices.json"

/* One algorithm for everything, and a malloc'd list of what differs; names are the backend's. */
struct choices {
    const char *algorithm;
    struct cnn_choice *list;
    int count;
};

void choices_free(struct choices *choices); /* a zeroed one is fine */

/* malloc'd; NULL without memory. */
char *choices_text(const struct choices *choices, const struct cnn_network *network);

/* The way back. CNN_INVALID where a word is no operation, layer or algorithm of this network and backend. */
int choices_parse(struct choices *out, const char *text, const struct cnn_network *network,
                  const struct cnn_backend *backend, struct cnn_error *error);

/* A run's choices by the keys of its points. */
struct choices_book;

struct choices_book *choices_book_create(void); /* NULL without memory */
void choices_book_free(struct choices_book *book);
bool choices_book_add(struct choices_book *book, const char *key, const char *text);
const char *choices_book_find(const struct choices_book *book, const char *key); /* NULL: not in it */
char *choices_book_json(const struct choices_book *book);                        /* malloc'd; NULL without memory */
int choices_book_read(struct choices_book **out, const char *path, struct cnn_error *error);

#endif
