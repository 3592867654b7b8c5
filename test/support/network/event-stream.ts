import { setTimeout as delay } from 'node:timers/promises'
import type { Event } from '../../../packages/server/src/features/events/contract.ts'

export interface ReceivedEvent {
  id: string
  event: string
  data: Event
}

/** A stream of server-sent events (HTML Living Standard, section 9.2). */
export interface EventStream {
  status: number
  headers: Headers
  /** All events so far. */
  events: ReceivedEvent[]
  /** The text received so far. */
  text(): string
  /** Resolves when this many events have arrived. */
  waitForEvents(count: number): Promise<ReceivedEvent[]>
  /** Resolves at the end of the stream: `true` if it ended, `false` if the connection broke. */
  endedCleanly: Promise<boolean>
  close(): void
}

export async function openEventStream(
  url: string,
  headers: Record<string, string>,
): Promise<EventStream> {
  const controller = new AbortController()
  const response = await fetch(url, {
    headers: { accept: 'text/event-stream', ...headers },
    signal: controller.signal,
  })
  const events: ReceivedEvent[] = []
  let text = ''
  let pending = ''
  let ended = false
  const read = async (): Promise<boolean> => {
    const decoder = new TextDecoder()
    try {
      for await (const chunk of response.body ?? []) {
        const more = decoder.decode(chunk, { stream: true })
        text += more
        const blocks = (pending + more).split('\n\n')
        pending = blocks.pop() ?? ''
        events.push(...blocks.flatMap(parseBlock))
      }
      return true
    } catch {
      return false
    } finally {
      ended = true
    }
  }
  const endedCleanly = read()
  return {
    status: response.status,
    headers: response.headers,
    events,
    text: () => text,
    async waitForEvents(count) {
      while (events.length < count && !ended) await delay(5)
      if (events.length < count) throw new Error(`the stream ended after ${events.length} events`)
      return events
    },
    endedCleanly,
    close: () => controller.abort(),
  }
}

function parseBlock(block: string): ReceivedEvent[] {
  const fields = new Map(
    block.split('\n').map((line) => {
      const at = line.indexOf(':')
      return [line.slice(0, at), line.slice(at + 1).trimStart()]
    }),
  )
  const [id, event, data] = ['id', 'event', 'data'].map((name) => fields.get(name))
  if (id === undefined || event === undefined || data === undefined) return []
  return [{ id, event, data: JSON.parse(data) }]
}
