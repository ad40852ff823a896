/* inflate.h: gzip and zstd: a stream of bytes becomes the one it was made of */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

typedef enum { HR_STORED_PLAIN, HR_STORED_GZIP, HR_STORED_ZSTD } HrStored;

/* how an object of that name is stored: *.gz, *.zst, or as it is */
HrStored hr_stored_of (const char *key);

/* *.jsonl, stored in any of these ways: what a folder, or a prefix, means */
gboolean hr_stored_is_jsonl (const char *key);

/**
 * HrInflater:
 *
 * Several gzip members, or zstd frames, one behind the other are one stream; zstd's skippable
 * frames, and zeros behind the last gzip member, are nothing.
 */
typedef struct _HrInflater HrInflater;

HrInflater *hr_inflater_new (HrStored how);
void hr_inflater_free (HrInflater *inflater);

/**
 * hr_inflater_step:
 * @used: (out): bytes of @in that are not needed again
 * @made: (out): bytes put at @out
 * @error: what is wrong with the bytes behind @used; not whose they are
 *
 * Neither used nor made: it needs more than @in.
 */
gboolean hr_inflater_step (HrInflater *inflater, const guint8 *in, gsize n_in, gsize *used,
                           guint8 *out, gsize n_out, gsize *made, GError **error);
/* TRUE: the stream may end here */
gboolean hr_inflater_may_end (const HrInflater *inflater);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HrInflater, hr_inflater_free)

G_END_DECLS
