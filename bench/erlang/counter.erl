%% One counter that 20 processes bump: million bumps in 5 seconds, measured for one and scaled. The
%% handles are persistent terms, as a library would keep them.
-module(counter).
-export([main/1]).

-define(PROCESSES, 20).
-define(BATCH, 1000).
-define(PER_5_SECONDS, 5.0e-6).

main(Effort) ->
    Milliseconds = measure:size(Effort, 50, 1000),
    ets:new(?MODULE, [named_table, public, set, {write_concurrency, true}]),
    ets:insert(?MODULE, {bumps, 0}),
    persistent_term:put({?MODULE, counters}, counters:new(1, [write_concurrency])),
    persistent_term:put({?MODULE, atomics}, counters:new(1, [atomics])),
    measure:report(Effort, [
        fun() ->
            [{"counter_" ++ atom_to_list(Kind) ++ "_20",
              measure:rate(?PROCESSES, Milliseconds, Batch) * ?PER_5_SECONDS}]
        end
        || {Kind, Batch} <- [{ets, fun() -> with_ets(?BATCH) end},
                             {counters, fun() -> with_counters(counters, ?BATCH) end},
                             {atomics, fun() -> with_counters(atomics, ?BATCH) end}]
    ]).

with_ets(0) -> ?BATCH;
with_ets(N) ->
    ets:update_counter(?MODULE, bumps, 1),
    with_ets(N - 1).

with_counters(_, 0) -> ?BATCH;
with_counters(Kind, N) ->
    counters:add(persistent_term:get({?MODULE, Kind}), 1, 1),
    with_counters(Kind, N - 1).
