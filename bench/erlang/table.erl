%% One hot key whose value is a binary of 10 KiB, read by 1, 2, 8 and 64 processes while a writer
%% replaces it 100 times a second: by asking a gen_server, from ETS, and from a persistent term.
%% Million reads a second of all readers together.
-module(table).
-behaviour(gen_server).
-export([main/1, init/1, handle_call/3, handle_cast/2]).

-define(KEY, {?MODULE, page}).
-define(VALUE_BYTES, 10240).
-define(SWAP_MS, 10).
-define(BATCH, 100).

main(Effort) ->
    Milliseconds = measure:size(Effort, 50, 400),
    ets:new(?MODULE, [named_table, public, set, {read_concurrency, true}]),
    {ok, Server} = gen_server:start_link(?MODULE, value(), []),
    Ways = [
        {"gen_server", fun(Value) -> gen_server:cast(Server, {put, Value}) end,
         fun() -> ask(Server, ?BATCH) end},
        {"ets", fun(Value) -> ets:insert(?MODULE, {?KEY, Value}) end,
         fun() -> look_up(?BATCH) end},
        {"persistent_term", fun(Value) -> persistent_term:put(?KEY, Value) end,
         fun() -> get_term(?BATCH) end}
    ],
    measure:report(Effort, [
        fun() ->
            Put(value()),
            Writer = spawn_opt(fun() -> swap(Put) end, [link, {priority, high}]),
            Rate = measure:rate(Readers, Milliseconds, Batch) / 1.0e6,
            unlink(Writer),
            exit(Writer, kill),
            [{io_lib:format("table_~s_~w", [Name, Readers]), Rate}]
        end
        || Readers <- [1, 2, 8, 64], {Name, Put, Batch} <- Ways
    ]).

value() -> binary:copy(<<7>>, ?VALUE_BYTES).

swap(Put) ->
    receive after ?SWAP_MS -> Put(value()) end,
    swap(Put).

%% Each reads the size of what it got, so that it is reached for.
ask(_, 0) -> ?BATCH;
ask(Server, N) ->
    ?VALUE_BYTES = byte_size(gen_server:call(Server, get, infinity)),
    ask(Server, N - 1).

look_up(0) -> ?BATCH;
look_up(N) ->
    [{_, Value}] = ets:lookup(?MODULE, ?KEY),
    ?VALUE_BYTES = byte_size(Value),
    look_up(N - 1).

get_term(0) -> ?BATCH;
get_term(N) ->
    ?VALUE_BYTES = byte_size(persistent_term:get(?KEY)),
    get_term(N - 1).

init(Value) -> {ok, Value}.

handle_call(get, _, Value) -> {reply, Value, Value}.

handle_cast({put, Value}, _) -> {noreply, Value}.
