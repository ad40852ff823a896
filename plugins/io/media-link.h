/* media-link.h: links from records to media: what they name, and what they may reach */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/* Links are names, not URLs: nothing in them is decoded, so "a%20b.png" is a file of just that
 * name. What a link names is written in one of four ways: an absolute path for a file,
 * "s3://bucket/key", "http(s)://host/path", or "data:…". */

/**
 * hr_media_link_base:
 * @uri: a JSONL's path or URI
 *
 * Returns: (transfer full): the folder that its relative links start from, ending in "/"
 */
char *hr_media_link_base (const char *uri);

/**
 * hr_media_link_folder:
 * @location: a folder or prefix: a path, relative ones to the current directory, or a URI
 *
 * Returns: (transfer full): the same, absolute, without dot segments, ending in "/": fit to be a
 *   base or a root
 */
char *hr_media_link_folder (const char *location);

/**
 * hr_media_link_resolve:
 * @base: from one of the functions above
 * @link: as written in the record
 *
 * Dot segments are resolved by name alone, before anything is opened. Those that lead out of the
 * file system or bucket stay, so that hr_media_link_check() refuses them.
 *
 * Returns: (transfer full): what the link names
 */
char *hr_media_link_resolve (const char *base, const char *link);

/**
 * hr_media_link_check:
 * @link: (nullable): as written in the record; %NULL if that is not known
 * @uri: what it names, from hr_media_link_resolve()
 * @root: (nullable): the tree that relative links may not leave; %NULL lets none pass
 * @allow: (nullable): further places, hr_media_link_check_allow()
 * @error: #HR_DATA_ERROR, LINK_REFUSED, or MEDIA_NOT_FOUND for an empty link
 *
 * A relative link may name what lies under @root. "data:" links hold their bytes themselves and
 * always pass. All others need a word of the user's in @allow.
 *
 * Returns: %TRUE if the link may be followed
 */
gboolean hr_media_link_check (const char *link, const char *uri, const char *root,
                              const char *const *allow, GError **error);

/**
 * hr_media_link_check_redirect:
 * @from: the address that answered with a redirect
 * @target: where it leads, from hr_media_link_resolve()
 * @allow: (nullable): as for a link of the record's own
 * @error: #HR_DATA_ERROR, LINK_REFUSED
 *
 * A server that was allowed must not open what was not: a redirect needs the same words of the
 * user's as a link, never leads to anything but http or https, and never from https to http.
 */
gboolean hr_media_link_check_redirect (const char *from, const char *target,
                                       const char *const *allow, GError **error);

/**
 * hr_media_link_check_allow:
 * @allow: (nullable): the words of an `allow-links` property: "all"; a scheme, "file" (absolute
 *   paths too), "s3", "http", "https"; or a folder, "/data/pictures/", "s3://bucket/prefix/",
 *   "https://host/path/"
 * @error: #HR_PARSE_ERROR, BAD_VALUE
 */
gboolean hr_media_link_check_allow (const char *const *allow, GError **error);

/**
 * hr_media_link_hide_secrets:
 * @link: a link, or what it names
 *
 * Returns: (transfer full): the same; of web links, and those of other schemes, without what lets
 * others in: "…" stands for user and password, and for what parameters such as X-Amz-Signature,
 * token, api_key and sig say
 */
char *hr_media_link_hide_secrets (const char *link);

/**
 * hr_media_link_shorten:
 * @link: a link, or what it names
 *
 * Returns: (transfer full): the same, for people: without secrets, at most some 200 characters, and
 *   of "data:" links only the beginning and the number of bytes
 */
char *hr_media_link_shorten (const char *link);

G_END_DECLS
