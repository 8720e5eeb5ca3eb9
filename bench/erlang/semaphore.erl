%% A semaphore that refuses at once, kept in ETS: million pairs a second of an acquire that was granted
%% and its release, by 64 callers with 10 and with 1,000 permits.
-module(semaphore).
-export([main/1]).

-define(CALLERS, 64).
-define(BATCH, 100).

main(Effort) ->
    Milliseconds = measure:size(Effort, 50, 500),
    ets:new(?MODULE, [named_table, public, set, {write_concurrency, true}]),
    measure:report(Effort, [
        fun() ->
            ets:insert(?MODULE, {permits, 0}),
            Pairs = measure:rate(?CALLERS, Milliseconds, fun() -> pairs(Max, ?BATCH, 0) end),
            [{"semaphore_ets_64_" ++ integer_to_list(Max), Pairs / 1.0e6}]
        end
        || Max <- [10, 1000]
    ]).

pairs(_, 0, Granted) -> Granted;
pairs(Max, N, Granted) ->
    case acquire(Max) of
        true ->
            release(),
            pairs(Max, N - 1, Granted + 1);
        false ->
            pairs(Max, N - 1, Granted)
    end.

%% What is taken before and after: it stops at the limit.
acquire(Max) ->
    case ets:update_counter(?MODULE, permits, [{2, 0}, {2, 1, Max, Max}]) of
        [Max, _] -> false;
        _ -> true
    end.

release() -> ets:update_counter(?MODULE, permits, {2, -1, 0, 0}).
