import { expect, test } from 'vitest'
import { preferredWait } from '../../../packages/server/src/features/publishing/preferences.ts'
import { expectWithin } from '../../support/timing.ts'

test.each<[string | string[] | undefined, number | undefined]>([
  ['wait=10', 10],
  ['WAIT=10', 10],
  ['Wait = 10', 10],
  ['wait="10"', 10],
  ['wait="1\\0"', 10],
  ['wait=0', 0],
  ['wait=600', 600],
  ['wait=99999999999999999999', 1e20],
  ['respond-async, wait=10', 10],
  ['respond-async,wait=10;foo=bar', 10],
  ['return=minimal; foo="some parameter", wait=5', 5],
  ['x="a, wait=7", wait=8', 8],
  ['x="a\\", wait=7", wait=8', 8],
  ['wait=5, wait=9', 5],
  [['respond-async', 'wait=4'], 4],
  [',, wait=3 ,', 3],
  [undefined, undefined],
  ['', undefined],
  ['wait', undefined],
  ['wait=', undefined],
  ['wait=""', undefined],
  ['wait=ten', undefined],
  ['wait=-1', undefined],
  ['wait=1.5', undefined],
  ['wait=1e3', undefined],
  ['wait=x, wait=9', undefined],
  ['await=9', undefined],
  ['x="wait=9"', undefined],
  ['"wait=9', undefined],
  [`wait=9,${' '.repeat(2_000)}`, undefined],
])('Prefer: %j means %j', (header, seconds) => {
  expect(preferredWait(header)).toBe(seconds)
})

test('a header made to be hard to read takes no time', () => {
  const began = performance.now()
  expect(preferredWait('"\\"'.repeat(20_000))).toBeUndefined()
  expect(preferredWait('"\\'.repeat(499))).toBeUndefined()
  expectWithin(200, performance.now() - began)
})
