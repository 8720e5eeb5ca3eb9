%% An event of 1 KiB to 30,000 processes: milliseconds until the publisher goes on, and until the last
%% process has it. By a loop of sends; by handing all process ids to one that deals them out to a
%% worker per scheduler; and by workers that know their share beforehand.
-module(fanout).
-export([main/1]).

-define(EVENT_BYTES, 1024).

main(Effort) ->
    N = measure:size(Effort, 1000, 30000),
    Events = measure:size(Effort, 2, 10),
    Left = atomics:new(1, []),
    Pids = [spawn_link(fun() -> listen(Left) end) || _ <- lists:seq(1, N)],
    Shares = deal(Pids, erlang:system_info(schedulers_online)),
    Idle = [spawn_link(fun() -> work([]) end) || _ <- Shares],
    Dealer = spawn_link(fun() -> deal_out(Idle) end),
    Owners = [spawn_link(fun() -> work(Share) end) || Share <- Shares],
    Ways = [
        {"send", fun(Event) -> send_all(Pids, Event) end},
        {"manifold", fun(Event) -> Dealer ! {send, Pids, Event} end},
        {"workers", fun(Event) -> send_all(Owners, Event) end}
    ],
    measure:report(Effort, [
        fun() -> publish(Name, Publish, Left, N) end
        || _ <- lists:seq(1, Events), {Name, Publish} <- Ways
    ]).

publish(Name, Publish, Left, N) ->
    atomics:put(Left, 1, N),
    Event = {event, self(), binary:copy(<<7>>, ?EVENT_BYTES)},
    Start = measure:nanoseconds(),
    Publish(Event),
    Returned = measure:nanoseconds() - Start,
    receive
        {last, End} ->
            [{"fanout_" ++ Name ++ "_publish", Returned / 1.0e6},
             {"fanout_" ++ Name ++ "_last", (End - Start) / 1.0e6}]
    end.

%% One of those who hear: whoever is the last says when.
listen(Left) ->
    receive
        {event, Publisher, _} ->
            case atomics:sub_get(Left, 1, 1) of
                0 -> Publisher ! {last, measure:nanoseconds()};
                _ -> ok
            end
    end,
    listen(Left).

send_all(Pids, Event) ->
    lists:foreach(fun(Pid) -> Pid ! Event end, Pids).

%% Sends to its own share, or to those that it is told with the event.
work(Share) ->
    receive
        {send, Pids, Event} -> send_all(Pids, Event);
        {event, _, _} = Event -> send_all(Share, Event)
    end,
    work(Share).

deal_out(Workers) ->
    receive
        {send, Pids, Event} ->
            [Worker ! {send, Share, Event}
             || {Worker, Share} <- lists:zip(Workers, deal(Pids, length(Workers)))]
    end,
    deal_out(Workers).

%% So many shares of the process ids, by their hash.
deal(Pids, Count) ->
    Hashed = [{erlang:phash2(Pid, Count), Pid} || Pid <- Pids],
    [[Pid || {Of, Pid} <- Hashed, Of =:= Share] || Share <- lists:seq(0, Count - 1)].
