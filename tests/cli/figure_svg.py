# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints the structure of a figure that gnuplot drew as SVG, as lines KEY VALUE, and a line for each fault of its texts.

size: of the viewBox; panels: frames; centre: of a text, as a share of the width of the data; share: area within the frames / area of
the figure; texts: their number; points: kinds of marks.
"""
import re
import sys
import xml.etree.ElementTree as tree

SVG = "{http://www.w3.org/2000/svg}"
NARROW, WIDE = "iIjlt|.,:;'!()[] frJ-/", "mMwW%@"


def width(text, size):
    return size * sum(0.36 if c in NARROW else 0.95 if c in WIDE else 0.68 if c.isupper() else 0.61 for c in text)


def boxes(root):
    """Yields the text and its corners; a turned text has the box that surrounds it."""
    for g in root.iter(SVG + "g"):
        move = re.match(r"translate\(([-\d.]+),([-\d.]+)\)(?: rotate\(([-\d.]+)\))?", g.get("transform", ""))
        for t in g.findall(SVG + "text"):
            words, size = "".join(t.itertext()).strip(), float(g.get("font-size", 10))
            if not move or not words:
                continue
            x, y, turned = float(move.group(1)), float(move.group(2)), float(move.group(3) or 0)
            w, anchor = width(words, size), g.get("text-anchor", "start")
            left = {"start": 0, "middle": -w / 2, "end": -w}[anchor]
            if abs(turned) > 80:
                yield words, (x - 0.75 * size, y - left - w, x + 0.15 * size, y - left)
            elif turned and anchor == "end":  # its begin, which lies lower left
                yield words, (x - 0.87 * w, y + 0.5 * w - 0.5 * size, x - 0.87 * w + 1, y + 0.5 * w)
            elif turned:
                yield words, None
            else:
                yield words, (x + left, y - 0.75 * size, x + left + w, y + 0.15 * size)


def frames(root):
    """Returns the corners of the frames: paths that begin with a line down and one to the right."""
    found = set()
    for p in root.iter(SVG + "path"):
        line = re.match(r"M([-\d.]+),([-\d.]+) L([-\d.]+),([-\d.]+) L([-\d.]+),([-\d.]+)", p.get("d", "").strip())
        if line and p.get("class") != "gridline":
            x0, y0, x1, y1, x2, y2 = map(float, line.groups())
            if x0 == x1 and y1 == y2 and x2 > x1 + 20 and y1 > y0 + 20:
                found.add((x0, y0, x2, y2))
    return found


def main():
    root = tree.parse(sys.argv[1]).getroot()
    _, _, w, h = map(float, root.get("viewBox").split())
    areas = frames(root)
    texts = list(boxes(root))
    print("size %g %g" % (w, h))
    print("panels %d" % len(areas))
    print("share %.3f" % (sum((x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in areas) / (w * h)))
    print("texts %d" % len(texts))
    links = {u.get("{http://www.w3.org/1999/xlink}href", "") for u in root.iter(SVG + "use") if not u.get("id")}
    print("points %d" % len([l for l in links if l.startswith("#gpPt")]))
    for words, a in texts:
        print("text %s" % words)
        if areas and a:  # of the width of the data
            left, right = min(f[0] for f in areas), max(f[2] for f in areas)
            print("centre %s %.2f" % (words, ((a[0] + a[2]) / 2 - left) / (right - left)))
    for i, (words, a) in enumerate(texts):
        if a and (a[0] < -2 or a[1] < -2 or a[2] > w + 2 or a[3] > h + 2):
            print("fault: \"%s\" leaves the figure: %.0f %.0f %.0f %.0f of %.0f %.0f" % ((words,) + a + (w, h)))
        for other, b in texts[i + 1:]:
            if a and b and min(a[2], b[2]) - max(a[0], b[0]) > 2 and min(a[3], b[3]) - max(a[1], b[1]) > 2:
                print("fault: \"%s\" overlaps \"%s\"" % (words, other))


main()
