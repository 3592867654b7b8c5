/** The parts of Node that are used if present; other runtimes have no `process`. */
type Host = { process?: { getBuiltinModule?: (name: string) => unknown } }

type DiagnosticsChannel = {
  subscribe(name: string, listener: (message: unknown) => void): void
  unsubscribe(name: string, listener: (message: unknown) => void): void
}

/** The channel where undici, Node's `fetch`, publishes each request with its socket. */
const channel = 'undici:client:sendHeaders'

/** The message of undici. Its form is not documented, so every member is checked. */
type SendHeadersMessage = {
  request?: { origin?: unknown; path?: unknown }
  headers?: unknown
  socket?: { unref?: () => void }
}

/**
 * Lets a Node process exit while a long poll of the key set is pending, by unreferencing its socket.
 * `fetch` references the socket again with its next request. Returns a function that stops this.
 */
export function unrefLongPolls(keySetUrl: string): () => void {
  const diagnostics = loadDiagnosticsChannel(globalThis as Host)
  if (diagnostics === undefined) return () => {}
  const url = new URL(keySetUrl)
  const listener = (message: unknown) => {
    const { request, headers, socket } = message as SendHeadersMessage
    if (String(request?.origin) !== url.origin) return
    if (request?.path !== url.pathname + url.search) return
    // Over HTTP/2 the headers are not text, and other requests share the socket.
    if (typeof headers === 'string' && /^prefer: wait=[1-9]/im.test(headers)) socket?.unref?.()
  }
  diagnostics.subscribe(channel, listener)
  return () => diagnostics.unsubscribe(channel, listener)
}

function loadDiagnosticsChannel({ process }: Host): DiagnosticsChannel | undefined {
  return process?.getBuiltinModule?.('node:diagnostics_channel') as DiagnosticsChannel | undefined
}
