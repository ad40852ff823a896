/* fake-server.h: an HTTP/1.1 server on loopback that answers as a test says, faults included */
#pragma once
#include <glib.h>

typedef struct {
  guint number; /* of all requests, from 0 */
  guint connection;
  char *method;
  char *target; /* as received: "/bucket/a%20b?x=1" */
  char *head;   /* the header lines */
  gint64 first; /* of Range; -1: none */
  gint64 last;
} FakeRequest;

typedef enum {
  FAKE_GO_ON,
  FAKE_CLOSE, /* the connection, when `cut` bytes of the body have gone */
  FAKE_RESET,
  FAKE_STALL /* nothing more, until the client closes */
} FakeEnd;

#define FAKE_ALL G_MAXSIZE

/* what is not set is a good answer: 200, the whole body with its Content-Length */
typedef struct {
  guint status;
  char *headers; /* "Name: value\r\n" lines; freed */
  char *body;    /* freed */
  gsize size;
  gboolean no_length; /* the connection's end is the body's */
  gint64 length;      /* Content-Length, if another than the size; -1: the size */
  gboolean chunked;
  gsize cut;
  FakeEnd end;
  guint delay; /* milliseconds before the first byte */
} FakeReply;

typedef struct _FakeServer FakeServer;
/* one call at a time */
typedef void (*FakeAnswer) (const FakeRequest *request, FakeReply *reply, gpointer data);

FakeServer *fake_server_new (FakeAnswer answer, gpointer data);
/* closes all connections and waits for its threads */
void fake_server_free (FakeServer *server);
/* "http://127.0.0.1:12345" */
const char *fake_server_get_url (FakeServer *server);
/* the first without an answer yet, most at once, all connections */
guint fake_server_get_n_requests (FakeServer *server);
guint fake_server_get_most_at_once (FakeServer *server);
guint fake_server_get_n_connections (FakeServer *server);

void fake_reply_set_text (FakeReply *reply, const char *text);
void fake_reply_set_bytes (FakeReply *reply, gconstpointer bytes, gsize size);
/* adds a line */
void fake_reply_add_header (FakeReply *reply, const char *name, const char *value);
/* an object: the range that was asked for, with 206 and ETag; 416 if there is none */
void fake_reply_object (FakeReply *reply, const FakeRequest *request, gconstpointer bytes,
                        gsize size, const char *etag);
/* S3's error document */
void fake_reply_error (FakeReply *reply, guint status, const char *code);
/* (nullable) (transfer full): a header's value */
char *fake_request_get_header (const FakeRequest *request, const char *name);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (FakeServer, fake_server_free)
