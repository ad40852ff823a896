/* http-sockets.h: the sockets of a client's connections, and whether a kept one is still clean */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/**
 * HrHttpSockets:
 *
 * An answer that is longer than it was said to be leaves bytes in its connection. curl 7.88 sends
 * the next request over it all the same, and takes those bytes for its answer, and from then on
 * each answer for that of the request behind it: another object's bytes, with a good checksum.
 */
typedef struct _HrHttpSockets HrHttpSockets;

HrHttpSockets *hr_http_sockets_new (void);
/* all have been closed */
void hr_http_sockets_free (HrHttpSockets *sockets);
void hr_http_sockets_opened (HrHttpSockets *sockets, int fd);
/* closes it; for CURLOPT_CLOSESOCKETFUNCTION */
int hr_http_sockets_close (HrHttpSockets *sockets, int fd);
/* a request is about to be sent over that connection: FALSE: it was used before, and has bytes that
 * nobody asked for */
gboolean hr_http_sockets_use (HrHttpSockets *sockets, const char *local, int port);

G_END_DECLS
