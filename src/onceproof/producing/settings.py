"""What both clients are set to."""

REQUEST_MS = 4000
LINGER_MS = 10
BATCH_BYTES = 256 * 1024
