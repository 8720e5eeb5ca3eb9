"""Real clients of Lineside, run by `cargo xtask deep clients`.

The environment names what there is: LINESIDE_BIN, PUBLICATIONS (a folder of NeTEx), JAVA, OTP_JAR,
GBFS_CLASSPATH, GTFS_CLASSPATH, BODS_PYTHON, NODE and NODE_PATH (a folder of npm packages). What is missing is skipped,
and fails the run unless --allow-skips is given.
"""

import os
import sys
import tempfile
from pathlib import Path

import conversions
import opentripplanner as otp
import sdks
from demo import Demo
from results import Results


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
    return results.finish("--allow-skips" in sys.argv[1:])


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
    check_schedules(results, demo, folder)
    check_planner(results, demo, folder)
    for network in otp.NETWORKS:
        name = f"GTFS-Realtime of {network}, protobuf and JSON (gtfs-realtime-bindings"
        results.run(f"{name}, Python)", sdks.check_realtime, demo, network)
        if node := os.environ.get("NODE"):
            results.run(f"{name}, JavaScript)", sdks.check_realtime_in_javascript, node, demo, network, folder)
        else:
            results.skip(f"{name}, JavaScript)", "it needs Node and npm")


def check_schedules(results, demo, folder):
    """The reference validator finds no error in the schedules of the demo."""
    java, classpath = os.environ.get("JAVA"), os.environ.get("GTFS_CLASSPATH")
    for network in otp.NETWORKS:
        name = f"schedule of {network} (gtfs-validator)"
        if not (java and classpath):
            results.skip(name, "it needs a JDK of version 25 and Maven")
            continue
        archive = folder / f"{network}.zip"
        archive.write_bytes(demo.read(f"/gtfs/{network}.zip"))
        results.run(name, conversions.check_with_reference, java, classpath, archive, folder / "reports")


def check_planner(results, demo, folder):
    java, jar = os.environ.get("JAVA"), os.environ.get("OTP_JAR")
    if not (java and jar):
        results.skip("OpenTripPlanner", "it needs a JDK of version 25 and Maven")
        return demo.freeze()
    try:
        planner = otp.OpenTripPlanner(java, jar, demo, folder / "live")
    except Exception as error:
        results.fail("OpenTripPlanner: start", error)
        return demo.freeze()
    try:
        demo.freeze()
        for network in otp.NETWORKS:
            name = f"OpenTripPlanner, {network}"
            results.run(f"{name}: trip updates", otp.check_trip_updates, demo, planner, network)
            for way in otp.WAYS:
                results.run(f"{name}: scheduled trips by {way}", otp.check_scheduled_trips, demo, planner, network, way)
            results.run(f"{name}: equal times", otp.check_equal_times, demo, planner, network)
            results.run(f"{name}: vehicles", otp.check_vehicles, demo, planner, network)
            results.run(f"{name}: situations", otp.check_situations, demo, planner, network)
        results.run("OpenTripPlanner: rental", otp.check_rental, demo, planner)
    finally:
        planner.stop()


def check_conversions(results, binary, folder):
    """Every NeTEx publication becomes GTFS without errors, of which OpenTripPlanner builds a graph if it has trips."""
    java, jar, classpath = (os.environ.get(name) for name in ("JAVA", "OTP_JAR", "GTFS_CLASSPATH"))
    publications = os.environ.get("PUBLICATIONS")
    if not publications:
        return results.skip("NeTEx conversions", "there is no folder of publications")
    for source in sorted(Path(publications).iterdir()):
        archive = folder / f"{source.stem}.zip"
        results.run(f"NeTEx {source.name}: convert and check", conversions.check_conversion, binary, source, archive)
        if not archive.is_file():
            continue
        if java and classpath:
            name = f"NeTEx {source.name}: gtfs-validator"
            results.run(name, conversions.check_with_reference, java, classpath, archive, folder / "reports")
        else:
            results.skip(f"NeTEx {source.name}: gtfs-validator", "it needs a JDK of version 25 and Maven")
        if not otp.read_trips(archive.read_bytes()):
            continue  # OpenTripPlanner builds no graph without trips.
        if java and jar:
            name = f"NeTEx {source.name}: OpenTripPlanner graph"
            results.run(name, otp.check_build, java, jar, archive, folder / f"graph-{source.stem}")
        else:
            results.skip(f"NeTEx {source.name}: OpenTripPlanner graph", "it needs a JDK of version 25 and Maven")


if __name__ == "__main__":
    sys.exit(main())
