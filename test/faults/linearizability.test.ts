import { expect, test } from 'vitest'
import {
  findViolation,
  greatestLag,
  type History,
  type Read,
  type Step,
  type Write,
} from '../support/faults/linearizability.ts'

const unknown = Number.POSITIVE_INFINITY
const read = (called: number, answered: number, keys: Record<string, boolean>): Read => ({
  called,
  answered,
  keys: Object.entries(keys),
})

/** Key A is created from 0 to 10, deactivated from 20 to 30, and deleted from 40 to 50. */
const writes: Write[] = [
  { kid: 'A', change: 'create', called: 0, answered: 10, requestId: '1' },
  { kid: 'A', change: 'deactivate', called: 20, answered: 30, requestId: '2' },
  { kid: 'A', change: 'delete', called: 40, answered: 50, requestId: '3' },
]
const ledger: Step[] = [
  { requestId: '1', kid: 'A', change: 'create' },
  { requestId: '2', kid: 'A', change: 'deactivate' },
  { requestId: '3', kid: 'A', change: 'delete' },
]
const history = (parts: Partial<History> = {}): History => ({
  writes,
  lists: [],
  facts: [],
  published: [],
  lag: 5,
  ledger,
  ...parts,
})
const ofB = (change: Step['change']): Step => ({ requestId: 'x', kid: 'B', change })

test.each<[string, Partial<History>]>([
  [
    'a list during a change includes it or not',
    { lists: [read(1, 2, {}), read(3, 4, { A: true })] },
  ],
  ['a JWKS that is older by less than the allowed lag', { published: [read(33, 34, { A: true })] }],
  [
    'a JWKS that is as old as it says',
    { published: [{ ...read(49, 50, { A: true }), staleMs: 19 }] },
  ],
  [
    'a creation with an unknown outcome that took effect after other changes',
    {
      writes: [...writes, { change: 'create', called: 5, answered: unknown }],
      ledger: [...ledger, ofB('create')],
      lists: [read(51, 52, {}), read(60, 61, { B: true })],
    },
  ],
  [
    'a deletion with a 503 that took effect, and a later response that the key does not exist',
    {
      writes: [
        ...writes.slice(0, 2),
        { kid: 'A', change: 'delete', called: 40, answered: unknown, requestId: '3' },
      ],
      facts: [{ kid: 'A', active: undefined, called: 60, answered: 61 }],
    },
  ],
  [
    'an acknowledged change without an event, because the key was so already',
    {
      writes: [
        ...writes,
        { kid: 'A', change: 'deactivate', called: 32, answered: 34, requestId: '9' },
      ],
    },
  ],
])('possible: %s', (_name, parts) => {
  expect(findViolation(history(parts))).toBeUndefined()
})

test.each<[string, Partial<History>, RegExp]>([
  ['an acknowledged creation is lost', { ledger: [] }, /create of A is lost/],
  [
    'an acknowledged deactivation is lost',
    { writes: writes.slice(0, 2), ledger: ledger.slice(0, 1) },
    /acknowledged deactivate of A matches no state/,
  ],
  [
    'a change with an unknown outcome took effect twice',
    {
      writes: [...writes, { kid: 'B', change: 'create', called: 5, answered: unknown }],
      ledger: [...ledger, ofB('create'), ofB('delete')],
    },
    /no client made/,
  ],
  [
    'a change with an unknown outcome took effect before it was sent',
    {
      writes: [...writes, { change: 'create', called: 35, answered: unknown }],
      ledger: [ofB('create'), ...ledger],
    },
    /acknowledged before/,
  ],
  [
    'the ledger has another change than was asked for',
    {
      writes: [...writes, { kid: 'B', change: 'create', called: 12, answered: 15, requestId: 'x' }],
      ledger: [...ledger, { requestId: 'x', kid: 'C', change: 'create' }],
    },
    /not what was asked/,
  ],
  [
    'a kid is given twice',
    { ledger: [...ledger.slice(0, 1), { ...ofB('create'), kid: 'A' }] },
    /creates A a second time/,
  ],
  [
    'a deleted key is resurrected by a change',
    { ledger: [...ledger, { ...ofB('activate'), kid: 'A' }] },
    /changes A, which does not exist/,
  ],
  [
    'the ledger has a change that changes nothing',
    { ledger: [...ledger.slice(0, 2), { ...ofB('deactivate'), kid: 'A' }] },
    /changes nothing/,
  ],
  [
    'a list does not show what was acknowledged before',
    { lists: [read(11, 12, {})] },
    /a list matches no state/,
  ],
  ['a list shows what has not begun', { lists: [read(11, 12, { A: false })] }, /a list matches/],
  [
    'a list shows an older state than an earlier list',
    { lists: [read(1, 2, { A: true }), read(3, 4, {})] },
    /a list/,
  ],
  [
    'a list has a key twice',
    {
      lists: [
        {
          called: 11,
          answered: 12,
          keys: [
            ['A', true],
            ['A', true],
          ],
        },
      ],
    },
    /a list/,
  ],
  [
    'a response says that a key exists after its deletion',
    { facts: [{ kid: 'A', active: true, called: 55, answered: 56 }] },
    /a response about A/,
  ],
  [
    'a JWKS is older by more than the allowed lag',
    { published: [read(36, 37, { A: true })] },
    /a JWKS is 6 ms behind/,
  ],
  [
    'a JWKS is older than it says',
    { published: [{ ...read(49, 50, { A: true }), staleMs: 18 }] },
    /a JWKS is 19 ms behind/,
  ],
  [
    'a JWKS shows what has not begun',
    {
      writes: [...writes, { kid: 'B', change: 'create', called: 60, answered: 61, requestId: 'x' }],
      ledger: [...ledger, ofB('create')],
      published: [read(51, 52, { B: true })],
    },
    /a JWKS matches no state/,
  ],
])('impossible: %s', (_name, parts, reason) => {
  expect(findViolation(history(parts))).toMatch(reason)
})

test('the lag of a key set counts from the first acknowledged change that it lacks', () => {
  const published = [read(8, 9, {}), read(33, 34, { A: true }), read(45, 46, {})]
  expect(greatestLag(history({ published }), 'fresh')).toBe(3)
  const stale = { ...read(55, 56, { A: true }), staleMs: 30 }
  expect(greatestLag(history({ published: [...published, stale] }), 'fresh')).toBe(3)
  expect(greatestLag(history({ published: [...published, stale] }), 'stale')).toBe(25)
})
