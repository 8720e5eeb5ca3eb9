%% Many senders, one receiver: million messages a second from the first send to the last receive, with
%% the receiver's queue on its heap and off it (where OTP 25 lets senders fill 64 slots in parallel).
-module(mailbox).
-export([main/1]).

main(Effort) ->
    measure:report(Effort, [
        fun() -> [{name(Where, Senders, Words), received(Where, Senders, Words, Total)}] end
        || {Words, Total} <- [{1, measure:size(Effort, 20000, 2000000)},
                              {100, measure:size(Effort, 5000, 300000)}],
           Senders <- [1, 16],
           Where <- [on_heap, off_heap]
    ]).

name(Where, Senders, 1) -> io_lib:format("mailbox_~s_~w", [Where, Senders]);
name(Where, Senders, 100) -> io_lib:format("mailbox_~s_~w_800b", [Where, Senders]).

received(Where, Senders, Words, Total) ->
    Share = Total div Senders,
    Asker = self(),
    Receiver = spawn_opt(
        fun() ->
            receive_all(Share * Senders),
            Asker ! {received_at, measure:nanoseconds()}
        end,
        [link, {message_queue_data, Where}]),
    %% Made here and handed over: what is written in the module would be sent without a copy.
    Message = message(Words, Senders),
    Pids = [spawn_link(fun() -> receive go -> send(Receiver, Message, Share) end end)
            || _ <- lists:seq(1, Senders)],
    Start = measure:nanoseconds(),
    [Pid ! go || Pid <- Pids],
    receive
        {received_at, End} -> measure:per_second(Share * Senders, End - Start) / 1.0e6
    end.

%% One integer needs no words of its own; a hundred of them are 800 bytes.
message(1, Integer) -> Integer;
message(Words, Integer) -> erlang:make_tuple(Words, Integer).

send(_, _, 0) -> ok;
send(Receiver, Message, N) ->
    Receiver ! Message,
    send(Receiver, Message, N - 1).

receive_all(0) -> ok;
receive_all(N) -> receive _ -> receive_all(N - 1) end.
