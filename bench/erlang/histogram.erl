%% A histogram that one process records into: a bucket's count and the sum of all values. Million
%% values in 5 seconds, measured for one and scaled.
-module(histogram).
-export([main/1]).

-define(BUCKETS, 64).
-define(BATCH, 1024).
-define(PER_5_SECONDS, 5.0e-6).

main(Effort) ->
    Milliseconds = measure:size(Effort, 50, 1000),
    measure:report(Effort, [
        fun() ->
            Table = ets:new(?MODULE, [public, set, {write_concurrency, true}]),
            ets:insert(Table, list_to_tuple([values | lists:duplicate(?BUCKETS + 1, 0)])),
            figure("histogram_ets_1", Milliseconds, fun() -> with_ets(Table, ?BATCH) end)
        end,
        fun() ->
            Array = atomics:new(?BUCKETS + 1, []),
            figure("histogram_atomics_1", Milliseconds, fun() -> with_atomics(Array, ?BATCH) end)
        end
    ]).

figure(Name, Milliseconds, Batch) ->
    [{Name, measure:rate(1, Milliseconds, Batch) * ?PER_5_SECONDS}].

%% Values from 1 to 1,024, sixteen of them to a bucket; behind the buckets stands the sum.
bucket(Value) -> (Value - 1) bsr 4 + 1.

with_ets(_, 0) -> ?BATCH;
with_ets(Table, Value) ->
    ets:update_counter(Table, values, [{bucket(Value) + 1, 1}, {?BUCKETS + 2, Value}]),
    with_ets(Table, Value - 1).

with_atomics(_, 0) -> ?BATCH;
with_atomics(Array, Value) ->
    atomics:add(Array, bucket(Value), 1),
    atomics:add(Array, ?BUCKETS + 1, Value),
    with_atomics(Array, Value - 1).
