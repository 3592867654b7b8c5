# Waits until $gateway or $follower ends, or the script is ended, and then ends what is left.
trap 'kill "$gateway" "$follower" 2> /dev/null || true' EXIT
trap 'exit 143' INT TERM
while kill -0 "$gateway" && kill -0 "$follower"; do
  sleep 1
done 2> /dev/null
exit 1
