# The first process of the container; when it ends, so does the container.
# That is when standard input ends, which only the test process holds open, when
# the time limit is over, when the server ends, or when it is told to stop.
#
# Arguments: the limit in seconds, the server's command.
limit=$1
shift
trap 'exit 0' INT TERM

exec 3<&0
{ "$@" </dev/null 3<&-; kill $$; } &
{ cat <&3 >/dev/null; kill $$; } &
{ sleep "$limit"; kill $$; } &
wait
