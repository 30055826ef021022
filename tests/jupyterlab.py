"""What a person does in a notebook in JupyterLab, as functions of a Playwright page."""

from playwright.sync_api import expect

from tests.lessons.conftest import PATIENCE_MS, TOKEN

expect.set_options(timeout=PATIENCE_MS)


def open_lesson(page, jupyterlab, lesson):
    """Open the learner's copy and wait for its kernel."""
    page.goto(f"{jupyterlab}/lab/tree/{lesson.slug}/{lesson.slug}.ipynb?token={TOKEN}")
    expect(page.locator(".jp-Notebook .jp-Cell").first).to_be_visible()
    # The status bar knows whether a kernel is connected; asked to run before that, JupyterLab asks for one.
    expect(page.locator("#jp-main-statusbar")).to_contain_text("| Idle")
    return page


def run_all(page, lesson):
    page.locator(".lm-MenuBar-item", has_text="Run").click()
    page.locator(".lm-Menu-item[data-command='runmenu:run-all']").click()
    # The last cell of a lesson shows the evidence, and JupyterLab scrolls to it.
    first_entry = f"E-{lesson.slug.partition('_')[0]}-01"
    expect(page.locator(".jp-OutputArea-output", has_text=first_entry)).to_be_visible()


def cell_with(page, text):
    """The code cell whose source holds `text`, scrolled into view. JupyterLab attaches only cells near the window."""
    outer = page.locator(".jp-WindowedPanel-outer").first
    cell = page.locator(".jp-CodeCell", has=page.locator(".cm-content", has_text=text)).first
    for top in range(0, 40_000, 400):
        if cell.count() and cell.is_visible():
            cell.scroll_into_view_if_needed()
            return cell
        outer.evaluate("(panel, top) => { panel.scrollTop = top }", top)
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    raise AssertionError(f"no cell holds {text!r}")


def run(page, text):
    cell = cell_with(page, text)
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    return cell


def write(page, start, source):
    """Replace the whole cell that holds `start` as a person would, and run it."""
    cell_with(page, start).locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(source)
    page.keyboard.press("Control+Enter")
