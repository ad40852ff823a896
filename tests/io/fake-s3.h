/* fake-s3.h: a bucket "demo" on the fake server: lists, ranges, If-Match, and faults on demand */
#pragma once
#include "fake-server.h"

typedef struct _FakeS3 FakeS3;
/* may spoil @reply, which is the right answer; @key: NULL for lists. @count: of such requests */
typedef void (*FakeS3Hook) (const FakeRequest *request, FakeReply *reply, const char *key,
                            guint count, gpointer data);

FakeS3 *fake_s3_new (void);
void fake_s3_free (FakeS3 *s3);
/* takes a copy; keys are raw */
void fake_s3_put (FakeS3 *s3, const char *key, gconstpointer bytes, gsize size);
/* a file under its name below @prefix; a folder with all in it */
void fake_s3_put_path (FakeS3 *s3, const char *key, const char *path);
void fake_s3_set_hook (FakeS3 *s3, FakeS3Hook hook, gpointer data);
/* how long each answer takes, in milliseconds */
void fake_s3_set_delay (FakeS3 *s3, guint delay);
FakeServer *fake_s3_get_server (FakeS3 *s3);
/* GETs of a key; NULL: lists */
guint fake_s3_get_count (FakeS3 *s3, const char *key);
/* puts endpoint and credentials into the environment */
void fake_s3_use (FakeS3 *s3);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (FakeS3, fake_s3_free)
