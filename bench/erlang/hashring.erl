%% Which node owns a key, on a ring of 1,024 virtual nodes kept as one sorted tuple: nanoseconds of a
%% lookup by asking a process, from ETS (which copies the ring) and from a persistent term (which does
%% not).
-module(hashring).
-behaviour(gen_server).
-export([main/1, init/1, handle_call/3, handle_cast/2]).

-define(NODES, 8).
-define(VIRTUAL, 128).
-define(HASHES, 16#100000000).
-define(BATCH, 1000).

main(Effort) ->
    Milliseconds = measure:size(Effort, 50, 400),
    Ring = ring(),
    {ok, Server} = gen_server:start_link(?MODULE, Ring, []),
    ets:new(?MODULE, [named_table, public, set, {read_concurrency, true}]),
    ets:insert(?MODULE, {ring, Ring}),
    persistent_term:put(?MODULE, Ring),
    measure:report(Effort, [
        fun() -> [{"hashring_" ++ Name, 1.0e9 / measure:rate(1, Milliseconds, Batch)}] end
        || {Name, Batch} <- [{"process", fun() -> ask(Server, ?BATCH) end},
                             {"ets", fun() -> look_up(?BATCH) end},
                             {"persistent_term", fun() -> get_term(?BATCH) end}]
    ]).

ring() ->
    list_to_tuple(lists:sort([{hash({Node, Virtual}), node_name(Node)}
                              || Node <- lists:seq(1, ?NODES), Virtual <- lists:seq(1, ?VIRTUAL)])).

node_name(Node) -> list_to_atom("node" ++ integer_to_list(Node)).

hash(Key) -> erlang:phash2(Key, ?HASHES).

find(Key, Ring) -> find(hash(Key), Ring, 1, tuple_size(Ring) + 1).

%% The first at or after the hash, or the very first.
find(_, Ring, At, At) ->
    element(2, element((At - 1) rem tuple_size(Ring) + 1, Ring));
find(Hash, Ring, Low, High) ->
    Middle = (Low + High) div 2,
    case element(1, element(Middle, Ring)) < Hash of
        true -> find(Hash, Ring, Middle + 1, High);
        false -> find(Hash, Ring, Low, Middle)
    end.

ask(_, 0) -> ?BATCH;
ask(Server, Key) ->
    true = is_atom(gen_server:call(Server, Key, infinity)),
    ask(Server, Key - 1).

look_up(0) -> ?BATCH;
look_up(Key) ->
    [{_, Ring}] = ets:lookup(?MODULE, ring),
    true = is_atom(find(Key, Ring)),
    look_up(Key - 1).

get_term(0) -> ?BATCH;
get_term(Key) ->
    true = is_atom(find(Key, persistent_term:get(?MODULE))),
    get_term(Key - 1).

init(Ring) -> {ok, Ring}.

handle_call(Key, _, Ring) -> {reply, find(Key, Ring), Ring}.

handle_cast(_, Ring) -> {noreply, Ring}.
