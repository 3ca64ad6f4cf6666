"""The shell script that a parked pod runs until its ApplicationMaster says what to do.

Contract with the node agent, in the hand-over directory ``H`` (a hostPath directory of the pod's own):

- the pod waits until the FIFO ``H/go`` exists, then reads two lines from it: the launch script's path and the
  container's log directory;
- it runs the script with bash in a session of its own and writes that session leader's pid to ``H/pid``, once the
  session is there: a signal to its group would go to nobody before;
- it reads signal names from the FIFO ``H/signal`` and sends each to the whole process group;
- at the end it writes the exit status to ``H/exit`` (by rename) and exits with it;
- unless there is ``H/again``: then it waits until the agent has taken ``H/exit`` away, and begins again at ``H/go``; or
  until ``H/again`` is gone (with all of ``H``, as a rule), and exits.

A pod that begins again first kills what the script left running, where the pod has process ids of its own and the shell
is the first of them: nobody else's processes can be meant.

A shell that is PID 1 ignores SIGTERM unless it traps it, so an idle parked pod traps it: its deletion must not take the
whole grace period.  ``stdout`` and ``stderr`` of the container are followed into the pod's own log, for ``kubectl
logs``. Only ``sh`` is assumed; ``setsid`` and ``tail`` are used when the image has them.
"""

from __future__ import annotations

SCRIPT = r"""
H="$YODEL_HANDOVER_DIR"
child=
in_session() {
  looks=0
  until kill -s 0 -- "-$child" 2>/dev/null || ! kill -s 0 "$child" 2>/dev/null || [ "$looks" -ge 300 ]; do
    looks=$((looks + 1))
    sleep 0.01
  done
}
on_term() {
  [ -z "$child" ] && exit 143
  in_session
  kill -s TERM -- "-$child" 2>/dev/null || kill -s TERM "$child" 2>/dev/null
}
trap on_term TERM INT
echo "parked: waiting for the ApplicationMaster to start $YODEL_CONTAINER_ID"
tries=0
until [ -p "$H/go" ]; do
  tries=$((tries + 1))
  if [ "$tries" -lt 200 ]; then sleep 0.05 & else sleep 0.5 & fi
  wait $!
done
while :; do
  { read -r script && read -r logs; } < "$H/go" || exit 1
  echo "launching $YODEL_CONTAINER_ID"
  if command -v setsid >/dev/null 2>&1; then
    setsid /bin/bash "$script" </dev/null &
  else
    set -m
    /bin/bash "$script" </dev/null &
  fi
  child=$!
  in_session
  echo "$child" > "$H/pid.tmp" && mv "$H/pid.tmp" "$H/pid"
  follow=
  if command -v tail >/dev/null 2>&1; then
    tail -q -n +1 -s 0.2 -F --pid="$child" "$logs/stdout" "$logs/stderr" 2>/dev/null &
    follow=$!
  fi
  while :; do
    while read -r name; do
      case "$name" in
        TERM|KILL|QUIT|INT|HUP|USR1|USR2|STOP|CONT) kill -s "$name" -- "-$child" 2>/dev/null ;;
      esac
    done < "$H/signal"
  done &
  signals=$!
  while :; do
    wait "$child"
    status=$?
    kill -0 "$child" 2>/dev/null || break
  done
  kill -s KILL "$signals" 2>/dev/null
  [ -e "$H/again" ] && [ "$$" -eq 1 ] && kill -s KILL -- -1 2>/dev/null
  echo "$status" > "$H/exit.tmp" && mv "$H/exit.tmp" "$H/exit"
  [ -n "$follow" ] && wait "$follow"
  echo "$YODEL_CONTAINER_ID exited with status $status"
  child=
  while [ -e "$H/again" ] && [ -e "$H/exit" ]; do sleep 0.1 & wait $!; done
  [ -e "$H/again" ] || exit "$status"
done
"""
