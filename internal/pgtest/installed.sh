# Runs a throw-away cluster for as long as standard input stays open. Only the
# test process holds its other end, so that the cluster ends with the process,
# however it ends. Standard output tells the server's process id; when this
# script ends, nothing is left, and what went wrong stands on standard output.
#
# A line on standard input names a signal for the server. When that has ended,
# standard output says "ended", and a further line starts it again.
#
# Arguments: the directory of PostgreSQL's programs, a directory to make and work
# in, the directory of a server to be the standby of or nothing, settings.
bin=$1
dir=$2
primary=$3
shift 3
cd / || exit
trap '' PIPE # nobody may be left to read what we say; the files still go

# Here, not by the test process: that could be killed between this and our start.
mkdir -m 700 "$dir" 2>&1 || exit

fail() {
	say "$1"
	rm -rf "$dir"
	exit 1
}

say() {
	echo "$1:"
	tail -n 20 "$dir/log"
}

if [ -z "$primary" ]; then
	"$bin/initdb" --pgdata="$dir/data" --username=postgres --auth=trust --encoding=UTF8 --locale=C \
		--no-sync >"$dir/log" 2>&1 </dev/null || fail "initdb failed"
else
	"$bin/pg_basebackup" --pgdata="$dir/data" --host="$primary" --username=postgres --checkpoint=fast \
		--write-recovery-conf --no-sync >"$dir/log" 2>&1 </dev/null || fail "pg_basebackup failed"
fi

for setting; do
	shift
	set -- "$@" -c "$setting"
done

while
	# -F is not given: tests see the server as it is set up by default.
	"$bin/postgres" -D "$dir/data" -k "$dir" -p 5432 -c listen_addresses= -c max_connections=200 \
		-c unix_socket_permissions=0700 "$@" >>"$dir/log" 2>&1 </dev/null 3<&- &
	postgres=$!
	echo "$postgres"

	# The shell gives a background process /dev/null to read; 3 is the real input.
	# It also starts it with SIGQUIT ignored, so that a signal which comes before
	# postgres has installed its handler is lost: repeat it. The process id stays
	# postgres's: as soon as we have waited for that, we kill the guard.
	{
		while read -r signal <&3; do kill -"$signal" "$postgres"; done
		while kill -QUIT "$postgres"; do sleep 0.1; done
	} >/dev/null 2>&1 &
	guard=$!

	wait "$postgres"
	kill "$guard" 2>/dev/null
	wait "$guard" # it would read the line that is for us
	say "postgres ended"
	echo ended
	read -r _ <&3
do :; done
rm -rf "$dir"
exit 1
