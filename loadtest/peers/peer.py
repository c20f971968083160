"""What a peer is: an engine that takes in the generator's lines and answers the benchmark's questions.

A peer runs in a process and a Python environment of its own (`worker.py`); its module is also read by the
driver, which has no engine installed, so engines are imported when they are opened. Answers are rows as
Karst gives them (`_raw`, `count`, `avg(latency_ms)`, ...), so that one check holds for all.
"""


class Peer:
    """One engine over one directory."""

    name = ""
    # What is installed from the Python package registry, and the module that shows it works.
    pins = ()
    module = ""
    # How it is set up, in a sentence for the report.
    settings = ""
    # Kinds of question it has no answer for, and why; remarks about others.
    cannot = {}
    remarks = {}

    def __init__(self, folder):
        self.folder = folder

    def load(self, file):
        """Takes in a file of lines, into an empty directory, until nothing is left to be done; returns how
        many bytes are kept."""
        raise NotImplementedError

    def open(self):
        """Opens what was loaded; returns the engine's version."""
        raise NotImplementedError

    def answer(self, ask):
        """The rows of a question: the method of its kind, called with its values."""
        return getattr(self, ask.kind)(ask, *ask.values)


class SqlPeer(Peer):
    """An engine that is asked in SQL: a statement for each kind of question.

    In a statement {0}, {1} are the question's values and {within} its time range, a condition.
    """

    statements = {}
    # The condition of a range, given {start} and {end} in microseconds.
    range = ""

    def answer(self, ask):
        within = ""
        if ask.within:
            start, end = ask.within
            within = self.range.format(start=start, end=end)
        return self.rows(self.statements[ask.kind].format(*ask.values, within=within))

    def rows(self, statement):
        raise NotImplementedError
