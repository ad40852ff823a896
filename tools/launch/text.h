/* text.h: the pipeline's text, from words or a file, and the values for its variables */
#pragma once
#include "headrace.h"

/* what the words of a command line say together; (transfer full) */
char *launch_join_words (char **words);
/* the file's content, "-" is stdin; (transfer full) (nullable) */
char *launch_read_file (const char *path, GError **error);
/* of -D NAME=VALUE; @definitions may be NULL. (transfer full) (nullable) */
GHashTable *launch_read_variables (char **definitions, GError **error);
/* the pipeline of @file, or if that is NULL of @words; (transfer full) (nullable) */
HrPipeline *launch_read_pipeline (const char *file, char **words, char **definitions,
                                  GError **error);
