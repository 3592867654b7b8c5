import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createEventParser, type ServerSentEvent } from '../../packages/client/src/event-parser.ts'

/** The events in the text, parsed chunk by chunk. */
function parsed(...chunks: string[]): ServerSentEvent[] {
  const parse = createEventParser()
  return chunks.flatMap((chunk) => parse(chunk).events)
}

const stream =
  '\uFEFFretry: 2000\n\nid: 1\nevent: key.created\ndata: {"a":\ndata: 1}\n\n:\n\nid: 2\ndata:x\n\n'
const events = [
  { id: '1', event: 'key.created', data: '{"a":\n1}' },
  { id: '2', event: 'message', data: 'x' },
]

test.each(['\n', '\r', '\r\n'])('lines may end with %j', (end) => {
  expect(parsed(stream.replaceAll('\n', end))).toEqual(events)
})

test('events are parsed from chunks of any size', () => {
  const cuts = fc.array(fc.nat(stream.length), { maxLength: 20 })
  fc.assert(
    fc.property(cuts, fc.constantFrom('\n', '\r', '\r\n'), (places, end) => {
      const text = stream.replaceAll('\n', end)
      const sorted = [0, ...places.toSorted((a, b) => a - b), text.length]
      const pieces = sorted.slice(1).map((place, index) => text.slice(sorted[index], place))
      expect(parsed(...pieces)).toEqual(events)
    }),
  )
})

test.each([
  ['cut off by the end of the stream', 'id: 3\ndata: {"revision":3'],
  ['without its final blank line', 'id: 3\ndata: {"revision":3}\n'],
  ['without data', 'id: 3\nevent: key.created\n\n'],
])('an event %s is dropped', (_, text) => {
  expect(parsed(text)).toEqual([])
})

test('the reconnection time is parsed', () => {
  expect(createEventParser()('retry: 2000\n').retryMs).toBe(2_000)
  expect(createEventParser()('retry: soon\n').retryMs).toBeUndefined()
})
