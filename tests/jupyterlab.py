"""What a person does in a notebook in JupyterLab, as functions of a Playwright page.

Whatever acts waits first until the page has taken in what was done before (see `settled`): a key that meets a slider
which is being rebuilt is lost.
"""

from contextlib import contextmanager

from playwright.sync_api import TimeoutError as NotInTime
from playwright.sync_api import expect

TOKEN = "a-token-for-tests"
PATIENCE_MS = 120_000  # upper bound of one wait; waits end as soon as the page shows what is waited for
expect.set_options(timeout=PATIENCE_MS)

CONNECTED = """() => {
    const kernel = jupyterapp.shell.currentWidget.sessionContext.session?.kernel
    return kernel?.connectionStatus === 'connected' && kernel.status === 'idle'
}"""
# A request is answered when JupyterLab has dealt with all that came back for it. A later request cannot stand for an
# earlier one: the kernel answers widgets in a thread of their own.
WATCH_KERNEL = """() => {
    const kernel = jupyterapp.shell.currentWidget.sessionContext.session.kernel
    window.unanswered = new Map()
    window.quietFrames = 0
    kernel.anyMessage.connect((_, { msg, direction }) => {
        if (direction === 'send' && msg.channel === 'shell') unanswered.set(msg.header.msg_id, msg.header.msg_type)
    })
    kernel.iopubMessage.connect((_, msg) => {
        if (msg.content.execution_state === 'idle') unanswered.delete(msg.parent_header.msg_id)
    })
}"""
# An answer may lead to another request or to a change of the page, but within the next frames.
SETTLED = """() => {
    quietFrames = unanswered.size ? 0 : quietFrames + 1
    if (quietFrames < 3) return false
    quietFrames = 0
    return true
}"""
CELLS = "jupyterapp.shell.currentWidget.content.widgets"
PLACE = f"text => {CELLS}.findIndex(({{ model }}) => model.type === 'code' && model.sharedModel.source.includes(text))"
HOLDS = f"([place, source]) => {CELLS}[place].model.sharedModel.source === source"


def open_lesson(page, jupyterlab, lesson):
    """Open the learner's copy and wait for its kernel."""
    # A workspace of its own, so that no tab of another lesson opens beside it.
    page.goto(f"{jupyterlab}/lab/workspaces/{lesson.key}/tree/{lesson.slug}/{lesson.slug}.ipynb?token={TOKEN}")
    expect(page.locator(".jp-Notebook .jp-Cell").first).to_be_visible()
    page.wait_for_function(CONNECTED)  # asked to run before that, JupyterLab asks for a kernel
    page.evaluate(WATCH_KERNEL)


def run_all(page, lesson):
    page.locator(".lm-MenuBar-item", has_text="Run").click()
    page.locator(".lm-Menu-item[data-command='runmenu:run-all']").click()
    # The last cell of a lesson shows the evidence, and JupyterLab scrolls to it.
    expect(page.locator(".jp-OutputArea-output", has_text=f"E-{lesson.number}-01")).to_be_visible()


def settled(page):
    """Wait until the kernel has answered everything, and the page shows it."""
    try:
        page.wait_for_function(SETTLED)
    except NotInTime:
        waiting = page.evaluate("() => [...unanswered.values()].join(', ')")
        raise AssertionError(f"after {PATIENCE_MS / 1000:.0f} s the kernel has not answered: {waiting}") from None


def cell_with(page, text):
    """The first code cell whose source holds `text`, scrolled into view."""
    cell = _cell(page, _place(page, text))
    cell.scroll_into_view_if_needed()
    return cell


def run(page, text):
    """Run the cell that holds `text` to its end."""
    cell = _execute(page, _cell_for_typing(page, _place(page, text)))
    settled(page)
    return cell


def write(page, start, source):
    """Replace the whole cell that holds `start` as a person would, and start it."""
    place = _place(page, start)
    cell = _cell_for_typing(page, place)
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(source)
    try:
        page.wait_for_function(HOLDS, arg=[place, source])
    except NotInTime:
        raise AssertionError(f"the cell does not hold what was typed, but {cell.inner_text()!r}") from None
    return _execute(page, cell)


def _place(page, text) -> int:
    place = page.evaluate(PLACE, text)
    assert place >= 0, f"no code cell holds {text!r}"
    return place


def _cell(page, place):
    return page.locator(f".jp-CodeCell[data-windowed-list-index='{place}']")


def _cell_for_typing(page, place):
    settled(page)
    cell = _cell(page, place)
    editor = cell.locator(".cm-content")
    editor.click()
    expect(editor).to_be_focused()
    return cell


def _execute(page, cell):
    # A cell that was started shows a star, then a number that no run had before.
    prompt = cell.locator(".jp-InputPrompt")
    before = prompt.text_content()
    page.keyboard.press("Control+Enter")
    expect(prompt, "the cell was not run").not_to_have_text(before)
    return cell


class ExplorerCell:
    """The explorer of the cell that holds `text`: `reading` and `picture`, and in `seen` every picture so far.

    An action names what the reading must contain afterwards. Reading and picture must both be new ones; with `kept` the
    picture must be the same.
    """

    def __init__(self, page, text):
        settled(page)
        self.page, self.cell = page, cell_with(page, text)
        self.reading, self.picture = self.cell.locator(".kv-reading"), self.cell.locator("img.kv-picture")
        self.seen = [self.picture.get_attribute("src")]

    def press(self, css, key, text, kept=False):
        """One key on a slider or a switch."""
        handle = self.cell.locator(f".{css}").locator("[role=slider], [type=checkbox]")
        with self._taken_in(f"{key} on {css}", text, kept):
            handle.focus()
            expect(handle).to_be_focused()
            self.page.keyboard.press(key)

    def choose(self, css, option, text, kept=False):
        """One option of a list."""
        with self._taken_in(f"{option!r} in {css}", text, kept):
            self.cell.locator(f".{css} select").select_option(option)

    def fill(self, css, typed, text, leave_by="Enter", kept=False):
        """A text typed into a field, and the key that leaves it."""
        field = self.cell.locator(f".{css}").locator("input, textarea")
        with self._taken_in(f"{typed!r} in {css}", text, kept):
            field.fill(typed)
            field.press(leave_by)

    @contextmanager
    def _taken_in(self, action, text, kept):
        settled(self.page)
        before = self.reading.text_content()
        yield
        settled(self.page)
        expect(self.reading, f"after {action}").to_contain_text(text)
        expect(self.reading, f"the same reading after {action}").not_to_have_js_property("textContent", before)
        if not kept:
            expect(self.picture, f"no new picture after {action}").not_to_have_attribute("src", self.seen[-1])
        settled(self.page)
        picture = self.picture.get_attribute("src")
        if kept:
            assert picture == self.seen[-1], f"another picture after {action}"
        else:
            self.seen.append(picture)
