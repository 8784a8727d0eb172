# SPDX-License-Identifier: GPL-3.0-or-later
"""Opens a page of orrery report in headless Chromium and uses it as a reader does: report_browser.py PAGE ROWS.

ROWS: number of rows of a table that the page must have; 0: any. Prints one line for each fault.
"""
import base64
import os
import sys

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.chrome.service import Service

NOT_FOLDED = ":not(details:not([open]) *)"
CONTRAST = """
const parse = c => c.match(/[0-9.]+/g).map(Number);
const light = c => { const [r, g, b] = c.slice(0, 3).map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const behind = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
  if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
let worst = 99;
document.querySelectorAll("h1, h2, h3, p, li, a, td, th button, dd, dt, caption, figcaption, summary, span, button, pre").forEach(e => {
  if (!e.textContent.trim() || e.disabled) return;
  const a = light(parse(getComputedStyle(e).color)), b = light(behind(e));
  worst = Math.min(worst, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)); });
document.querySelectorAll("svg text").forEach(e => {
  const own = e.previousElementSibling, onCell = own && own.tagName === "rect" && e.hasAttribute("style");
  const hex = onCell ? own.getAttribute("fill") : "#ffffff";
  const a = light(parse(getComputedStyle(e).fill)), b = light([1, 3, 5].map(i => parseInt(hex.substr(i, 2), 16)));
  worst = Math.min(worst, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)); });
return worst;
"""


def column(box, k):
    return box.parent.execute_script(
        "return [...arguments[0].querySelector('tbody').rows].map(r => r.cells[arguments[1]].textContent)", box, k)


def rows_of(box):
    return box.parent.execute_script("return [...arguments[0].querySelector('tbody').rows].map(r => r.textContent)", box)


def number(text):
    return float(text.split()[0]) if text else None


def check_table(driver, box, fault):
    """Sorts by the first number column, with Enter, and filters by a word of the first row."""
    heads = box.find_elements(By.TAG_NAME, "th")
    k = next(i for i, h in enumerate(heads) if "number" in h.get_attribute("class"))
    button = heads[k].find_element(By.TAG_NAME, "button")
    for direction, sign in ("ascending", 1), ("descending", -1):
        driver.execute_script("arguments[0].focus()", button)
        button.send_keys(Keys.ENTER)
        if heads[k].get_attribute("aria-sort") != direction:
            fault("aria-sort is %s, expected %s" % (heads[k].get_attribute("aria-sort"), direction))
        values = [sign * v for v in map(number, column(box, k)) if v is not None]
        if values != sorted(values):
            fault("not sorted %s: %s" % (direction, values[:5]))
    word = column(box, k)[0]
    field = box.find_element(By.TAG_NAME, "input")
    field.send_keys(word)
    rows = rows_of(box)
    if not rows or any(word not in r for r in rows):
        fault("the filter \"%s\" leaves other rows" % word)
    field.send_keys("zzzz-not-there")
    if rows_of(box):
        fault("a filter without matches leaves rows")
    driver.execute_script("arguments[0].value = ''; arguments[0].dispatchEvent(new Event('input'))", field)


def check_zoom(driver, figure, fault):
    view = figure.find_element(By.CSS_SELECTOR, "svg.view")
    before, tics = view.get_dom_attribute("viewBox"), figure.find_element(By.CSS_SELECTOR, "g.tics-x").get_attribute("textContent")
    button = figure.find_element(By.CSS_SELECTOR, ".tools button")
    driver.execute_script("arguments[0].focus()", button)
    button.send_keys(Keys.ENTER)
    if view.get_dom_attribute("viewBox") == before:
        fault("the timeline does not zoom")
    if figure.find_element(By.CSS_SELECTOR, "g.tics-x").get_attribute("textContent") == tics:
        fault("the tics do not follow the zoom")


def check_keys(driver, fault):
    """Every button, link and field is reached by Tab in a page that is small."""
    driver.execute_script("const h = document.querySelector('h1'); h.tabIndex = -1; h.focus()")
    wanted = driver.execute_script("""return [...document.querySelectorAll('a[href], button:not(:disabled), input, summary')]
      .filter(e => e.checkVisibility()).length""")
    reached = set()
    body = driver.find_element(By.TAG_NAME, "body")
    for _ in range(min(wanted, 150) + 40):
        driver.switch_to.active_element.send_keys(Keys.TAB)
        active = driver.switch_to.active_element
        if active == body:
            break
        if active.tag_name in ("a", "button", "input", "summary"):
            reached.add(active.id)
    if len(reached) < min(wanted, 150):
        fault("Tab reaches %d of %d controls" % (len(reached), wanted))


def main():
    path, longest = os.path.abspath(sys.argv[1]), int(sys.argv[2])

    def fault(text):
        print(text)

    options = webdriver.ChromeOptions()
    for flag in "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1600,1000":
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    try:
        driver.get("about:blank")
        # CPU time of the page's thread: wall time would measure how busy the machine is.
        driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        driver.get("file://" + path)
        took = {m["name"]: m["value"] for m in driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]}["TaskDuration"]
        if took > 3:
            fault("opening takes %.1f s, expected less than 3 s" % took)
        if os.path.getsize(path) > 5e6:
            fault("%d bytes, expected at most 5 MB" % os.path.getsize(path))
        boxes = driver.find_elements(By.CSS_SELECTOR, "div.table" + NOT_FOLDED)
        if not boxes or longest and not any(str(longest) + " rows" in b.find_element(By.CSS_SELECTOR, "[role=status]").text for b in boxes):
            fault("no table with %s rows" % (longest or "any"))
        for box in boxes:
            check_table(driver, box, fault)
        for figure in driver.find_elements(By.CSS_SELECTOR, "figure.zoom" + NOT_FOLDED)[:3]:
            check_zoom(driver, figure, fault)
        for summary in driver.find_elements(By.TAG_NAME, "summary")[:1]:
            summary.send_keys(Keys.ENTER)
            if summary.find_element(By.XPATH, "..").get_attribute("open") is None:
                fault("Enter does not unfold: %s" % summary.text)
        worst = driver.execute_script(CONTRAST)
        if worst < 4.5:
            fault("contrast %.2f, expected at least 4.5" % worst)
        check_keys(driver, fault)
        for width in 400, 1600:
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                   {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
            wide = driver.execute_script("return document.documentElement.scrollWidth")
            if wide > width:
                fault("at %d px the page is %d px wide" % (width, wide))
        pdf = base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", {})["data"])
        if not pdf.startswith(b"%PDF") or len(pdf) < 10000:
            fault("printed as %d bytes" % len(pdf))
        if driver.execute_script("return document.querySelectorAll('main script, main img, main iframe').length"):
            fault("a label became an element")
        for entry in driver.get_log("browser"):
            fault("console: %s" % entry["message"])
    finally:
        driver.quit()


main()
