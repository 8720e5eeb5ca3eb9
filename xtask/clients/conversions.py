"""Schedules that Lineside converts or serves, checked by itself and by the reference validator."""

import json
import subprocess
from pathlib import Path

from results import require


def check_conversion(binary, source, archive):
    """A NeTEx publication becomes GTFS in which our own check finds no error."""
    command = [binary, "convert", source, "--to", "gtfs", "--output", archive]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    require(run.returncode == 0 and archive.is_file(), run.stderr[-400:] or "no output")
    command = [binary, "check", archive, "--format", "json", "--fail-on", "never"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    require(run.returncode == 0, run.stderr[-400:])
    errors = [notice["code"] for notice in json.loads(run.stdout)["notices"] if notice["severity"] == "ERROR"]
    require(not errors, f"errors: {errors}")
    return "no errors"


def check_with_reference(java, classpath, archive, reports):
    """gtfs-validator finds no error."""
    source = Path(__file__).with_name("GtfsCheck.java")
    command = [java, "-cp", f"{classpath}/*", source, reports, archive]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    require(run.returncode == 0, (run.stdout + run.stderr)[-600:])
    return "no errors"
