import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createEventParser, type ServerSentEvent } from '../../client/src/event-parser.ts'

/** What the parser finds in the text, given in these pieces. */
function parsed(...pieces: string[]): ServerSentEvent[] {
  const parse = createEventParser()
  return pieces.flatMap((piece) => parse(piece).events)
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

test('an event is found however the text is cut', () => {
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
  ['that the stream broke off', 'id: 3\ndata: {"revision":3'],
  ['whose line is not over', 'id: 3\ndata: {"revision":3}\n'],
  ['without data', 'id: 3\nevent: key.created\n\n'],
])('an event %s is none', (_, text) => {
  expect(parsed(text)).toEqual([])
})

test('the pause that the service wishes for is found', () => {
  expect(createEventParser()('retry: 2000\n').retryMs).toBe(2_000)
  expect(createEventParser()('retry: soon\n').retryMs).toBeUndefined()
})
