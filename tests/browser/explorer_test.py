# SPDX-License-Identifier: Apache-2.0
"""The page of `lockwarp explorer` in a real browser, against what the program itself says.

explorer_test.py PROGRAM [--shots FOLDER]
Exit status: 0 passed, 1 failed, 77 no browser here.
"""

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

import webdriver

PROGRAM = None
BROWSER = None
PAGE = None

# A page of each kind: instruction, architecture, operands with elements, lanes, registers to try.
KINDS = {
    "mma": ("mma.m16n8k16.f32.f16.f16.f32", "sm_90"),
    "mma of f64": ("mma.m8n8k4.f64.f64.f64.f64", "sm_80"),
    "mma of s4": ("mma.m16n8k64.s32.s4.s4.s32", "sm_80"),
    "mma of b1": ("mma.m16n8k256.s32.b1.b1.s32.xor.popc", "sm_80"),
    "mma of fp8": ("mma.m16n8k32.f32.e4m3.e4m3.f32", "sm_89"),
    "sparse mma": ("mma.sp.m16n8k32.f32.f16.f16.f32", "sm_80"),
    "Volta's mma": ("mma.m8n8k4.row.col.f32.f16.f16.f32", "sm_70"),
    "wmma of Volta": ("wmma.mma.m16n16k16.row.col.f32.f16.f16.f32", "sm_70"),
    "wmma": ("wmma.mma.m16n16k16.row.col.f32.f16.f16.f32", "sm_80"),
    "wgmma": ("wgmma.m64n64k16.f32.f16.f16", "sm_90"),
    "large wgmma": ("wgmma.m64n256k16.f32.f16.f16", "sm_90"),
    "ldmatrix": ("ldmatrix.x4", "sm_80"),
    "ldmatrix, transposed": ("ldmatrix.x2.trans", "sm_80"),
    "stmatrix": ("stmatrix.x4", "sm_90"),
    "movmatrix": ("movmatrix.trans", "sm_80"),
}


