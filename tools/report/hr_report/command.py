"""Compare runs that `hr-launch --record FILE` has kept: a static page with plots, nothing loaded from elsewhere.

A FILE is a run. A DIR is as many as it has *.jsonl, in the order of their names; a folder in it is one run too: its *.jsonl are the
processes of that run (a pipeline and the trainer beside it, or ranks), and are added up. Ranks of a run that is spread over nodes know each
other: beside each other in a DIR they are one run.
"""
import argparse
import pathlib
import sys

from .find import find_runs
from .output import write, write_stdout
from .page import page
from .record import BadRun
from .run import Run


class Help(argparse.HelpFormatter):
    """options as the other tools print them, an option a line"""

    def __init__(self, prog):
        super().__init__(prog, max_help_position=40, width=1000)

    def _format_action_invocation(self, action):
        text = ", ".join(action.option_strings)
        return f"{text}={action.metavar}" if action.option_strings and action.metavar else text or str(action.metavar)


class Say(argparse.Action):
    """an option that says something and ends the program: argparse's own never learn that nobody could read it"""

    def __init__(self, option_strings, dest, text, **how):
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, **how)
        self.text = text

    def __call__(self, parser, *_):
        write_stdout(self.text())
        parser.exit()


def parse_arguments(version):
    parser = argparse.ArgumentParser(prog="hr-report", formatter_class=Help, allow_abbrev=False, add_help=False, description=" ".join(__doc__.split()),
                                     epilog="Exit status: 0 written, 1 a file cannot be read or written, 2 wrong usage.")
    parser.add_argument("-h", "--help", action=Say, text=parser.format_help, help="Show help options")
    parser.add_argument("-o", "--output", metavar="FILE", default="report.html", help="Where the page goes (report.html); - is stdout")
    parser.add_argument("--title", metavar="TEXT", default="Headrace: runs compared", help="The page's title")
    parser.add_argument("--note", metavar="TEXT", default="", help="A paragraph below the title")
    parser.add_argument("--version", action=Say, text=lambda: f"hr-report {version}\n", help="Print the version")
    parser.add_argument("runs", metavar="DIR|FILE", nargs="+", type=pathlib.Path, help="Files of runs, or folders with them")
    return parser.parse_args()


def main(version):
    try:
        options = parse_arguments(version)
        found = find_runs(options.runs)
        text = "\n".join(page([Run(name, paths) for name, paths in found], options.title, options.note))
        write(options.output, text, [path for _, paths in found for path in paths])
    except BrokenPipeError:  # whoever reads stdout has enough
        return 1
    except (BadRun, OSError) as error:
        what = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else error
        print(f"hr-report: {what}", file=sys.stderr)
        return 1
    return 0
