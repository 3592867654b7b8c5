import { expect, test } from 'vitest'
import { heldSeconds } from '../../../packages/server/src/features/publishing/preferences.ts'

test.each<[string | string[] | undefined, number | undefined]>([
  ['wait=10', 10],
  ['Wait = 10', 10],
  ['wait="10"', 10],
  ['wait=0', 0],
  ['wait=60', 60],
  ['wait=99999999999999999999', 60],
  ['respond-async,wait=10;foo=bar', 10],
  ['return=minimal; foo="some parameter", wait=5', 5],
  ['wait=5, wait=9', 5],
  ['x="a, wait=7", wait=8', 8],
  ['x="a, wait=7, b", wait=8', 8],
  ['x="a\\", wait=7", wait=8', 8],
  ['wait=x, wait=9', undefined],
  ['wait, wait=9', undefined],
  [['respond-async', 'wait=4'], 4],
  [',, wait=3 ,', 3],
  [undefined, undefined],
  ['', undefined],
  ['wait', undefined],
  ['wait=""', undefined],
  ['wait="1', undefined],
  ['wait=-1', undefined],
  ['wait=1.5', undefined],
  ['await=9', undefined],
  ['x="wait=9"', undefined],
])('Prefer: %j means %j', (header, seconds) => {
  expect(heldSeconds(header, false)).toBe(seconds)
  expect(heldSeconds(header, true)).toBe(seconds && Math.min(seconds, 2))
})
