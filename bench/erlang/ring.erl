%% A bounded buffer that forgets its oldest, behind a gen_server: 200,000 items of 1 KiB, and cycles of
%% 15 pushes and 5 pulls. Microseconds of a request, from the client's sending to just before the
%% server's answer, written to an array off the heap so that recording makes no garbage.
-module(ring).
-behaviour(gen_server).
-export([main/1, init/1, handle_call/3, handle_cast/2]).

-define(ITEM_BYTES, 1024).

main(Effort) ->
    Capacity = measure:size(Effort, 2000, 200000),
    Requests = measure:size(Effort, 20000, 2000000),
    measure:report(Effort, [
        fun() -> figures(Name, Buffer, Capacity, Requests) end
        || {Name, Buffer} <- [{"queue", queue}, {"ets", ets}]
    ]).

figures(Name, Buffer, Capacity, Requests) ->
    Times = atomics:new(Requests, []),
    {ok, Server} = gen_server:start_link(?MODULE, {Buffer, Capacity, Times}, []),
    Rest = binary:copy(<<7>>, ?ITEM_BYTES - 8),
    fill(Server, Rest, Capacity),
    request(Server, Rest, 1, Requests),
    gen_server:stop(Server),
    {Sum, Largest} = summary(Times, Requests),
    %% The n-th largest of them is where so many are larger.
    Above = fun(OneIn) -> lists:nth(Requests div OneIn + 1, Largest) / 1000 end,
    [{"ring_" ++ Name ++ "_avg", Sum / Requests / 1000},
     {"ring_" ++ Name ++ "_p9999", Above(10000)},
     {"ring_" ++ Name ++ "_p99999", Above(100000)},
     {"ring_" ++ Name ++ "_max", hd(Largest) / 1000}].

fill(_, _, 0) -> ok;
fill(Server, Rest, N) ->
    gen_server:call(Server, {push, item(N, Rest), 0, 0}),
    fill(Server, Rest, N - 1).

request(_, _, At, Requests) when At > Requests -> ok;
request(Server, Rest, At, Requests) ->
    case At rem 20 < 15 of
        true -> gen_server:call(Server, {push, item(At, Rest), At, measure:nanoseconds()});
        false -> gen_server:call(Server, {pull, At, measure:nanoseconds()})
    end,
    request(Server, Rest, At + 1, Requests).

%% A binary of its own.
item(N, Rest) -> <<N:64, Rest/binary>>.

init({queue, Capacity, Times}) ->
    {ok, {queue, queue:new(), 0, Capacity, Times}};
init({ets, Capacity, Times}) ->
    {ok, {ets, ets:new(buffer, [set, private]), 0, 0, Capacity, Times}}.

handle_call({push, Item, At, Sent}, _, State) ->
    Pushed = push(Item, State),
    record(At, Sent, Pushed),
    {reply, ok, Pushed};
handle_call({pull, At, Sent}, _, State) ->
    {Item, Pulled} = pull(State),
    record(At, Sent, Pulled),
    {reply, Item, Pulled}.

handle_cast(_, State) -> {noreply, State}.

%% Requests that fill the buffer have the number 0 and are not recorded.
record(0, _, _) -> ok;
record(At, Sent, State) ->
    atomics:put(element(tuple_size(State), State), At, measure:nanoseconds() - Sent).

push(Item, {queue, Queue, Capacity, Capacity, Times}) ->
    {queue, queue:in(Item, queue:drop(Queue)), Capacity, Capacity, Times};
push(Item, {queue, Queue, N, Capacity, Times}) ->
    {queue, queue:in(Item, Queue), N + 1, Capacity, Times};
%% A slot is overwritten; the oldest moves on when all are taken.
push(Item, {ets, Table, First, Next, Capacity, Times}) ->
    ets:insert(Table, {Next rem Capacity, Item}),
    {ets, Table, max(First, Next + 1 - Capacity), Next + 1, Capacity, Times}.

pull({queue, Queue, N, Capacity, Times}) ->
    case queue:out(Queue) of
        {{value, Item}, Rest} -> {Item, {queue, Rest, N - 1, Capacity, Times}};
        {empty, _} -> {none, {queue, Queue, 0, Capacity, Times}}
    end;
pull({ets, _, First, First, _, _} = State) ->
    {none, State};
pull({ets, Table, First, Next, Capacity, Times}) ->
    [{_, Item}] = ets:take(Table, First rem Capacity),
    {Item, {ets, Table, First + 1, Next, Capacity, Times}}.

%% The sum of all times, and as many of the largest as the figures ask for, largest first.
summary(Times, Requests) ->
    Kept = Requests div 10000 + 1,
    All = [atomics:get(Times, At) || At <- lists:seq(1, Requests)],
    {lists:sum(All), lists:sublist(lists:reverse(lists:sort(All)), Kept)}.
