"""OpenTripPlanner builds graphs of what Lineside serves, and applies its real time."""

import csv
import io
import json
import subprocess
import urllib.request
import zipfile
from collections import Counter

from demo import wait_until
from results import Failure, require
from sdks import read_message

# The same schedule under three feed ids, one for each way in which real time comes.
WAYS = ("rt", "siri", "lite")


class OpenTripPlanner:
    """One process that has built its graph and runs its updaters."""

    def __init__(self, java, jar, demo, folder):
        folder.mkdir(parents=True)
        (folder / "cache").mkdir()
        schedule = demo.read("/gtfs/city.zip")
        for way in WAYS:
            (folder / f"{way}-gtfs.zip").write_bytes(schedule)
        write_json(folder / "build-config.json", build_config(WAYS))
        write_json(folder / "router-config.json", router_config(demo.base))
        write_json(folder / "otp-config.json", {"otpFeatures": {"ActuatorAPI": True}})
        self.port = find_free_port()
        self.base = f"http://127.0.0.1:{self.port}/otp"
        self.log = folder / "otp.log"
        self.process = subprocess.Popen(
            otp_command(java, jar, folder, "--build", "--serve", "--port", str(self.port)),
            stdout=self.log.open("w"),
            stderr=subprocess.STDOUT,
        )
        try:
            wait_until("the start of OpenTripPlanner", self._is_up)
        except TimeoutError:
            self.stop()
            raise

    def _is_up(self):
        require(self.process.poll() is None, f"OpenTripPlanner ended: {tail(self.log)}")
        try:
            with urllib.request.urlopen(f"{self.base}/actuators/health", timeout=10) as reply:
                return json.load(reply)["status"] == "UP"
        except OSError:
            return False

    def stop(self):
        self.process.kill()
        self.process.wait()

    def ask(self, query):
        """Answers a query of its GraphQL API."""
        body = json.dumps({"query": query}).encode()
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(f"{self.base}/gtfs/v1", body, headers)
        with urllib.request.urlopen(request, timeout=120) as reply:
            answer = json.load(reply)
        require(not answer.get("errors"), str(answer.get("errors"))[:400])
        return answer["data"]

    def read_gauge(self, name, way):
        """One number for a feed out of its metrics."""
        with urllib.request.urlopen(f"{self.base}/actuators/prometheus", timeout=30) as reply:
            lines = reply.read().decode().splitlines()
        values = [
            float(line.rsplit(" ", 1)[1])
            for line in lines
            if line.startswith(name + "{") and f'feedId="{way}"' in line
        ]
        return int(sum(values)) if values else None

    def find_updated_trips(self, way):
        """The times of every trip that real time has changed, by trip id."""
        fields = "stopPosition realtimeArrival realtimeDeparture realtimeState"
        query = '{trips(feeds:["%s"]){gtfsId stoptimesForDate{%s}}}' % (way, fields)
        trips = {}
        for trip in self.ask(query)["trips"]:
            calls = trip["stoptimesForDate"] or []
            if any(call["realtimeState"] != "SCHEDULED" for call in calls):
                trips[trip["gtfsId"].split(":", 1)[1]] = read_times(calls)
        return trips


def read_times(calls):
    """Arrival, departure and whether it is cancelled, without the times that no passenger uses.

    Those are the ends, and the times of calls that are left out: GTFS-Realtime has none, and OpenTripPlanner
    interpolates them between the calls around (DefaultForwardsDelayInterpolator). SIRI has an expected time with the
    delay of the call before, which OpenTripPlanner takes as it is.
    """
    last = len(calls) - 1
    times = []
    for at, call in enumerate(calls):
        is_cancelled = call["realtimeState"] == "CANCELED"
        arrival = None if at == 0 or is_cancelled else call["realtimeArrival"]
        departure = None if at == last or is_cancelled else call["realtimeDeparture"]
        times.append((arrival, departure, is_cancelled))
    return times


def build_config(feeds):
    transit = [{"type": "gtfs", "source": f"{feed}-gtfs.zip", "feedId": feed} for feed in feeds]
    return {"transitFeeds": transit, "transitServiceStart": "-P3D", "transitServiceEnd": "P7D"}


