# Copyright: Pagesmith
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A drawing of matplotlib as part of a page: no ids that could meet another's, colours by their variables, told to those who listen."""

from __future__ import annotations

import re
from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"
XLINK_HREF = "{http://www.w3.org/1999/xlink}href"

#: What matplotlib is told to draw with, and the variable that stands for it in the page.
INKS = {name: f"#0000{number:02x}" for number, name in enumerate(("ink", "soft", "rule", "grid", "now", "best", "other", "card"), 1)}
VARIABLES = {ink: f"var(--{name})" for name, ink in INKS.items()}
#: Families of fonts: the page's own is used, not the one that matplotlib has measured with.
FAMILY = re.compile(r"font-family:[^;]*;?\s*")
COLOUR = re.compile(r"#[0-9a-f]{6}\b")
REFERENCE = re.compile(r"url\(#([^)]+)\)")


def inline_svg(drawing: bytes, key: str, title: str, description: str) -> str:
    """The drawing as an element of a page. key: what sets its ids apart from those of the page's other drawings."""
    root = ElementTree.fromstring(drawing)
    # The style is one for all elements of the page, the metadata name the version of the library.
    for parent in list(root.iter()):
        for element in [child for child in parent if child.tag in (f"{SVG}metadata", f"{SVG}style")]:
            parent.remove(element)
    names = referenced(root)
    renamed = {name: f"{key}-{number}" for number, name in enumerate(names)}
    for element in root.iter():
        renew(element, renamed)
    view = root.get("viewBox")
    root.attrib.clear()
    root.attrib.update({"viewBox": view, "role": "img", "class": "plot", "aria-labelledby": f"{key}-title {key}-words"})
    for place, (tag, content) in enumerate((("title", title), ("desc", description))):
        element = ElementTree.Element(tag, {"id": f"{key}-{'words' if place else 'title'}"})
        element.text = content
        root.insert(place, element)
    return ElementTree.tostring(root, encoding="unicode")


def referenced(root: ElementTree.Element) -> list[str]:
    """The ids that some element refers to, in the order in which they are met."""
    found: dict[str, None] = {}
    for element in root.iter():
        for name, value in element.attrib.items():
            found.update(dict.fromkeys(REFERENCE.findall(value)))
            if name == XLINK_HREF:
                found[value.lstrip("#")] = None
    return list(found)


def renew(element: ElementTree.Element, names: dict[str, str]) -> None:
    """Bring an element into the form that HTML has: no namespace, ids from names or none, colours by variables."""
    element.tag = element.tag.removeprefix(SVG)
    attributes = dict(element.attrib)
    element.attrib.clear()
    for name, value in attributes.items():
        if name == "id":
            if value in names:
                element.set("id", names[value])
            continue
        if name == XLINK_HREF:
            element.set("href", "#" + names[value.lstrip("#")])
            continue
        value = REFERENCE.sub(lambda match: f"url(#{names[match.group(1)]})", value)
        if name == "style":
            value = FAMILY.sub("", value)
            value = COLOUR.sub(lambda match: VARIABLES[match.group()], value)
        element.set(name, value)
