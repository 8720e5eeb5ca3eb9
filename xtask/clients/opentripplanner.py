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

# GTFS-Realtime, SIRI by POST, and SIRI Lite. The schedule of a network is loaded once for each, as feeds such as
# "city-rt", so that the results can be compared.
WAYS = ("rt", "siri", "lite")
NETWORKS = ("city", "twin")
# Building the graph of all feeds takes half a minute, and much longer on a busy machine.
START_SECONDS = 600
FEEDS = [f"{network}-{way}" for network in NETWORKS for way in WAYS]


class OpenTripPlanner:
    """One process that has built its graph and runs its updaters."""

    def __init__(self, java, jar, demo, folder):
        folder.mkdir(parents=True)
        (folder / "cache").mkdir()
        for network in NETWORKS:
            schedule = demo.read(f"/gtfs/{network}.zip")
            for way in WAYS:
                (folder / f"{network}-{way}-gtfs.zip").write_bytes(schedule)
        write_json(folder / "build-config.json", build_config(FEEDS))
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
            wait_until("the start of OpenTripPlanner", self._is_up, START_SECONDS)
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

    def read_gauge(self, name, feed):
        """One number for a feed out of its metrics."""
        with urllib.request.urlopen(f"{self.base}/actuators/prometheus", timeout=30) as reply:
            lines = reply.read().decode().splitlines()
        values = [
            float(line.rsplit(" ", 1)[1])
            for line in lines
            if line.startswith(name + "{") and f'feedId="{feed}"' in line
        ]
        return int(sum(values)) if values else None

    def find_updated_trips(self, feed, date):
        """The calls of every trip of a day that real time has changed, by trip id."""
        fields = "stop{gtfsId} stopPosition realtimeArrival realtimeDeparture realtimeState"
        query = '{trips(feeds:["%s"]){gtfsId stoptimesForDate(serviceDate:"%s"){%s}}}' % (feed, date, fields)
        trips = {}
        for trip in self.ask(query)["trips"]:
            calls = trip["stoptimesForDate"] or []
            if any(call["realtimeState"] != "SCHEDULED" for call in calls):
                trips[trip["gtfsId"].split(":", 1)[1]] = calls
        return trips


def read_times(calls, first):
    """Arrival, departure and whether it is cancelled, from the first predicted call on.

    Times that no passenger uses are left out: the ends, calls before the first prediction, and cancelled calls.
    GTFS-Realtime has no time of them, and OpenTripPlanner shows the planned one or interpolates. SIRI may have an
    expected time, with which the times of the journey never decrease, and OpenTripPlanner takes it as it is.
    """
    last = len(calls) - 1
    times = []
    for at, call in list(enumerate(calls))[find_first(calls, first):]:
        is_cancelled = call["realtimeState"] == "CANCELED"
        arrival = None if at == 0 or is_cancelled else call["realtimeArrival"]
        departure = None if at == last or is_cancelled else call["realtimeDeparture"]
        times.append((arrival, departure, is_cancelled))
    return times


def find_first(calls, first):
    """The index of the call that a stop time update is about, or 0 if all calls are predicted."""
    if first is None:
        return 0
    for at, call in enumerate(calls):
        is_same_stop = call["stop"]["gtfsId"].split(":", 1)[1] == first.stop_id
        if call["stopPosition"] == first.stop_sequence if first.HasField("stop_sequence") else is_same_stop:
            return at
    return 0


def build_config(feeds):
    transit = [{"type": "gtfs", "source": f"{feed}-gtfs.zip", "feedId": feed} for feed in feeds]
    return {"transitFeeds": transit, "transitServiceStart": "-P3D", "transitServiceEnd": "P7D"}


def router_config(base):
    updaters = [updater for network in NETWORKS for updater in network_updaters(base, network)]
    updaters += [rental(base, version) for version in ("2", "3")]
    return {"updaters": [{"frequency": "3s"} | updater for updater in updaters]}


def network_updaters(base, network):
    rt = {"feedId": f"{network}-rt"}
    messages = f"{base}/gtfs-rt/{network}"
    posted = {"url": f"{base}/siri/services?DatasetId={network}", "feedId": f"{network}-siri", "timeout": "60s"}
    lite = {"feedId": f"{network}-lite"}
    documents = f"{base}/siri/2.0"
    return [
        rt | {"type": "stop-time-updater", "url": f"{messages}/trip-updates.pb"},
        rt | {"type": "vehicle-positions", "url": f"{messages}/vehicle-positions.pb"},
        rt | {"type": "real-time-alerts", "url": f"{messages}/alerts.pb"},
        posted | {"type": "siri-et-updater", "requestorRef": f"otp-et-{network}"},
        posted | {"type": "siri-sx-updater", "requestorRef": f"otp-sx-{network}"},
        lite | {"type": "siri-et-lite", "url": f"{documents}/estimated-timetables.xml?DatasetId={network}"},
        lite | {"type": "siri-sx-lite", "url": f"{documents}/situation-exchange.xml?DatasetId={network}"},
    ]


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


def read_trip_updates(demo, network):
    return [entity.trip_update for entity in read_message(demo, f"/gtfs-rt/{network}/trip-updates.pb").entity]