def router_config(base):
    often = {"frequency": "3s"}
    et, sx = f"{base}/siri/2.0/estimated-timetables.xml", f"{base}/siri/2.0/situation-exchange.xml"
    posted = {"url": f"{base}/siri/services?DatasetId=city", "feedId": "siri", "timeout": "60s"}
    return {
        "updaters": [
            often | {"type": "stop-time-updater", "url": f"{base}/gtfs-rt/city/trip-updates.pb", "feedId": "rt"},
            often | {"type": "vehicle-positions", "url": f"{base}/gtfs-rt/city/vehicle-positions.pb", "feedId": "rt"},
            often | {"type": "real-time-alerts", "url": f"{base}/gtfs-rt/city/alerts.pb", "feedId": "rt"},
            often | posted | {"type": "siri-et-updater", "requestorRef": "otp-et"},
            often | posted | {"type": "siri-sx-updater", "requestorRef": "otp-sx"},
            often | {"type": "siri-et-lite", "url": f"{et}?DatasetId=city", "feedId": "lite"},
            often | {"type": "siri-sx-lite", "url": f"{sx}?DatasetId=city", "feedId": "lite"},
            often | rental(base, "2"),
            often | rental(base, "3"),
        ]
    }


def rental(base, version):
    url = f"{base}/gbfs/city-bikes/{version}/gbfs.json"
    return {"type": "vehicle-rental", "sourceType": "gbfs", "url": url, "network": f"v{version}"}


def otp_command(java, jar, folder, *arguments):
    return [
        java, "-Xmx3G", "-jar", jar, *arguments, "--bindAddress", "127.0.0.1",
        "--cache", folder / "cache", folder,
    ]


def find_free_port():
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def write_json(path, value):
    path.write_text(json.dumps(value))


def tail(path):
    return path.read_text()[-800:]


def check_build(java, jar, archive, folder):
    """A graph of one schedule by itself builds."""
    folder.mkdir(parents=True)
    (folder / "cache").mkdir()
    (folder / "one-gtfs.zip").write_bytes(archive.read_bytes())
    config = build_config(["one"]) | {"transitServiceStart": "-P30Y", "transitServiceEnd": "P30Y"}
    write_json(folder / "build-config.json", config)
    log = folder / "otp.log"
    with log.open("w") as output:
        command = otp_command(java, jar, folder, "--build", "--save")
        run = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=False)
    require(run.returncode == 0 and (folder / "graph.obj").is_file(), errors_in(log))
    return "built"


def errors_in(log):
    lines = [line for line in log.read_text().splitlines() if "ERROR" in line or "Exception" in line]
    return " | ".join(lines)[:600]


def read_trips(schedule):
    """The ids of all trips of the schedule."""
    with zipfile.ZipFile(io.BytesIO(schedule)) as archive:
        text = archive.read("trips.txt").decode("utf-8-sig")
    return {row["trip_id"] for row in csv.DictReader(io.StringIO(text))}


def read_headway_trips(schedule):
    """Trips of frequencies.txt. OpenTripPlanner applies no real time to them."""
    with zipfile.ZipFile(io.BytesIO(schedule)) as archive:
        if "frequencies.txt" not in archive.namelist():
            return set()
        text = archive.read("frequencies.txt").decode("utf-8-sig")
    return {row["trip_id"] for row in csv.DictReader(io.StringIO(text))}


def check_trip_updates(demo, otp):
    """Every trip update but those of headway trips is applied."""
    headway = read_headway_trips(demo.read("/gtfs/city.zip"))
    message = read_message(demo, "/gtfs-rt/city/trip-updates.pb")
    trips = [entity.trip_update.trip.trip_id for entity in message.entity]
    out_of_reach = sum(trip in headway for trip in trips)
    counts = {}
    for way in ("rt", "lite"):
        settled = lambda: read_counts(otp, way) == (len(trips) - out_of_reach, out_of_reach)
        try:
            wait_until("stable counts", settled)
        except TimeoutError:
            pass
        counts[way] = read_counts(otp, way)
    expected = (len(trips) - out_of_reach, out_of_reach)
    require(
        set(counts.values()) == {expected},
        f"expected {expected} (applied, headway), found {counts}: {last_failures(otp)}",
    )
    return f"{expected[0]} of {expected[0]} by GTFS-Realtime and SIRI ET, {out_of_reach} of headway trips skipped"


