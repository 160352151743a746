/* SPDX-License-Identifier: MIT */
/* The file choices.json of a run: { "schema": 1, "choices": { KEY OF A POINT: "all=direct ...", ... } }. */
#include "experiments/driver/choices.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA 1
#define FILE_BYTES_MAX ((size_t)256 << 20)

struct choices_book {
    cJSON *root, *entries; /* entries is in root */
};

struct choices_book *choices_book_create(void)
{
    struct choices_book *book = calloc(1, sizeof *book);
    if (!book)
        return NULL;
    book->root = cJSON_CreateObject();
    if (book->root && cJSON_AddNumberToObject(book->root, "schema", SCHEMA))
        book->entries = cJSON_AddObjectToObject(book->root, "choices");
    if (!book->entries) {
        choices_book_free(book);
        return NULL;
    }
    return book;
}

void choices_book_free(struct choices_book *book)
{
    if (book)
        cJSON_Delete(book->root);
    free(book);
}

bool choices_book_add(struct choices_book *book, const char *key, const char *text)
{
    cJSON_DeleteItemFromObjectCaseSensitive(book->entries, key);
    return cJSON_AddStringToObject(book->entries, key, text) != NULL;
}

const char *choices_book_find(const struct choices_book *book, const char *key)
{
    const cJSON *entry = cJSON_GetObjectItemCaseSensitive(book->entries, key);
    return cJSON_IsString(entry) ? entry->valuestring : NULL;
}

char *choices_book_json(const struct choices_book *book)
{
    return cJSON_Print(book->root);
}

/* The whole file as a string; NULL with a sentence. */
static char *read_file(const char *path, struct cnn_error *error)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t size = 0, capacity = 0;
    while (file && size < FILE_BYTES_MAX && !feof(file) && !ferror(file)) {
        if (capacity - size < 2) {
            char *larger = realloc(text, capacity = capacity ? 2 * capacity : 65536);
            if (!larger)
                break;
            text = larger;
        }
        size += fread(text + size, 1, capacity - size - 1, file);
    }
    bool whole = file && feof(file) && !ferror(file) && text;
    if (!whole)
        cnn_error_set(error, CNN_INVALID, "--choices %.300s: %s", path, errno ? strerror(errno) : "it cannot be read");
    else
        text[size] = '\0';
    if (file)
        fclose(file);
    if (whole)
        return text;
    free(text);
    return NULL;
}

int choices_book_read(struct choices_book **out, const char *path, struct cnn_error *error)
{
    errno = 0;
    *out = NULL;
    char *text = read_file(path, error);
    if (!text)
        return error->status;
    struct choices_book *book = calloc(1, sizeof *book);
    if (book) {
        book->root = cJSON_Parse(text);
        book->entries = cJSON_GetObjectItemCaseSensitive(book->root, "choices");
    }
    free(text);
    if (!book)
        return cnn_error_set(error, CNN_OOM, "--choices %.300s: no memory for it", path);
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(book->root, "schema");
    if (!cJSON_IsObject(book->entries) || !cJSON_IsNumber(schema) || schema->valuedouble != SCHEMA) {
        choices_book_free(book);
        return cnn_error_set(error, CNN_INVALID, "--choices %.300s: expected the %s of a run, schema %d", path,
                             CHOICES_FILE, SCHEMA);
    }
    *out = book;
    return CNN_OK;
}