def ask(*words):
    done = subprocess.run([PROGRAM, *words, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def operands(key, arch):
    return ask("info", key, "--arch", arch)["operands"]


def part_of(place):
    return place.get("matrix", place.get("quad_pair", 0))


def link(key, arch, **rest):
    rest = {"i": key, "a": arch, **rest}
    return PAGE + "#" + "&".join(f"{n}={urllib.parse.quote(str(v), safe=':')}"
                                 for n, v in rest.items())


def said():
    return BROWSER.run("return document.getElementById('say').textContent")


def fragment():
    text = BROWSER.run("return location.hash.slice(1)")
    return dict(urllib.parse.parse_qsl(text))


def listed(attribute):
    """What the details list: places as tuples of numbers."""
    rows = BROWSER.run("return [...document.querySelectorAll('#details [data-' + arguments[0] + "
                       "']')].map(e => e.dataset[arguments[0]])", attribute)
    return sorted(tuple(map(int, r.split("."))) for r in rows)


def held_of(operand):
    rows = BROWSER.run("return [...document.querySelectorAll(`#details [data-operand=\"${arguments"
                       "[0]}\"] [data-held]`)].map(e => e.dataset.held)", operand)
    return sorted(tuple(map(int, r.split("."))) for r in rows)


def marked(name):
    """Cells with a class: operand, part, first row and column of each."""
    return BROWSER.run(
        "return [...document.querySelectorAll(`#blocks td.${arguments[0]}`)].map(td => {"
        "const e = elementOf(td); return `${e.op}.${e.row}.${e.column}.${e.part}`; }).sort()",
        name)


def cell(operand, row, column, part):
    """A selector of the cell with an element, and where in the cell the element is."""
    place = BROWSER.run(
        "const [op, r, c, p] = arguments, o = operand(op);"
        "if ((op === 'C' || op === 'D') && !grids.has(`${op}.${p}`))"
        "  document.querySelector(`[data-show='${op}']`).click();"
        "const td = cellOf(o, p, r, c), n = (o.down ? r : c) % o.run;"
        "return [td.parentNode.sectionRowIndex, td.cellIndex, o.down, o.run, n,"
        "td.closest('table').id]",
        operand, row, column, part)
    at = (place[4] + 0.5) / place[3]
    selector = (f"#{place[5]} tbody tr:nth-child({place[0] + 1}) "
                f":nth-child({place[1] + 1})")
    return selector, (0.5, at) if place[2] else (at, 0.5)


class Explorer(unittest.TestCase):
    def setUp(self):
        BROWSER.screen(1280, 900, False)

    def tearDown(self):
        self.assertEqual(BROWSER.complaints(), [])
        requests = BROWSER.requests()
        self.assertTrue(any(u.startswith("file:") for u in requests))  # the page itself is seen
        self.assertEqual([u for u in requests if not u.startswith(("file:", "data:", "about:"))],
                         [])

    def test_elements(self):
        for key, arch in KINDS.values():
            BROWSER.open(link(key, arch))
            for o in operands(key, arch):
                parts = o.get("matrices", o.get("quad_pairs", 1))
                for row, column, part in {(0, 0, 0), (o["rows"] - 1, o["columns"] - 1, parts - 1),
                                          (o["rows"] // 2, o["columns"] // 3, parts // 2)}:
                    selector, at = cell(o["name"], row, column, part)
                    BROWSER.click(selector, at)
                    owners = ask("where", key, o["name"], str(row), str(column), "--arch",
                                 arch)["owners"]
                    owners = [h for h in owners if part_of(h) == part]
                    expected = sorted((h["lane"], h["value"], h["register"], *h["bits"])
                                      for h in owners)
                    self.assertEqual(listed("owner"), expected, (key, o["name"], row, column))
                    text = said()
                    self.assertTrue(text.startswith(f"{o['name']}[{row}][{column}]"), text)
                    for h in owners:
                        lane = (f"lane {h['lane']}" if o["lanes"] == 32 else
                                f"warp {h['lane'] // 32} lane {h['lane'] % 32}")
                        self.assertRegex(text, rf"{o['name'].lower()}{h['value']} = {o['name']}"
                                               rf"\.r{h['register']}\S* @ {lane}\b")
                    self.assertEqual(len(marked("e")), 1)
                    pressed = BROWSER.run("return [...document.querySelectorAll('.lane[aria-pressed"
                                          "=true]')].map(b => Number(b.dataset.lane))")
                    self.assertEqual(sorted(pressed), sorted({h["lane"] for h in owners}))
                    self.assertEqual(fragment()["e"], f"{o['name']}.{row}.{column}.{part}")

    def test_lanes(self):
        for key, arch in KINDS.values():
            BROWSER.open(link(key, arch))
            each = operands(key, arch)
            for lane in (0, 13, each[0]["lanes"] - 1):
                BROWSER.click(f"#lanes [data-lane='{lane}']")
                for o in each:
                    there = ask("what", key, o["name"], "--lane", str(lane), "--arch", arch)
                    expected = sorted((h["row"], h["column"], part_of(h), h["value"],
                                       h["register"]) for h in there["elements"])
                    self.assertEqual(held_of(o["name"]), expected, (key, o["name"], lane))
                    self.assertIn(f"{len(expected)} element", said())
                self.assertEqual(fragment()["l"], str(lane))

    def test_registers(self):
        for key, arch in KINDS.values():
            each = operands(key, arch)
            lane = 17
            BROWSER.open(link(key, arch, l=lane))
            for o in each:
                if o["name"] == "C" and len(each) > 2:
                    continue  # in D's place
                reg = o["registers"] - 1
                BROWSER.click(f"#regs [data-register='{o['name']}.{lane}.{reg}']")
                there = ask("what", key, o["name"], "--lane", str(lane), "--reg", str(reg),
                            "--arch", arch)
                expected = sorted((h["row"], h["column"], part_of(h), h["value"], h["register"])
                                  for h in there["elements"])
                self.assertEqual(held_of(o["name"]), expected, (key, o["name"]))
                self.assertTrue(said().startswith(f"{o['name']}.r{reg} @ "), said())
                self.assertEqual(fragment()["r"], f"{o['name']}.{lane}.{reg}")

    def test_links_restore_the_view(self):
        for key, arch in KINDS.values():
            o = operands(key, arch)[0]
            selection = f"{o['name']}.{o['rows'] - 1}.1.0"
            for rest in ({"e": selection}, {"l": 6}, {"r": f"{o['name']}.5.0"}):
                BROWSER.open(link(key, arch, **rest))
                before = (said(), marked("e"), marked("l"))
                self.assertNotEqual(before[0], "")
                now = fragment()
                self.assertEqual((now["i"], now["a"]), (key, arch))
                shown = BROWSER.run("const a = document.getElementById('arch');"
                                    "return a.options[a.selectedIndex].textContent")
                self.assertTrue(shown.startswith(arch))
                address = BROWSER.run("return location.href")
                BROWSER.open(PAGE)
                BROWSER.run("location.hash = arguments[0]", address.split("#")[1])
                time.sleep(0.1)
                self.assertEqual((said(), marked("e"), marked("l")), before)

    def test_links_of_nothing(self):
        for text in ("i=nothing", "i=ldmatrix.x4&e=D.9.0.0", "i=%3Cimg%20src=x%20onerror=alert(1)%3E",
                     "i=ldmatrix.x4&l=32", "i=ldmatrix.x4&r=D.0.9", "i=ldmatrix.x4&e=constructor",
                     "a=sm_1&i=ldmatrix.x4&stride=7&swizzle=x&l=-1"):
            BROWSER.open(PAGE + "#" + text)
            self.assertIn("names no", said())
            self.assertEqual(BROWSER.run("return document.querySelectorAll('img').length"), 0)
            self.assertGreater(BROWSER.run("return document.querySelectorAll('#blocks td').length"),
                               0)

    def test_keyboard_in_the_matrices(self):
        for key, arch in KINDS.values():
            BROWSER.open(link(key, arch))
            BROWSER.keys("m")
            first = BROWSER.run("return {...cursor}")
            BROWSER.keys("ArrowDown", "ArrowRight", "ArrowRight", "ArrowLeft", "Enter")
            self.assertEqual(fragment()["e"], f"{first['op']}.1.1.0")
            BROWSER.keys("End", "PageDown", " ")
            o = next(o for o in operands(key, arch) if o["name"] == first["op"])
            row, column = o["rows"] - 1, o["columns"] - 1
            self.assertEqual(fragment()["e"], f"{first['op']}.{row}.{column}.0")
            # One cell takes part in the order of the keyboard, and it has a name.
            inside = BROWSER.run("return document.activeElement.closest('table').querySelectorAll("
                                 "'td[tabindex=\"0\"]').length")
            self.assertEqual(inside, 1)
            label = BROWSER.run("return document.activeElement.getAttribute('aria-label')")
            self.assertTrue(label.startswith(f"{o['name']}[{row}][{column}]"), label)
            self.assertRegex(label, "lane .* register")
            self.assertEqual(BROWSER.run("return document.activeElement.getAttribute("
                                         "'aria-selected')"), "true")
            BROWSER.keys("Escape")
            self.assertNotIn("e", fragment())
            self.assertEqual(said(), "")

    def test_keyboard_elsewhere(self):
        for key, arch in KINDS.values():
            BROWSER.open(link(key, arch))
            BROWSER.keys("l", "ArrowRight", "ArrowDown", "Enter")
            across = 4 if operands(key, arch)[0]["lanes"] == 32 else 32
            self.assertEqual(fragment()["l"], str(across + 1))
            BROWSER.keys("r", "ArrowDown", "Enter")
            name, lane, reg = fragment()["r"].split(".")
            self.assertEqual(int(lane), across + 1)
            self.assertTrue(said().startswith(f"{name}.r{reg} @ "))
            self.assertEqual(BROWSER.run("return document.activeElement.dataset.register"),
                             fragment()["r"])

    def test_choosing(self):
        BROWSER.open(PAGE)
        BROWSER.keys("/")
        self.assertEqual(BROWSER.run("return document.activeElement.id"), "search")
        BROWSER.keys(*"m64n128k16 f16.f16")
        BROWSER.keys("ArrowDown", "Enter")
        self.assertTrue(fragment()["i"].startswith("wgmma.m64n128k16."))
        BROWSER.run("document.activeElement.blur()")
        BROWSER.keys("/", *"SM80_16x8x8_F32TF32TF32F32_TN", "Enter")
        self.assertEqual(fragment()["i"], "mma.m16n8k8.f32.tf32.tf32.f32")
        self.assertEqual(BROWSER.run("return document.activeElement.getAttribute('aria-expanded')"),
                         "false")
        # Back goes to the instruction before.
        BROWSER.run("history.back()")
        time.sleep(0.2)
        self.assertTrue(BROWSER.run("return document.getElementById('key').textContent")
                        .startswith("wgmma.m64n128k16."))
        BROWSER.click("#examples a[href*='ldmatrix.x4']")
        self.assertEqual(fragment()["i"], "ldmatrix.x4")

    def test_architectures(self):
        key = KINDS["wmma"][0]
        BROWSER.open(link(key, "sm_70", e="A.3.7.0"))
        self.assertEqual(len(listed("owner")), 2)
        BROWSER.run("const a = document.getElementById('arch');"
                    "a.value = [...a.options].find(o => o.textContent.startsWith('sm_80')).value;"
                    "a.dispatchEvent(new Event('change'))")
        self.assertEqual(fragment()["a"], "sm_80")
        self.assertEqual(fragment()["e"], "A.3.7.0")
        owners = ask("where", key, "A", "3", "7", "--arch", "sm_80")["owners"]
        self.assertEqual(listed("owner"), sorted((h["lane"], h["value"], h["register"], *h["bits"])
                                                 for h in owners))

    def test_formulas_give_their_own_numbers(self):
        for key, arch in KINDS.values():
            for o in operands(key, arch):
                if not o.get("formulas"):
                    continue
                row, column = o["rows"] - 1, o["columns"] // 2
                BROWSER.open(link(key, arch, e=f"{o['name']}.{row}.{column}.0"))
                owner = listed("owner")[0]
                results = BROWSER.run(
                    "return [...document.querySelectorAll('.formula')].filter(p => "
                    "p.querySelector('span')).map(p => [p.firstChild.textContent.split(' ')[0],"
                    "p.lastChild.textContent])")
                wanted = {"row": row, "col": column, "i": owner[1], "lane": owner[0],
                          "thread": owner[0], "matrix": 0, "qp": 0}
                for name, text in results[:5]:
                    self.assertEqual(text, f"= {wanted[name]}", (key, o["name"], name))
                self.assertGreaterEqual(len(results), 4)

    def test_shared_memory(self):
        for key, stride, swizzle in itertools.product(
                ("ldmatrix.x1", "ldmatrix.x4", "stmatrix.x2"), (16, 128, 144, 512),
                ("none", "128B")):
            BROWSER.open(link(key, "sm_90", stride=stride, swizzle=swizzle))
            words = ["--swizzle", "3,4,3"] if swizzle != "none" else []
            expected = ask("banks", key, "--stride", str(stride), *words)
            text = BROWSER.run("return document.getElementById('wavefronts').textContent")
            self.assertTrue(text.startswith(f"{expected['wavefronts']} wavefront"), text)
            titles = BROWSER.run("return [...document.querySelectorAll('.phase h3')].map(h => "
                                 "h.textContent)")
            self.assertEqual([int(re.search(r"(\d+) wavefront", t)[1]) for t in titles],
                             [p["wavefronts"] for p in expected["phases"]])
            shown = BROWSER.run("return [...document.querySelectorAll('.bank td[data-lane]')].map("
                                "td => Number(td.textContent))")
            self.assertEqual(shown, expected["addresses"])
        BROWSER.open(link("ldmatrix.x4", "sm_90"))
        BROWSER.run("const s = document.getElementById('stride'); s.value = '64';"
                    "s.dispatchEvent(new Event('change'))")
        self.assertEqual(fragment()["stride"], "64")
        BROWSER.click(".bank td[data-lane='9']")
        self.assertIn("row 1 of matrix 1", said())

    def test_dot_products(self):
        for arch in ("sm_80", "sm_90"):
            key = KINDS["mma"][0]
            expected = ask("explain", key, "D", "0", "0", "--arch", arch)
            BROWSER.open(link(key, arch))
            text = BROWSER.run("return document.getElementById('trace').textContent")
            self.assertIn(f"D[0][0] = {expected['results'][0]['result']}", text)
            self.assertIn(expected["results"][0]["rule"], text)
            selector, at = cell("D", 3, 5, 0)
            BROWSER.click(selector, at)
            self.assertEqual(marked("d"), sorted([f"A.3.{k}.0" for k in range(16)] +
                                                 [f"B.{k}.5.0" for k in range(16)]))
            first = BROWSER.run("return document.querySelector('#trace [data-element]').textContent")
            owner = ask("where", key, "A", "3", "0", "--arch", arch)["owners"][0]
            self.assertEqual(first, f"{owner['lane']}:r{owner['register']}")
            BROWSER.click("#trace [data-element='B.4.5.0']")
            self.assertTrue(said().startswith("B[4][5] = "), said())
            BROWSER.run("const s = document.getElementById('sum'); s.value = '1';"
                        "s.dispatchEvent(new Event('change'))")
            self.assertEqual(fragment()["sum"], "1")
            self.assertIn("ABSORBED", BROWSER.run("return document.getElementById('trace')"
                                                  ".textContent"))

    def test_pointer_previews(self):
        BROWSER.open(link(*KINDS["mma"]))
        box = BROWSER.run("const b = document.querySelector('#g-A-0 tbody tr:nth-child(4) "
                          ":nth-child(9)').getBoundingClientRect();"
                          "return [b.left + b.width / 2, b.top + b.height / 2]")
        BROWSER.pointer(*box, False)
        text = BROWSER.run("return document.getElementById('hover').textContent")
        self.assertTrue(text.startswith("A[3][7] = a1 = A.r0[31:16] @ lane 15"), text)
        self.assertEqual(len(marked("p")), 8)
        self.assertNotIn("e", fragment())

    def test_narrow_screens(self):
        for dark in (False, True):
            for key, arch in KINDS.values():
                BROWSER.screen(390, 844, dark)
                o = operands(key, arch)[0]
                BROWSER.open(link(key, arch, e=f"{o['name']}.1.1.0"))
                width = BROWSER.run("return document.documentElement.scrollWidth")
                self.assertLessEqual(width, 390, key)
                theme = BROWSER.run("return document.documentElement.dataset.theme")
                self.assertEqual(theme, "dark" if dark else "light")

    def test_names_for_screen_readers(self):
        for key, arch in KINDS.values():
            BROWSER.open(link(key, arch))
            nameless = BROWSER.run(
                "return [...document.querySelectorAll('button, select, input, [role=grid]')]"
                ".filter(e => !(e.getAttribute('aria-label') || e.textContent.trim() ||"
                "(e.labels && e.labels.length))).map(e => e.outerHTML.slice(0, 90))")
            self.assertEqual(nameless, [])
            twice = BROWSER.run("const ids = [...document.querySelectorAll('[id]')].map(e => e.id);"
                                "return ids.filter((x, n) => ids.indexOf(x) !== n)")
            self.assertEqual(twice, [])

    def test_buttons(self):
        BROWSER.devtools("Browser.grantPermissions", permissions=["clipboardReadWrite"])
        BROWSER.open(link(*KINDS["ldmatrix"], l=3))
        BROWSER.click("#copy")
        time.sleep(0.2)
        self.assertIn("copied", BROWSER.run("return document.getElementById('copy').textContent"))
        for theme in ("light", "dark", "auto"):
            BROWSER.click("#theme")
            self.assertEqual(BROWSER.run("return document.getElementById('theme').textContent"),
                             f"Theme: {theme}")
            self.assertEqual(BROWSER.run("return document.documentElement.dataset.theme"),
                             "dark" if theme == "dark" else "light")
        # Without single letters as shortcuts the page leaves them alone.
        BROWSER.run("document.getElementById('help').open = true;"
                    "document.getElementById('single').click(); document.activeElement.blur()")
        BROWSER.keys("/", "m")
        self.assertEqual(BROWSER.run("return document.activeElement.tagName"), "BODY")

    def test_accumulators(self):
        key, arch = KINDS["mma"]
        BROWSER.open(link(key, arch, e="D.2.3.0"))
        BROWSER.click("[data-show='C']")
        self.assertEqual((fragment()["e"], fragment()["c"]), ("C.2.3.0", "C"))
        self.assertTrue(said().startswith("C[2][3] = c1 = C.r1 @ lane 9"), said())

    def test_choosing_is_quick(self):
        for name in ("mma", "mma of b1", "wgmma", "large wgmma"):
            key, arch = KINDS[name]
            BROWSER.open(PAGE)
            spent = BROWSER.run(
                "const t = performance.now(); location.hash = arguments[0]; readLink();"
                "document.body.offsetHeight; return performance.now() - t",
                link(key, arch).split("#")[1])
            print(f"{key}: {spent:.0f} ms", file=sys.stderr)
            self.assertLess(spent, 2000)  # here it is far less; a slow machine may be under load


def shots(folder):
    os.makedirs(folder, exist_ok=True)
    for (name, (key, arch)), width, dark in itertools.product(KINDS.items(), (1280, 390), (0, 1)):
        BROWSER.screen(width, 900, bool(dark))
        o = operands(key, arch)[-1]
        BROWSER.open(link(key, arch, e=f"{o['name']}.1.1.0"))
        height = BROWSER.run("return document.documentElement.scrollHeight")
        BROWSER.screen(width, min(height, 3000), bool(dark))
        file = re.sub(r"\W+", "-", name)
        BROWSER.shot(f"{folder}/{file}-{width}-{'dark' if dark else 'light'}.png", False)


def main():
    global PROGRAM, BROWSER, PAGE
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--shots", help="write pictures of every kind of page into a folder")
    parser.add_argument("tests", nargs="*")
    o = parser.parse_args()
    found = webdriver.find()
    if not found:
        print("skipped: no chromium and chromedriver here (Debian: chromium, chromium-driver)")
        return 77
    PROGRAM = os.path.abspath(o.program)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "lanes.html")
        subprocess.run([PROGRAM, "explorer", "--out", path], check=True)
        PAGE = "file://" + path
        BROWSER = webdriver.Browser(*found)
        try:
            if o.shots:
                shots(o.shots)
                return 0
            suite = unittest.defaultTestLoader.loadTestsFromNames(o.tests or ["Explorer"],
                                                                  sys.modules[__name__])
            return 0 if unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful() else 1
        finally:
            BROWSER.close()


if __name__ == "__main__":
    sys.exit(main())
