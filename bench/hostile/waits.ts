/**
 * A process that holds requests for a key set, with the longest headers that are still parsed, and
 * repeats each after its answer. It reports when all are sent.
 */
import { connect, type Socket } from 'node:net'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'

/** The work that the parent sends. */
export interface HostileWaits {
  port: number
  path: string
  etag: string
  count: number
  /** From the answer to a request until it is repeated. */
  pauseMs: number
}

/** The limits beyond which `Prefer` and `Accept` are ignored, and 32 tags of 60 characters. */
const maxLengths = { tags: 1_960, prefer: 200, accept: 500 }

/** As many different short members as fit before the end. */
function fill(length: number, member: (index: number) => string, end: string): string {
  let text = ''
  for (let index = 0; ; index += 1) {
    const next = `${text}${member(index)},`
    if (next.length + end.length > length) return text + end
    text = next
  }
}

const prefer = fill(maxLengths.prefer, (index) => index.toString(36), 'wait=60')
const accept = fill(
  maxLengths.accept,
  (index) => `a/${index.toString(36)}`,
  'application/json;q=0.1',
)

function requestText({ path }: HostileWaits, etag: string): string {
  const tags = fill(maxLengths.tags, (index) => `"${String(index).padStart(60, '0')}"`, etag)
  return [
    `GET ${path} HTTP/1.1`,
    'Host: x',
    `If-None-Match: ${tags}`,
    `Prefer: ${prefer}`,
    `Accept: ${accept}`,
    '',
    '',
  ].join('\r\n')
}

/** Loopback addresses in turn, as if each request came from a client of its own. */
function localAddress(index: number): string {
  return `127.1.${index >> 8}.${index & 255}`
}

async function hold(waits: HostileWaits): Promise<void> {
  const repeat = async (socket: Socket, etag: string) => {
    if (waits.pauseMs > 0) await delay(waits.pauseMs)
    socket.write(requestText(waits, waits.etag === '*' ? '*' : etag))
  }
  const first = requestText(waits, waits.etag)
  for (let index = 0; index < waits.count; index += 1) {
    const socket = connect({
      port: waits.port,
      host: '127.0.0.1',
      localAddress: localAddress(index),
    })
    socket.on('error', () => socket.destroy())
    socket.write(first)
    socket.on('data', (chunk) => {
      const [, etag] = /^etag: (.*)\r$/im.exec(chunk.toString('latin1')) ?? []
      if (etag !== undefined) void repeat(socket, etag)
    })
    if (index % 100 === 0) await delay(20)
  }
  process.send?.('sent')
}

process.once('message', (message: HostileWaits) => void hold(message))
