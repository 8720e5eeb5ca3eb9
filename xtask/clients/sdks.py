"""Stock client libraries read the demo: their parsers must take every reply, and lose nothing."""

import asyncio
import json
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path

from google.protobuf import json_format
from google.transit import gtfs_realtime_pb2

from results import require

KINDS = ("trip-updates", "vehicle-positions", "alerts")
BODS = """
import sys
from lxml import etree
from bods_client.models import Siri
deliveries = Siri.from_lxml_element(etree.fromstring(sys.stdin.buffer.read())).service_delivery
print(len(deliveries.vehicle_monitoring_delivery.vehicle_activities))
"""


def read_message(demo, path):
    message = gtfs_realtime_pb2.FeedMessage()
    message.ParseFromString(demo.read(path))
    return message


def check_realtime(demo, network):
    """The Python bindings parse protobuf and JSON of a frozen network to the same message."""
    entities = 0
    for kind in KINDS:
        binary = read_message(demo, f"/gtfs-rt/{network}/{kind}.pb")
        parsed = json_format.Parse(
            demo.read(f"/gtfs-rt/{network}/{kind}.json"), gtfs_realtime_pb2.FeedMessage()
        )
        require(binary.entity, f"{kind} are empty")
        require(list(binary.entity) == list(parsed.entity), f"{kind}: JSON and protobuf differ")
        trips = [entity.trip_update.trip for entity in binary.entity if entity.HasField("trip_update")]
        runs = {(trip.trip_id, trip.start_date, trip.start_time) for trip in trips}
        require(len(runs) == len(trips), "a trip has two trip updates")
        entities += len(binary.entity)
    return f"{entities} entities"


def check_realtime_in_javascript(node, demo, network, folder):
    """The JavaScript bindings parse protobuf and JSON of a frozen network to the same message."""
    script = Path(__file__).with_name("realtime.cjs")
    entities = 0
    for kind in KINDS:
        files = [folder / f"{network}-{kind}.{extension}" for extension in ("pb", "json")]
        for file in files:
            file.write_bytes(demo.read(f"/gtfs-rt/{network}/{kind}{file.suffix}"))
        run = subprocess.run([node, script, *files], capture_output=True, text=True, check=False)
        require(run.returncode == 0, run.stderr[-600:])
        require(int(run.stdout) > 0, f"{kind} are empty")
        entities += int(run.stdout)
    return f"{entities} entities"


def check_idfm(demo):
    """idfm-api reads a prediction from every monitored visit that has one."""
    import aiohttp
    from idfm_api import IDFMApi

    stop = busiest_stop(demo)
    address = f"{demo.base}/siri/2.0/stop-monitoring.json?DatasetId=city&MonitoringRef={stop}"

    class Session(aiohttp.ClientSession):
        def get(self, _url, **options):
            return super().get(address, **options)

    async def read():
        async with Session() as session:
            return await IDFMApi(session, "key").get_traffic("STIF:any")

    delivery = json.loads(demo.read(address.removeprefix(demo.base)))["Siri"]["ServiceDelivery"]
    visits = delivery["StopMonitoringDelivery"][0]["MonitoredStopVisit"]
    timed = [visit for visit in visits if has_expected_time(visit)]
    found = [row for row in asyncio.run(read()) if row.schedule]
    require(timed, f"{stop} has no predictions")
    require(len(found) >= len(timed), f"{len(found)} of {len(timed)} visits at {stop} are read")
    return f"{len(found)} visits"


def has_expected_time(visit):
    call = visit["MonitoredVehicleJourney"]["MonitoredCall"]
    return "ExpectedDepartureTime" in call or "ExpectedArrivalTime" in call


def busiest_stop(demo):
    stops = demo.read_json("/api/v1/stops?limit=100")["items"]
    return max(stops, key=lambda stop: len(stop["routes"]))["id"]


def check_bods(python, demo):
    """bods-client reads every vehicle of a SIRI vehicle monitoring delivery."""
    body = demo.read("/siri/2.0/vehicle-monitoring.xml?DatasetId=city")
    expected = body.count(b"<VehicleActivity>")
    run = subprocess.run([python, "-c", BODS], input=body, capture_output=True, check=False)
    require(run.returncode == 0, run.stderr.decode()[-400:])
    require(int(run.stdout) == expected > 0, f"{run.stdout.decode().strip()} of {expected}")
    return f"{expected} vehicles"


def check_event_streams(demo):
    """Two readers of server-sent events get only events with JSON in them."""
    import httpx
    import sseclient
    from httpx_sse import connect_sse

    address = f"{demo.base}/events?channel=feed/twin"
    with httpx.Client(timeout=60) as client, connect_sse(client, "GET", address) as source:
        first = [event.data for event in islice(source.iter_sse(), 20)]
    with httpx.Client(timeout=60) as client, client.stream("GET", address) as reply:
        second = [event.data for event in islice(sseclient.SSEClient(reply.iter_bytes()).events(), 20)]
    for data in first + second:
        json.loads(data)
    return f"{len(first) + len(second)} events"


def check_openapi(demo):
    """openapi-spec-validator accepts the description of the API."""
    from openapi_spec_validator import validate

    description = demo.read_json("/api/v1/openapi.json")
    validate(description)
    return f"{len(description['paths'])} paths"


def check_partridge(demo):
    """partridge reads the schedule as pandas tables."""
    import partridge

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "city.zip"
        path.write_bytes(demo.read("/gtfs/city.zip"))
        feed = partridge.load_feed(str(path))
        require(len(feed.trips) > 0 and len(feed.stop_times) > 0, "tables are empty")
        return f"{len(feed.trips)} trips"


def check_gbfs(java, classpath, demo, version):
    """The GBFS validator finds no error in the files of one version."""
    discovery = demo.read_json(f"/gbfs/city-bikes/{version}/gbfs.json")
    data = discovery["data"]
    feeds = data["feeds"] if version == "3" else next(iter(data.values()))["feeds"]
    with tempfile.TemporaryDirectory() as folder:
        files = {feed["name"]: feed["url"] for feed in feeds}
        files["gbfs"] = f"{demo.base}/gbfs/city-bikes/{version}/gbfs.json"
        for name, url in files.items():
            (Path(folder) / f"{name}.json").write_bytes(demo.read(url.removeprefix(demo.base)))
        source = Path(__file__).with_name("GbfsCheck.java")
        command = [java, "-cp", f"{classpath}/*", source, folder]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    require(run.returncode == 0, (run.stdout + run.stderr)[-600:])
    return f"{len(files)} files"
