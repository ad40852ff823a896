/* shm-words.c */
#include "shm-words.h"
#include "wire-bytes.h"

HrWireMessage *
hr_shm_write_hello (const HrShmHello *hello)
{
  GByteArray *into = g_byte_array_new ();

  hr_wire_put_u8 (into, hello->is_writer != FALSE);
  hr_wire_put_u8 (into, hello->exclusive != FALSE);
  hr_wire_put_u32 (into, hello->pid);
  hr_wire_put_i64 (into, hello->reader);
  hr_wire_put_u32 (into, hello->credits);
  hr_wire_put_u32 (into, hello->n_readers);
  return hr_wire_message_new (HR_WIRE_HELLO, into);
}

HrWireMessage *
hr_shm_write_credit (guint n)
{
  GByteArray *into = g_byte_array_new ();

  hr_wire_put_u32 (into, n);
  return hr_wire_message_new (HR_WIRE_CREDIT, into);
}

HrWireMessage *
hr_shm_write_release (const HrShmRelease *releases, guint n)
{
  GByteArray *into = g_byte_array_new ();

  hr_wire_put_u32 (into, n);
  for (guint i = 0; i < n; i++) {
    hr_wire_put_u64 (into, releases[i].buffer);
    hr_wire_put_u32 (into, releases[i].block);
  }
  return hr_wire_message_new (HR_WIRE_RELEASE, into);
}

HrWireMessage *
hr_shm_write_pool (guint number, guint64 length)
{
  GByteArray *into = g_byte_array_new ();

  hr_wire_put_u32 (into, number);
  hr_wire_put_u64 (into, length);
  return hr_wire_message_new (HR_WIRE_POOL, into);
}

HrWireMessage *
hr_shm_write_leave (void)
{
  return hr_wire_message_new (HR_WIRE_LEAVE, g_byte_array_new ());
}

gboolean
hr_shm_read_hello (const guint8 *description, gsize size, HrShmHello *hello, GError **error)
{
  HrWireBytes from = { .bytes = description, .size = size };
  gint64 reader;

  hello->is_writer = hr_wire_get_u8 (&from);
  hello->exclusive = hr_wire_get_u8 (&from);
  hello->pid = hr_wire_get_u32 (&from);
  reader = hr_wire_get_i64 (&from);
  hello->credits = hr_wire_get_u32 (&from);
  hello->n_readers = hr_wire_get_u32 (&from);
  if (reader < -1 || reader > G_MAXINT)
    hr_wire_fail (&from, "%" G_GINT64_FORMAT " is no number of a reader", reader);
  hello->reader = (gint)reader;
  return hr_wire_finish (&from, error);
}

gboolean
hr_shm_read_credit (const guint8 *description, gsize size, guint *n, GError **error)
{
  HrWireBytes from = { .bytes = description, .size = size };

  *n = hr_wire_get_u32 (&from);
  return hr_wire_finish (&from, error);
}

GArray *
hr_shm_read_release (const guint8 *description, gsize size, GError **error)
{
  HrWireBytes from = { .bytes = description, .size = size };
  guint n = hr_wire_get_count (&from, 12, "releases");
  GArray *releases = g_array_sized_new (FALSE, FALSE, sizeof (HrShmRelease), n);

  for (guint i = 0; i < n; i++) {
    HrShmRelease release = { .buffer = hr_wire_get_u64 (&from) };

    release.block = hr_wire_get_u32 (&from);
    g_array_append_val (releases, release);
  }
  if (!hr_wire_finish (&from, error))
    g_clear_pointer (&releases, g_array_unref);
  return releases;
}

gboolean
hr_shm_read_pool (const guint8 *description, gsize size, guint *number, guint64 *length,
                  GError **error)
{
  HrWireBytes from = { .bytes = description, .size = size };

  *number = hr_wire_get_u32 (&from);
  *length = hr_wire_get_u64 (&from);
  return hr_wire_finish (&from, error);
}
