%% What the scripts share: rounds in turn, medians, rates, and a line `name value` for each figure.
-module(measure).
-export([report/2, rate/3, per_second/2, nanoseconds/0, size/3]).

%% Each contender once per round, in turn, in a process of its own; prints the medians. A contender
%% gives a list of {Name, Value}.
report(Effort, Contenders) ->
    Rounds = [[alone(Contender) || Contender <- Contenders] || _ <- lists:seq(1, rounds(Effort))],
    Figures = lists:append(lists:append(Rounds)),
    Names = lists:usort([Name || {Name, _} <- Figures]),
    [io:format("~s ~w~n", [Name, median([Value || {Of, Value} <- Figures, Of =:= Name])])
     || Name <- Names],
    ok.

rounds(quick) -> 1;
rounds(usual) -> 3.

size(quick, Small, _) -> Small;
size(usual, _, Full) -> Full.

alone(Contender) ->
    {Pid, Monitor} = spawn_monitor(fun() -> exit({figures, Contender()}) end),
    receive
        {'DOWN', Monitor, process, Pid, {figures, Figures}} -> Figures;
        {'DOWN', Monitor, process, Pid, Reason} -> exit(Reason)
    end.

median(Values) ->
    lists:nth((length(Values) + 1) div 2, lists:sort(Values)).

%% Calls per second of so many processes together: each repeats Batch for so long, and Batch says how
%% many calls it made.
rate(Processes, Milliseconds, Batch) ->
    %% Else the one that ends it all would wait for a turn among them.
    process_flag(priority, high),
    Stop = atomics:new(1, []),
    Callers = [spawn_monitor(fun() -> receive go -> exit({made, repeat(Batch, Stop, 0)}) end end)
               || _ <- lists:seq(1, Processes)],
    Start = nanoseconds(),
    [Pid ! go || {Pid, _} <- Callers],
    timer:sleep(Milliseconds),
    atomics:put(Stop, 1, 1),
    Made = [receive {'DOWN', Monitor, process, Pid, {made, N}} -> N end
            || {Pid, Monitor} <- Callers],
    per_second(lists:sum(Made), nanoseconds() - Start).

repeat(Batch, Stop, Made) ->
    case atomics:get(Stop, 1) of
        0 -> repeat(Batch, Stop, Made + Batch());
        1 -> Made
    end.

per_second(N, Nanoseconds) ->
    N * 1.0e9 / Nanoseconds.

nanoseconds() ->
    erlang:monotonic_time(nanosecond).
