"""Faults of lists of keys."""
from .faults import LIST, fault
from .listing import EMPTY_PAGE, HEADER, make_token


def cut_page(x, size):
    """leaves the first keys of a page"""
    page = x.page
    if len(page.entries) > size:
        page.entries = page.entries[:size]
        page.next = make_token(page.entries[-1][0])


@fault("list-small-pages", "legal", LIST, "page")
def small_pages(x):
    """two keys a page, whatever was asked for"""
    cut_page(x, 2)
    x.list_reply()


@fault("list-empty-page", "legal", LIST, "page")
def empty_page(x):
    """a page without keys, and a token for the next"""
    token = x.page.params.get("continuation-token") or make_token("")
    if token[0] == EMPTY_PAGE:  # the next is a full one
        return
    x.page.entries, x.page.prefixes, x.page.next = [], [], EMPTY_PAGE + token[1:]
    x.list_reply()


@fault("list-plain", "legal", LIST, "page")
def plain(x):
    """the keys are not URL-encoded, although that was asked for"""
    x.page.encoded = False
    x.list_reply()


@fault("list-bare-etags", "legal", LIST, "page")
def bare_etags(x):
    """ETags without their quotes"""
    x.list_reply(quote_etags=False)


@fault("list-duplicates", "passing", LIST, "page")
def duplicates(x):
    """the last keys of a page come again on the next"""
    cut_page(x, max(2, len(x.page.entries) // 2))
    if x.page.next and len(x.page.entries) > 1:
        x.page.next = make_token(x.page.entries[-2][0])
    x.list_reply()


@fault("list-unordered", "passing", LIST, "page")
def unordered(x):
    """the keys of a page are in no order"""
    x.rng.shuffle(x.page.entries)
    if len(x.page.entries) > 1 and x.page.entries == sorted(x.page.entries):
        x.page.entries.reverse()
    x.list_reply()


@fault("list-error-in-200", "passing", LIST)
def error_in_200(x):
    """200 with an <Error> document: not a list without keys"""
    x.error(200, "InternalError", "We encountered an internal error. Please try again.")


@fault("list-error-inside", "passing", LIST, "page")
def error_inside(x):
    """half of a list, then an <Error> document"""
    x.list_reply()
    half = x.reply.body[:x.reply.body.rindex(b"<Contents>")]
    x.reply.body = half + b"<Error><Code>InternalError</Code><Message>We encountered an internal error.</Message></Error>"


@fault("list-cut", "passing", LIST, "page")
def cut(x):
    """half of a list, and the Content-Length of that"""
    x.list_reply()
    x.reply.body = x.reply.body[:len(x.reply.body) // 2]


@fault("list-truncated", "passing", LIST, "page")
def truncated(x):
    """the connection closes in the middle of a list"""
    x.reply.cut_at = len(x.reply.body) // 2


@fault("list-broken-xml", "passing", LIST, "page")
def broken_xml(x):
    """tags that do not close"""
    x.reply.body = x.reply.body.replace(b"</Key>", b"</Kee>")


@fault("list-entities", "passing", LIST, "page")
def entities(x):
    """a document type whose entities would grow to a gigabyte"""
    kinds = b"".join(b'<!ENTITY e%d "%s">' % (i + 1, b"&e%d;" % i * 10) for i in range(9))
    x.reply.body = HEADER.encode() + b'<!DOCTYPE l [<!ENTITY e0 "lol">' + kinds + b"]>" \
        + x.reply.body[len(HEADER):].replace(b"<Key>", b"<Key>&e9;")


@fault("list-html", "passing", LIST)
def html(x):
    """200 with a page of a proxy"""
    x.page_of_proxy(200, b"<html><body>Please log in</body></html>")


@fault("list-empty-body", "passing", LIST)
def empty_body(x):
    """200 without a body"""
    x.plain(200, "application/xml", b"")


@fault("list-no-token", "passing", LIST, "page")
def no_token(x):
    """there is more, and no token to ask for it"""
    cut_page(x, 1)
    x.page.next = ""
    x.list_reply()


@fault("list-same-token", "final", LIST, "page")
def same_token(x):
    """the first page again and again, with the same token"""
    x.page.params.pop("continuation-token", None)
    x.page = x.server.list_page(x.bucket, x.page.params)
    cut_page(x, 1)
    x.page.next = make_token("")
    x.list_reply()


@fault("list-cycle", "final", LIST, "page")
def cycle(x):
    """two pages that name each other as the next"""
    token = x.page.params.pop("continuation-token", make_token(""))
    x.page = x.server.list_page(x.bucket, x.page.params)
    cut_page(x, 1)
    x.page.next = make_token("") if token[0] == EMPTY_PAGE else EMPTY_PAGE
    x.list_reply()


@fault("list-other-prefix", "final", LIST, "page")
def other_prefix(x):
    """keys that do not have the prefix that was asked for"""
    x.page.entries = [("elsewhere/" + k, *rest) for k, *rest in x.page.entries]
    x.list_reply()


@fault("list-wrong-size", "final", LIST, "page")
def wrong_size(x):
    """sizes that are 1 too large"""
    x.page.entries = [(k, size + 1, *rest) for k, size, *rest in x.page.entries]
    x.list_reply()


@fault("list-ghost", "final", LIST, "page")
def ghost(x):
    """a key, zz-ghost.jsonl, that is not there any more"""
    if x.page.next is None:
        key = x.page.params.get("prefix", "") + "zz-ghost.jsonl"
        x.page.entries.append((key, 10, '"0"', 0))
    x.list_reply()


@fault("list-bad-key", "passing", LIST, "page")
def bad_key(x):
    """a key that is not encoded as the list says"""
    x.list_reply()
    x.reply.body = x.reply.body.replace(b"<Key>", b"<Key>%zz")


@fault("list-bad-size", "passing", LIST, "page")
def bad_size(x):
    """sizes that are no numbers"""
    x.list_reply()
    x.reply.body = x.reply.body.replace(b"<Size>", b"<Size>many ")
