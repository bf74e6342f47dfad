"""A picture of a run: from where answers came, and how long they took."""

WIDTH, PANEL, LEFT, TOP, GAP = 800, 150, 70, 40, 60
LEVELS = [("L1", "#2a9d8f"), ("L2: memcached", "#e9c46a"), ("made", "#d1495b")]
TIMES = [("median", 0.50, "#264653"), ("p99", 0.99, "#d1495b")]


def _x(at, end):
    return LEFT + (WIDTH - LEFT - 20) * at / end


def _text(x, y, text, **attributes):
    more = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{text}</text>'


def _legend(y, entries):
    parts, x = [], LEFT
    for name, color in entries:
        parts.append(f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{color}"/>')
        parts.append(_text(x + 14, y, name))
        x += 34 + 7 * len(name)
    return parts


def _levels(bins, end):
    """Stacked shares of the levels over time."""
    parts, base = [], [0.0] * len(bins)
    for level, (_, color) in enumerate(LEVELS):
        upper = [low + shares[level] for low, (_, shares, _) in zip(base, bins)]
        points = [(at, value) for (at, _, _), value in zip(bins, upper)]
        points += [(at, value) for (at, _, _), value in reversed(list(zip(bins, base)))]
        drawn = " ".join(f"{_x(at, end):.1f},{TOP + PANEL * (1 - min(1, value)):.1f}" for at, value in points)
        parts.append(f'<polygon points="{drawn}" fill="{color}"/>')
        base = upper
    for share in (0, 0.5, 1):
        parts.append(_text(LEFT - 6, TOP + PANEL * (1 - share) + 4, f"{share:.0%}", text_anchor="end"))
    return parts


def _times(bins, end):
    """The quantiles of latencies over time."""
    top = TOP + PANEL + GAP
    highest = max(max(times) for _, _, times in bins) or 1
    parts = []
    for number, (_, _, color) in enumerate(TIMES):
        drawn = " ".join(
            f"{_x(at, end):.1f},{top + PANEL * (1 - times[number] / highest):.1f}" for at, _, times in bins
        )
        parts.append(f'<polyline points="{drawn}" fill="none" stroke="{color}" stroke-width="1.5"/>')
    for share in (0, 0.5, 1):
        parts.append(_text(LEFT - 6, top + PANEL * (1 - share) + 4, f"{highest * share:.0f} ms", text_anchor="end"))
    return parts


def draw(bins, restart, end, title):
    """The picture as SVG. A bin is its time, the shares of the levels, and the quantiles of `TIMES` in milliseconds."""
    height = TOP + 2 * PANEL + GAP + 50
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        _text(LEFT, 18, title, font_size=14),
        *_legend(TOP - 8, LEVELS),
        *_levels(bins, end),
        *_legend(TOP + PANEL + GAP - 8, [(name, color) for name, _, color in TIMES]),
        *_times(bins, end),
    ]
    x, bottom = _x(restart, end), TOP + 2 * PANEL + GAP
    parts.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}" stroke="black" stroke-dasharray="4 3"/>')
    parts.append(_text(x + 4, TOP + PANEL + 16, "rolling restart (HUP)"))
    for share in range(5):
        at = end * share / 4
        parts.append(_text(_x(at, end), bottom + 18, f"{at:.1f} s", text_anchor="middle"))
    return "\n".join([*parts, "</svg>", ""])
