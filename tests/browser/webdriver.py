# SPDX-License-Identifier: Apache-2.0
"""A browser driven over the WebDriver protocol, with Python's standard library alone."""

import base64
import json
import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "ArrowLeft": "\ue012", "ArrowUp": "\ue013",
        "ArrowRight": "\ue014", "ArrowDown": "\ue015", "Home": "\ue011", "End": "\ue010",
        "PageUp": "\ue00e", "PageDown": "\ue00f",
        "Tab": "\ue004", "Shift": "\ue008", "Space": " "}


def find():
    """The browser and its driver, or None where one is absent."""
    driver = shutil.which("chromedriver")
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    return (browser, driver) if browser and driver else None


class Browser:
    def __init__(self, browser, driver):
        read, write = os.pipe()
        self.process = subprocess.Popen([driver, "--port=0"], stdout=write,
                                        stderr=subprocess.DEVNULL)
        os.close(write)
        port = None
        with os.fdopen(read) as out:
            for line in out:
                if "on port " in line and "successfully" in line:
                    port = int(line.split("on port ")[1].strip().rstrip("."))
                    break
        self.base = f"http://127.0.0.1:{port}"
        options = {"binary": browser,
                   "args": ["--headless=new", "--no-sandbox", "--disable-gpu",
                            "--disable-dev-shm-usage", "--hide-scrollbars",
                            "--force-device-scale-factor=1"]}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options,
                  "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = f"/session/{answer['sessionId']}"

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data=data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as e:
            raise RuntimeError(e.read().decode()[:600]) from e

    def post(self, path, body):
        return self.call("POST", self.session + path, body)

    def devtools(self, command, **parameters):
        return self.post("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, url):
        # A change of the fragment alone loads nothing.
        self.post("/url", {"url": "about:blank"})
        self.post("/url", {"url": url})

    def run(self, script, *args):
        return self.post("/execute/sync", {"script": script, "args": list(args)})

    def element(self, selector):
        return self.post("/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector, part=(0.5, 0.5)):
        """Clicks with the pointer, at a part of the element's width and height."""
        box = self.post("/execute/async", {"args": [selector], "script":
                        "const [selector, done] = arguments;"
                        "const e = document.querySelector(selector);"
                        "e.scrollIntoView({block: 'center', inline: 'center'});"
                        # What comes into sight is laid out first.
                        "requestAnimationFrame(() => requestAnimationFrame(() => {"
                        "const b = e.getBoundingClientRect();"
                        "done([b.left, b.top, b.width, b.height]); }))"})
        x, y = box[0] + box[2] * part[0], box[1] + box[3] * part[1]
        self.pointer(x, y, True)

    def pointer(self, x, y, click):
        actions = [{"type": "pointerMove", "duration": 0, "x": int(x), "y": int(y)}]
        if click:
            actions += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self.post("/actions", {"actions": [{"type": "pointer", "id": "mouse",
                                            "parameters": {"pointerType": "mouse"},
                                            "actions": actions}]})

    def keys(self, *names, shift=False):
        down = []
        if shift:
            down.append({"type": "keyDown", "value": KEYS["Shift"]})
        for name in names:
            value = KEYS.get(name, name)
            down += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        if shift:
            down.append({"type": "keyUp", "value": KEYS["Shift"]})
        self.post("/actions", {"actions": [{"type": "key", "id": "keys", "actions": down}]})

    def screen(self, width, height, dark):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height,
                      deviceScaleFactor=1, mobile=width < 600)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.devtools("Emulation.setEmulatedMedia", features=[scheme])

    def shot(self, path, whole=True):
        time.sleep(0.3)
        answer = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as f:
            f.write(base64.b64decode(answer["data"]))

    def complaints(self):
        """Errors and warnings of the console since the last call."""
        return [e["message"] for e in self.post("/se/log", {"type": "browser"})
                if e["level"] in ("SEVERE", "WARNING")]

    def requests(self):
        """Addresses asked for since the last call."""
        out = []
        for e in self.post("/se/log", {"type": "performance"}):
            message = json.loads(e["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                out.append(message["params"]["request"]["url"])
        return out

    def close(self):
        try:
            self.call("DELETE", self.session)
        finally:
            self.process.terminate()
            self.process.wait()
