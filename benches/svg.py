"""The few shapes that the diagrams are drawn with, as lines of SVG."""

from html import escape

BACKGROUND = "#fcfcfa"


def text(x, y, what, size=12, anchor="start", colour="#333", extra=""):
    style = f'font-size="{size}" text-anchor="{anchor}" fill="{colour}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style} {extra}>{escape(str(what))}</text>'


def line(x1, y1, x2, y2, colour, extra=""):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" {extra}/>'


def circle(x, y, colour):
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="white" stroke="{colour}"/>'


def rectangle(x, y, width, height, colour, title=""):
    """`title` is what a browser shows under the mouse."""
    shape = f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"'
    return f"{shape}><title>{escape(title)}</title></rect>" if title else f"{shape}/>"


def picture(width, height, content):
    """The whole file."""
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif">'
    yield rectangle(0, 0, width, height, BACKGROUND)
    yield from content
    yield "</svg>"
