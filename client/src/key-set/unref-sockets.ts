/** The parts of Node that are used where they are there; `process` is absent elsewhere. */
type Host = { process?: { getBuiltinModule?: (name: string) => unknown } }

type Channels = {
  subscribe(name: string, listener: (message: unknown) => void): void
  unsubscribe(name: string, listener: (message: unknown) => void): void
}

/** Node's `fetch` tells here what it sends, and on which socket (undici, DiagnosticsChannel). */
const channel = 'undici:client:sendHeaders'

/** A message, if it is as it was when this was written. */
type Sending = {
  request?: { origin?: unknown; path?: unknown }
  headers?: unknown
  socket?: { unref?: () => void }
}

/**
 * Lets a Node process end while requests for the key set wait for news: their sockets do not count
 * as work. Answers the function that ends this. `fetch` counts them again with its next request.
 */
export function waitInBackground(address: string): () => void {
  const channels = channelsOf(globalThis as Host)
  if (channels === undefined) return () => {}
  const url = new URL(address)
  const listener = (message: unknown) => {
    const { request, headers, socket } = message as Sending
    if (String(request?.origin) !== url.origin) return
    if (request?.path !== url.pathname + url.search) return
    // Over HTTP/2 the headers are no text, and the socket has the requests of others.
    if (typeof headers === 'string' && /^prefer: wait=[1-9]/im.test(headers)) socket?.unref?.()
  }
  channels.subscribe(channel, listener)
  return () => channels.unsubscribe(channel, listener)
}

function channelsOf({ process }: Host): Channels | undefined {
  return process?.getBuiltinModule?.('node:diagnostics_channel') as Channels | undefined
}
