#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""html_check.py CHECK SITE: what is wrong with a site of man/html/site.py, a line each.

markup     elements that do not nest, ids that come twice, pages without a title
links      links that lead nowhere, and anything that comes from elsewhere
contrast   colours of text that are too near to their background, light and dark
index      links of the search index that lead nowhere
names      prints the functions of the search index
"""
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

VOID = {"br", "hr", "img", "input", "link", "meta"}


class Reader(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.stack, self.ids, self.links, self.loads, self.wrong = [], set(), [], [], []
        self.title, self.headings = "", 0
        self.feed(path.read_text(encoding="utf-8"))
        self.close()
        self.wrong += [f"<{tag}> is open at the end" for tag in self.stack]
        if not self.title.strip():
            self.wrong.append("no title")
        if self.headings != 1:
            self.wrong.append(f"{self.headings} headings h1")

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag not in VOID:
            self.stack.append(tag)
        if tag == "p" and "p" in self.stack[:-1]:
            self.wrong.append("<p> in <p>")
        if tag == "a" and "a" in self.stack[:-1]:
            self.wrong.append("<a> in <a>: " + str(attrs.get("href")))
        self.headings += tag == "h1"
        if "id" in attrs:
            if attrs["id"] in self.ids:
                self.wrong.append("id twice: " + attrs["id"])
            self.ids.add(attrs["id"])
        if tag == "a" and "href" in attrs:
            self.links.append(attrs["href"])
        elif "href" in attrs or "src" in attrs:
            self.loads.append(attrs.get("src") or attrs["href"])
        if "style" in attrs or any(name.startswith("on") for name in attrs):
            self.wrong.append(f"<{tag}> with a style or a script of its own")

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.stack or self.stack[-1] != tag:
            self.wrong.append(f"</{tag}> ends {self.stack[-1:]}")
        else:
            self.stack.pop()

    def handle_data(self, data):
        if self.stack[-1:] == ["title"]:
            self.title += data


def luminance(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(style):
    """WCAG 2: 4.5 for text; 7 for the text that one reads most."""
    themes = re.findall(r":root \{(.*?)\}", style, re.S)[:2]
    for theme, block in zip(("light", "dark"), themes):
        colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", block))
        for text, grounds, least in (("text", "page panel code mark", 7), ("soft", "page panel", 4.5),
                                     ("link", "page panel", 4.5), ("accent", "page code", 4.5)):
            for ground in grounds.split():
                a, b = sorted((luminance(colours[text]), luminance(colours[ground])))
                if (b + 0.05) / (a + 0.05) < least:
                    yield f"{theme}: {text} on {ground}: {(b + 0.05) / (a + 0.05):.2f}"


def main():
    check, site = sys.argv[1], Path(sys.argv[2])
    pages = {path.name: Reader(path) for path in sorted(site.glob("*.html"))}
    script = (site / "index.js").read_text(encoding="utf-8")
    index = json.loads(script[script.index("{"):script.rindex("}") + 1])

    def leads(link, here):
        name, _, anchor = link.partition("#")
        return (name or here) in pages and (not anchor or anchor in pages[name or here].ids)

    if check == "markup":
        for name, page in pages.items():
            for wrong in page.wrong:
                print(f"{name}: {wrong}")
    elif check == "links":
        for name, page in pages.items():
            for link in page.links:
                if not leads(link, name):
                    print(f"{name}: {link}")
            for load in page.loads:
                if not (site / load).is_file():
                    print(f"{name}: loads {load}")
        for name in ("style.css", "search.js"):
            for word in re.findall(r"https?:|url\(|@import|fetch\(",
                                   (site / name).read_text(encoding="utf-8")):
                print(f"{name}: {word}")
    elif check == "contrast":
        for line in contrast((site / "style.css").read_text(encoding="utf-8")):
            print(line)
    elif check == "index":
        for file, _, parts in index["pages"]:
            for anchor, _, _ in parts:
                if not leads(f"{file}#{anchor}" if anchor else file, file):
                    print(f"{file}#{anchor}")
        for name, link in index["names"]:
            if not leads(link, ""):
                print(link)
    elif check == "names":
        for name, _ in index["names"]:
            print(name)
    else:
        sys.exit(f"{check}: no such check")


main()
