# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the structure of a page of orrery report without a browser. Prints one line for each fault."""
import html.parser
import sys

VOID = {"meta", "link", "br", "input"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.levels, self.faults = [], [], []
        self.svgs = self.titles = self.tables = self.scripts = 0
        self.ids, self.links, self.path = set(), [], []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag in VOID:
            self.check_loads(tag, attrs)
            return
        if tag == "title" and self.open[-1:] == ["svg"]:
            self.titles += 1
        if tag == "svg" and "svg" not in self.open:
            self.svgs += 1
        if tag[0] == "h" and tag[1:].isdigit():
            self.levels.append(int(tag[1:]))
        self.tables += tag == "table"
        self.scripts += tag == "script"
        if tag == "th" and "aria-sort" not in attrs:
            self.faults.append("a column without aria-sort")
        if "id" in attrs:
            if attrs["id"] in self.ids:
                self.faults.append("id %s twice" % attrs["id"])
            self.ids.add(attrs["id"])
        if attrs.get("href", "").startswith("#"):
            self.links.append(attrs["href"][1:])
        for name in attrs:
            if name.startswith("on"):
                self.faults.append("attribute %s" % name)
        self.check_loads(tag, attrs)
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        if tag in VOID:
            self.check_loads(tag, dict(attrs))

    def check_loads(self, tag, attrs):
        for name in ("src", "href"):
            value = attrs.get(name, "")
            if value and not value.startswith("#") and value != "data:,":
                self.faults.append("<%s %s=%s> loads something" % (tag, name, value))

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.faults.append("</%s> within %s" % (tag, self.open[-3:]))
        else:
            self.open.pop()


def main():
    text = open(sys.argv[1], encoding="utf-8", newline="").read()
    page = Page()
    page.feed(text)
    page.close()
    faults = page.faults
    if page.open:
        faults.append("not closed: %s" % page.open)
    if page.levels.count(1) != 1 or page.levels[0] != 1:
        faults.append("headings: %s" % page.levels)
    for before, after in zip(page.levels, page.levels[1:]):
        if after > before + 1:
            faults.append("a heading of level %d after level %d" % (after, before))
    if page.titles != page.svgs:
        faults.append("%d figures, %d titles" % (page.svgs, page.titles))
    if not page.tables or page.scripts != 1:
        faults.append("%d tables, %d scripts" % (page.tables, page.scripts))
    for link in page.links:
        if link not in page.ids:
            faults.append("a link to #%s, which is missing" % link)
    bad = [c for c in text if (ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160]
    if bad:
        faults.append("control characters: %r" % bad[:5])
    for fault in faults[:20]:
        print(fault)


main()
