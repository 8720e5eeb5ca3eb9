"""Real clients of Lineside, run by `cargo xtask deep clients`.

The environment names what there is: LINESIDE_BIN, PUBLICATIONS (a folder of NeTEx), JAVA, OTP_JAR,
GBFS_CLASSPATH, BODS_PYTHON. What is missing is skipped and counted.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import opentripplanner as otp
import sdks
from demo import Demo
from results import Results, require


def main():
    results = Results()
    with tempfile.TemporaryDirectory(prefix="lineside-clients-") as name:
        folder = Path(name)
        binary = os.environ["LINESIDE_BIN"]
        demo = Demo(binary, folder)
        try:
            check_live(results, demo, folder)
        finally:
            demo.stop()
        check_conversions(results, binary, folder)
    return results.finish()


def check_live(results, demo, folder):
    results.run("server-sent events (httpx-sse, sseclient-py)", sdks.check_event_streams, demo)
    results.run("OpenAPI description (openapi-spec-validator)", sdks.check_openapi, demo)
    results.run("schedule (partridge)", sdks.check_partridge, demo)
    results.run("SIRI Lite stop monitoring (idfm-api)", sdks.check_idfm, demo)
    if python := os.environ.get("BODS_PYTHON"):
        results.run("SIRI vehicle monitoring (bods-client)", sdks.check_bods, python, demo)
    else:
        results.skip("SIRI vehicle monitoring (bods-client)", "bods-client could not be installed")
    java, classpath = os.environ.get("JAVA"), os.environ.get("GBFS_CLASSPATH")
    for version in ("2", "3"):
        name = f"GBFS {version} (gbfs-validator-java)"
        if java and classpath:
            results.run(name, sdks.check_gbfs, java, classpath, demo, version)
        else:
            results.skip(name, "it needs a JDK and Maven")
    check_planner(results, demo, folder)
    results.run("GTFS-Realtime JSON (gtfs-realtime-bindings)", sdks.check_realtime_json, demo)
    results.run("GTFS-Realtime JSON of SIRI (gtfs-realtime-bindings)", sdks.check_siri_json_as_gtfs_realtime, demo)


def check_planner(results, demo, folder):
    java, jar = os.environ.get("JAVA"), os.environ.get("OTP_JAR")
    names = ("trip updates", "equal times", "vehicles", "situations", "rental")
    if not (java and jar):
        for name in names:
            results.skip(f"OpenTripPlanner: {name}", "it needs a JDK of version 25 and Maven")
        return demo.freeze()
    try:
        planner = otp.OpenTripPlanner(java, jar, demo, folder / "live")
    except Exception as error:
        def fail():
            raise error
        results.run("OpenTripPlanner: start", fail)
        return demo.freeze()
    try:
        demo.freeze()
        results.run("OpenTripPlanner: trip updates", otp.check_trip_updates, demo, planner)
        results.run("OpenTripPlanner: equal times", otp.check_equal_times, planner)
        results.run("OpenTripPlanner: vehicles", otp.check_vehicles, demo, planner)
        results.run("OpenTripPlanner: situations", otp.check_situations, demo, planner)
        results.run("OpenTripPlanner: rental", otp.check_rental, demo, planner)
    finally:
        planner.stop()


def check_conversions(results, binary, folder):
    """Every NeTEx publication becomes GTFS that OpenTripPlanner builds a graph of."""
    java, jar, publications = (os.environ.get(name) for name in ("JAVA", "OTP_JAR", "PUBLICATIONS"))
    if not publications:
        return results.skip("NeTEx conversions", "there is no folder of publications")
    sources = sorted(Path(publications).iterdir())
    for source in sources:
        archive = folder / f"{source.stem}.zip"
        run = subprocess.run(
            [binary, "convert", source, "--to", "gtfs", "--output", archive],
            capture_output=True, text=True, check=False,
        )
        if not archive.is_file():
            results.skip(f"NeTEx {source.name}", run.stderr.strip().splitlines()[-1][:200] if run.stderr else "no output")
        elif not otp.read_trips(archive.read_bytes()):
            results.skip(f"NeTEx {source.name}", "it has no journeys")
        elif java and jar:
            results.run(f"OpenTripPlanner: graph of {source.name}", otp.check_build, java, jar, archive, folder / f"graph-{source.stem}")
        else:
            results.skip(f"OpenTripPlanner: graph of {source.name}", "it needs a JDK of version 25 and Maven")


if __name__ == "__main__":
    sys.exit(main())