def read_counts(otp, way):
    return (
        otp.read_gauge("batch_trip_updates_successful", way),
        otp.read_gauge("batch_trip_updates_failed", way),
    )


def last_failures(otp):
    lines = [line.split("ResultLogger", 1)[1] for line in otp.log.read_text().splitlines() if "failures of" in line]
    return " | ".join(lines[-8:])


def check_equal_times(otp):
    """All three ways give the same times for the same trips, once each updater has read the frozen state."""
    differences = "not compared"

    def are_equal():
        nonlocal differences
        found = {way: otp.find_updated_trips(way) for way in WAYS}
        differences = find_differences(found)
        return not differences and found["rt"]

    try:
        trips = wait_until("equal times", are_equal)
    except TimeoutError:
        raise Failure(differences) from None
    return f"{len(trips)} trips"


def find_differences(found):
    """Names trips that a way lacks, or whose times differ from those of GTFS-Realtime."""
    lines = []
    for way in ("siri", "lite"):
        missing = set(found["rt"]) - set(found[way])
        if missing:
            lines.append(f"{way}: missing {sorted(missing)[:5]}")
        common = set(found["rt"]) & set(found[way])
        different = sorted(trip for trip in common if found["rt"][trip] != found[way][trip])
        if different:
            pairs = zip(found["rt"][different[0]], found[way][different[0]])
            example = [pair for pair in pairs if pair[0] != pair[1]]
            lines.append(f"{way}: {len(different)} trips differ, {different[:3]}, {example[:3]}")
    return "; ".join(lines)


def check_vehicles(demo, otp):
    """Every vehicle on a scheduled trip is shown on it. OpenTripPlanner places none on headway or added trips."""
    schedule = demo.read("/gtfs/city.zip")
    scheduled = read_trips(schedule) - read_headway_trips(schedule)
    message = read_message(demo, "/gtfs-rt/city/vehicle-positions.pb")
    expected = {
        entity.vehicle.vehicle.id
        for entity in message.entity
        if entity.vehicle.trip.trip_id in scheduled
    }
    patterns = otp.ask("{patterns{vehiclePositions{vehicleId}}}")["patterns"]
    found = {
        position["vehicleId"].split(":", 1)[-1]
        for pattern in patterns
        for position in pattern["vehiclePositions"] or []
    }
    missing = expected - found
    require(expected and not missing, f"{len(missing)} of {len(expected)} are missing: {sorted(missing)[:5]}; {last_failures(otp)}")
    return f"{len(expected)} of {len(expected)}"


def check_situations(demo, otp):
    """Every alert arrives by all three ways, with the same texts."""
    expected = len(read_message(demo, "/gtfs-rt/city/alerts.pb").entity)
    alerts = otp.ask("{alerts{feed alertHeaderText}}")["alerts"]
    texts = {way: Counter(alert["alertHeaderText"] for alert in alerts if alert["feed"] == way) for way in WAYS}
    totals = {way: sum(count.values()) for way, count in texts.items()}
    require(set(totals.values()) == {expected} and expected, f"expected {expected}, found {totals}")
    require(texts["rt"] == texts["siri"] == texts["lite"], "texts differ")
    return f"{expected} of {expected}"


def check_rental(demo, otp):
    """Stations and vehicles of both GBFS versions arrive."""
    files = {feed["name"]: feed["url"] for feed in demo.read_json("/gbfs/city-bikes/3/gbfs.json")["data"]["feeds"]}
    stations = demo.read_json(files["station_information"].removeprefix(demo.base))["data"]["stations"]
    found = otp.ask("{vehicleRentalStations{network} rentalVehicles{network}}")
    by_network = Counter(station["network"] for station in found["vehicleRentalStations"])
    require(by_network == {"v2": len(stations), "v3": len(stations)}, str(by_network))
    vehicles = Counter(vehicle["network"] for vehicle in found["rentalVehicles"])
    require(vehicles["v2"] > 0 and vehicles["v3"] > 0, str(vehicles))
    return f"{len(stations)} stations, {vehicles['v3']} vehicles"
