"""What axe-core finds on a page that is open, in parts, so that no part is done twice.

Rules about the structure of a page concern every page. Whether words can be read in their colours depends on their style
alone, so axe looks at one place of every style that the site has, on whichever page has it first.
"""

COLOURS = ["color-contrast", "link-in-text-block"]
FORMULAS = [["mjx-container > svg"]]  # strokes, which MathJax hides from screen readers and reads out in words
STILL = "* {transition: none !important; animation: none !important}"  # nothing moves while colours are measured
# Of words of code that look alike axe is shown one, and of a table four rows, which is twice as fast.
SHORTENED = """() => {
    const seen = new Set()
    for (const word of document.querySelectorAll("pre span[class]:not(:has(*))")) {
        const look = [word.className, word.closest("[class*=cell_]")?.className].join(" in ")
        if (seen.has(look)) word.remove()
        seen.add(look)
    }
    for (const row of document.querySelectorAll("tr:nth-child(n+5)")) row.remove()
}"""
# Mark one element of every style that has not been seen, and return these styles: the colour, size and weight of its
# words, what the elements around them paint, and, for a link, how it stands out from the text beside it.
NEW_STYLES = """(seen) => {
    const known = new Set(seen), found = [], below = new Map()
    const paint = (style) => [style.backgroundColor, style.backgroundImage, style.opacity, style.filter].join(" ")
    const ground = (element) => {
        if (!element) return ""
        if (!below.has(element)) {
            const own = paint(getComputedStyle(element)), rest = ground(element.parentElement)
            below.set(element, rest.endsWith(own) ? rest : `${rest}; ${own}`)
        }
        return below.get(element)
    }
    const words = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim())
    for (const element of document.querySelectorAll("[data-new-style]")) element.removeAttribute("data-new-style")
    for (const element of document.body.querySelectorAll("*:not(mjx-container *)")) {
        if (!words(element) || !element.checkVisibility()) continue
        const style = getComputedStyle(element), link = element.closest("a[href]")
        const line = link && getComputedStyle(link), beside = link && getComputedStyle(link.parentElement)
        const key = [
            element.localName, style.color, style.fontSize, style.fontWeight, style.textShadow, style.position,
            ground(element),
            link && [line.textDecorationLine, line.borderBottomStyle, line.fontWeight, line.color, beside.color],
        ].join("; ")
        if (known.has(key)) continue
        known.add(key)
        found.push(key)
        element.setAttribute("data-new-style", "")
    }
    return found
}"""


def faults_of_structure(visitor, axe):
    """Return the faults of the open page, colours aside. It is not the same afterwards: much of it has been cut."""
    visitor.run(SHORTENED)
    visitor.settle()
    return _serious_faults(visitor, axe, {"rules": {rule: {"enabled": False} for rule in COLOURS}})


def faults_of_colour(visitor, axe, seen):
    """Return the faults of all styles that are new, which join the set of those that were seen."""
    visitor.page.add_style_tag(content=STILL)
    new = visitor.page.evaluate(NEW_STYLES, sorted(seen))
    seen.update(new)
    return _serious_faults(visitor, axe, {"runOnly": COLOURS}, [["[data-new-style]"]]) if new else []


def _serious_faults(visitor, axe, rules, include=None):
    """Return what axe calls serious or critical: (rule, element, why)."""
    context = {"exclude": FORMULAS} | ({} if include is None else {"include": include})
    found = axe.run(visitor.page, context, {"resultTypes": ["violations"]} | rules).response["violations"]
    return [
        (fault["id"], " ".join(map(str, node["target"])), node["failureSummary"])
        for fault in found
        if fault["impact"] in {"serious", "critical"}
        for node in fault["nodes"]
    ]
