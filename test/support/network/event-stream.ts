import { setTimeout as delay } from 'node:timers/promises'
import type { Event } from '../../../src/contract/events.ts'

export interface ReceivedEvent {
  id: string
  event: string
  data: Event
}

/** A reader of server-sent events (HTML Living Standard, section 9.2). */
export interface EventStream {
  status: number
  headers: Headers
  /** All events so far. */
  events: ReceivedEvent[]
  /** The text as it came. */
  text(): string
  /** Resolves once there are so many events. */
  waitForEvents(count: number): Promise<ReceivedEvent[]>
  /** Resolves when the stream is over: `true` where it was ended, `false` where it was cut. */
  endedCleanly: Promise<boolean>
  close(): void
}

export async function openEventStream(
  url: string,
  headers: Record<string, string>,
): Promise<EventStream> {
  const leaving = new AbortController()
  const answer = await fetch(url, {
    headers: { accept: 'text/event-stream', ...headers },
    signal: leaving.signal,
  })
  const events: ReceivedEvent[] = []
  let text = ''
  let pending = ''
  let over = false
  const read = async (): Promise<boolean> => {
    const decoder = new TextDecoder()
    try {
      for await (const chunk of answer.body ?? []) {
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
      over = true
    }
  }
  const endedCleanly = read()
  return {
    status: answer.status,
    headers: answer.headers,
    events,
    text: () => text,
    async waitForEvents(count) {
      while (events.length < count && !over) await delay(5)
      if (events.length < count) throw new Error(`the stream ended after ${events.length} events`)
      return events
    },
    endedCleanly,
    close: () => leaving.abort(),
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