def check_trip_updates(demo, otp, network):
    """Every trip update but those of headway trips is applied, of SIRI every journey."""
    headway = read_headway_trips(demo.read(f"/gtfs/{network}.zip"))
    trips = [update.trip.trip_id for update in read_trip_updates(demo, network)]
    out_of_reach = sum(trip in headway for trip in trips)
    expected = (len(trips) - out_of_reach, out_of_reach)
    require(expected[0], "there are no trip updates")
    # A reader by POST gets only what changed, so OpenTripPlanner counts no whole state for it.
    counts = {}
    for way in ("rt", "lite"):
        feed = f"{network}-{way}"
        try:
            wait_until("stable counts", lambda: read_counts(otp, feed) == expected)
        except TimeoutError:
            pass
        counts[way] = read_counts(otp, feed)
    require(
        set(counts.values()) == {expected},
        f"expected {expected} (applied, headway), found {counts}: {last_failures(otp)}",
    )
    return f"{expected[0]} of {expected[0]} by GTFS-Realtime and SIRI Lite, {out_of_reach} of headway trips skipped"


def read_counts(otp, feed):
    return (
        otp.read_gauge("batch_trip_updates_successful", feed),
        otp.read_gauge("batch_trip_updates_failed", feed),
    )


def last_failures(otp):
    lines = [line.split("ResultLogger", 1)[1] for line in otp.log.read_text().splitlines() if "failures of" in line]
    return " | ".join(lines[-8:])


def check_scheduled_trips(demo, otp, network, way):
    """Every scheduled trip of the trip updates is a trip with real time."""
    schedule = demo.read(f"/gtfs/{network}.zip")
    scheduled = read_trips(schedule) - read_headway_trips(schedule)
    expected = {
        (update.trip.start_date, update.trip.trip_id)
        for update in read_trip_updates(demo, network)
        if update.trip.trip_id in scheduled
    }
    require(expected, "there are no scheduled trips")
    missing = expected

    def are_found():
        nonlocal missing
        dates = {date for date, _ in expected}
        found = {(date, trip) for date in dates for trip in otp.find_updated_trips(f"{network}-{way}", date)}
        missing = expected - found
        return not missing

    try:
        wait_until("all trips", are_found)
    except TimeoutError:
        raise Failure(f"{len(missing)} of {len(expected)} are missing: {sorted(missing)[:5]}") from None
    return f"{len(expected)} of {len(expected)}"


def check_equal_times(demo, otp, network):
    """All three ways give the same times for the same trips, once each updater has read the frozen state."""
    updates = read_trip_updates(demo, network)
    scheduled = read_trips(demo.read(f"/gtfs/{network}.zip"))
    date = Counter(update.trip.start_date for update in updates).most_common(1)[0][0]
    firsts = {
        update.trip.trip_id: update.stop_time_update[0]
        for update in updates
        if update.trip.start_date == date and update.stop_time_update and update.trip.trip_id in scheduled
    }
    differences = "not compared"

    def are_equal():
        nonlocal differences
        found = {
            way: {
                trip: read_times(calls, firsts.get(trip))
                for trip, calls in otp.find_updated_trips(f"{network}-{way}", date).items()
            }
            for way in WAYS
        }
        differences = find_differences(found)
        return not differences and found["rt"]

    try:
        trips = wait_until("equal times", are_equal)
    except TimeoutError:
        raise Failure(differences) from None
    return f"{len(trips)} trips"


def find_differences(found):
    """Names trips that a way lacks, or whose times differ from those of GTFS-Realtime.

    A reader by POST gets only what changed, so it may have trips that have ended since.
    """
    lines = []
    for way in ("siri", "lite"):
        missing = set(found["rt"]) - set(found[way])
        if missing:
            lines.append(f"{way}: missing {len(missing)} trips, {sorted(missing)[:5]}")
        common = set(found["rt"]) & set(found[way])
        different = sorted(trip for trip in common if found["rt"][trip] != found[way][trip])
        if different:
            pairs = zip(found["rt"][different[0]], found[way][different[0]])
            example = [pair for pair in pairs if pair[0] != pair[1]]
            lines.append(f"{way}: {len(different)} trips differ, {different[:3]}, {example[:3]}")
    return "; ".join(lines)


def check_vehicles(demo, otp, network):
    """Every vehicle on a scheduled trip is shown on it. OpenTripPlanner places none on headway or added trips."""
    schedule = demo.read(f"/gtfs/{network}.zip")
    scheduled = read_trips(schedule) - read_headway_trips(schedule)
    message = read_message(demo, f"/gtfs-rt/{network}/vehicle-positions.pb")
    expected = {
        entity.vehicle.vehicle.id
        for entity in message.entity
        if entity.vehicle.trip.trip_id in scheduled
    }
    patterns = otp.ask("{patterns{vehiclePositions{vehicleId}}}")["patterns"]
    feed = f"{network}-rt:"
    found = {
        position["vehicleId"].removeprefix(feed)
        for pattern in patterns
        for position in pattern["vehiclePositions"] or []
        if position["vehicleId"].startswith(feed)
    }
    missing = expected - found
    require(expected and not missing, f"{len(missing)} of {len(expected)} are missing: {sorted(missing)[:5]}; {last_failures(otp)}")
    return f"{len(expected)} of {len(expected)}"


def check_situations(demo, otp, network):
    """Every alert arrives by all three ways, with the same texts."""
    expected = len(read_message(demo, f"/gtfs-rt/{network}/alerts.pb").entity)
    alerts = otp.ask("{alerts{feed alertHeaderText}}")["alerts"]
    texts = {
        way: Counter(alert["alertHeaderText"] for alert in alerts if alert["feed"] == f"{network}-{way}") for way in WAYS
    }
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
