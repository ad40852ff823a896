/* extent-reader.h: reads the lines that begin in extents of objects, several requests ahead */
#pragma once
#include "line-source.h"

G_BEGIN_DECLS

/* Extents are read in the order in which they are added; each gives blocks of whole lines. */
typedef struct _ExtentReader ExtentReader;

/* @funcs: with @data, must outlive it; @options: as far as they are about reading */
ExtentReader *extent_reader_new (const HrLineSourceFuncs *funcs, gpointer data,
                                 const HrLineSourceOptions *options);
/* closes all that is open */
void extent_reader_free (ExtentReader *reader);

/* whom memory is asked for, and whose time is spent; before each other call */
void extent_reader_set_out (ExtentReader *reader, HrOut *out);

/* an extent that will be read behind those added so far */
void extent_reader_add (ExtentReader *reader, const HrExtent *extent);
/* FALSE: it has as many requests in flight as it may, more extents would only wait */
gboolean extent_reader_wants_more (const ExtentReader *reader);
/* opens what will be read next, as many parts as may be open */
gboolean extent_reader_look_ahead (ExtentReader *reader, GError **error);

/**
 * extent_reader_next:
 * @block: (out) (transfer full) (nullable): whole lines of the extent at hand (see lines.h); %NULL
 *   when it has no more: the next call reads the next extent
 */
gboolean extent_reader_next (ExtentReader *reader, HrBuffer **block, GError **error);
/* no more of the extent at hand is wanted */
void extent_reader_skip (ExtentReader *reader);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (ExtentReader, extent_reader_free)

G_END_DECLS
