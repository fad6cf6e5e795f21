"""XML files of models, read by the standard library's parser with everything switched off that could reach beyond the
file: no document types, so no entities; and with the line of every element, so that messages can name it."""

from __future__ import annotations

import math
import pathlib
from dataclasses import dataclass, field
from xml.parsers import expat

from ..arguments import path as checked_path
from ..arguments import shown
from ..errors import ModelError

#: No description of a robot has more bytes, or elements inside each other.
MOST_BYTES, DEEPEST = 100_000_000, 100


@dataclass
class Element:
    """An element of a file with its line."""

    file: str
    tag: str
    line: int
    attributes: dict[str, str]
    children: list[Element] = field(default_factory=list)

    def error(self, message: str) -> ModelError:
        """A refusal that names the place."""
        return ModelError(f"{self.file}, line {self.line}: {message}")

    def all(self, tag: str) -> list[Element]:
        """The children with this tag."""
        return [child for child in self.children if child.tag == tag]

    def one(self, tag: str) -> Element | None:
        """The only child with this tag, None if there is none."""
        found = self.all(tag)
        if len(found) > 1:
            raise found[1].error(f"<{self.tag}> has a second <{tag}>; one is allowed.")
        return found[0] if found else None

    def needed(self, tag: str) -> Element:
        """The only child with this tag."""
        found = self.one(tag)
        if found is None:
            raise self.error(f"{self.called()} needs a <{tag}>.")
        return found

    def called(self) -> str:
        """The element with its name, for messages."""
        name = self.attributes.get("name")
        return f"<{self.tag}>" if name is None else f'<{self.tag} name="{name}">'

    def text(self, name: str, default: str | None = None) -> str:
        """An attribute."""
        if name in self.attributes:
            found = self.attributes[name].strip()
            if found:
                return found
            raise self.error(f"{name} of {self.called()} is empty.")
        if default is None:
            raise self.error(f"{self.called()} needs the attribute {name}.")
        return default

    def numbers(self, name: str, count: int, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
        """An attribute that holds finite numbers."""
        if name not in self.attributes and default is not None:
            return default
        words = self.text(name).split()
        try:
            found = tuple(float(word) for word in words)
        except ValueError:
            found = ()
        if len(found) != count or not all(map(math.isfinite, found)):
            kind = "a finite number" if count == 1 else f"{count} finite numbers"
            raise self.error(f"{name} of {self.called()} must be {kind}, got {shown(self.attributes[name], 60)}.")
        return found

    def number(self, name: str, default: float | None = None) -> float:
        """An attribute that is one finite number."""
        return self.numbers(name, 1, None if default is None else (default,))[0]


def read_markup(path) -> Element:
    """The root element of a file."""
    place = checked_path(path, "cannot load a model from")
    try:
        if place.stat().st_size > MOST_BYTES:
            raise ModelError(f"{place}: {place.stat().st_size} bytes are too many for the description of a model.")
        data = place.read_bytes()
    except OSError as error:
        raise ModelError(f"{place}: cannot be read: {error.strerror or error}.") from error
    return parsed(data, str(place))


def parsed(data: bytes, name: str) -> Element:
    """The root element of some bytes; `name` is what messages call them."""
    parser, roots, open_elements = expat.ParserCreate(), [], []

    def start(tag, attributes):
        element = Element(name, tag, parser.CurrentLineNumber, dict(attributes))
        if len(open_elements) >= DEEPEST:
            raise element.error(f"more than {DEEPEST} elements inside each other.")
        (open_elements[-1].children if open_elements else roots).append(element)
        open_elements.append(element)

    def refuse(*_):
        raise ModelError(
            f"{name}, line {parser.CurrentLineNumber}: a document type is not allowed in the file of a model: it could "
            "define entities. Remove the <!DOCTYPE ...>."
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: open_elements.pop()
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise ModelError(
            f"{name}, line {error.lineno}: this is not well-formed XML ({expat.ErrorString(error.code)})."
        ) from error
    except (LookupError, ValueError) as error:  # an encoding that Python does not know
        raise ModelError(f"{name}, line 1: this is not readable as XML ({error}).") from error
    return roots[0]


def resolved(name: str, file: str, packages: dict[str, pathlib.Path]) -> pathlib.Path | None:
    """The file behind a name such as package://robot/meshes/arm.stl; None if it is not there."""
    if name.startswith("package://"):
        package, _, rest = name.removeprefix("package://").partition("/")
        places = [packages[package] / rest] if package in packages else []
        # by convention a package is a folder of its name above its files
        places += [above / rest for above in pathlib.Path(file).resolve().parents if above.name == package]
    else:
        places = [pathlib.Path(file).resolve().parent / name.removeprefix("file://")]
    return next((place for place in places if place.is_file()), None)
