"""Collects what each client check found, and prints it as a table."""


class Failure(Exception):
    """A promise that a client found broken."""


class Results:
    """The outcome of every check, in the order in which they ran."""

    def __init__(self):
        self.rows = []

    def run(self, name, check, *arguments):
        """Runs one check, which returns a figure to print or raises."""
        try:
            outcome, figure = "passed", check(*arguments)
        except Exception as error:  # A check of a third-party client may fail in any way.
            outcome, figure = "FAILED", f"{type(error).__name__}: {error}"
        self.rows.append((outcome, name, figure))
        print(f"{outcome:8} {name}: {figure}", flush=True)

    def fail(self, name, error):
        """Notes a check that could not start."""
        self.rows.append(("FAILED", name, str(error)))
        print(f"{'FAILED':8} {name}: {type(error).__name__}: {error}", flush=True)

    def skip(self, name, reason):
        """Notes a check whose program is missing on this machine."""
        self.rows.append(("skipped", name, reason))
        print(f"{'skipped':8} {name}: {reason}", flush=True)

    def finish(self, allows_skips):
        """Prints the totals and returns the exit code: 0 if every check passed, or was skipped and may be."""
        count = lambda outcome: sum(row[0] == outcome for row in self.rows)
        print(f"\n{count('passed')} passed, {count('FAILED')} failed, {count('skipped')} skipped")
        if count("skipped") and not allows_skips:
            print("skipped checks count as failures: install what they need, or pass --allow-skips")
            return 1
        return 1 if count("FAILED") or not self.rows else 0


def require(condition, message):
    """Raises a `Failure` unless the condition holds."""
    if not condition:
        raise Failure(message)
