import { createPrivateKey } from 'node:crypto'
import { readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { handOver } from '../../../packages/agents/src/keep/kept.ts'
import { newPair } from '../../../packages/agents/src/keep/pair.ts'
import { temporaryFolder } from '../../support/server/process.ts'

const { folder: dir } = temporaryFolder()
const pairs = await Promise.all(
  ['one', 'two', 'three'].map(async (kid) => ({ ...(await newPair('ES256')), kid })),
)
const xs = new Map(pairs.map(({ kid, x }) => [kid, x]))
const xOf = (pem: string) => createPrivateKey(pem).export({ format: 'jwk' }).x

/** Takes every pair in turn until the signal is aborted, as a keeper does, and without a pause. */
async function swap(times: number): Promise<void> {
  for (let n = 0; n < times; n += 1) {
    const pair = pairs[n % pairs.length]
    if (pair === undefined) return
    await handOver(dir, pair, n < 3 ? undefined : pairs[(n + 1) % pairs.length]?.kid)
  }
}

/** Reads in a thread of its own, a thousand times a second, and returns the kids and keys that it met. */
async function readWhile(work: Promise<void>): Promise<{ whole: string[]; resolved: string[] }> {
  const script = `
    const { existsSync, readFileSync, realpathSync } = require('node:fs')
    const { parentPort, workerData: dir } = require('node:worker_threads')
    const whole = new Set(), resolved = new Set()
    const timer = setInterval(() => {
      const { kid, x } = JSON.parse(readFileSync(dir + '/current.jwk', 'utf8'))
      whole.add(JSON.stringify([kid, x]))
      let folder
      const read = (name) => readFileSync(folder + '/' + name, 'utf8')
      try {
        folder = realpathSync(dir + '/current')
        resolved.add(JSON.stringify([read('kid'), read('private.pem')]))
      } catch (error) {
        // The reader paused for two turns, after which the folder is gone: that of the link, or the resolved one.
        if (error.code !== 'ENOENT' || (folder !== undefined && existsSync(folder))) throw error
      }
    }, 1)
    parentPort.once('message', () => {
      clearInterval(timer)
      parentPort.postMessage({ whole: [...whole], resolved: [...resolved] })
    })`
  const worker = new Worker(script, { eval: true, workerData: dir })
  const failed = new Promise<never>((_resolve, reject) => worker.once('error', reject))
  await Promise.race([work, failed])
  const result = new Promise<{ whole: string[]; resolved: string[] }>((resolve) => {
    worker.once('message', resolve)
  })
  worker.postMessage('end')
  const found = await Promise.race([result, failed])
  await worker.terminate()
  return found
}

test('under a reader, current.jwk is always whole, and so are both files below the resolved link', async () => {
  await swap(3)
  const { whole, resolved } = await readWhile(swap(600))
  for (const [kid, x] of whole.map((text) => JSON.parse(text))) expect(x).toBe(xs.get(kid))
  for (const [kid, pem] of resolved.map((text) => JSON.parse(text))) {
    expect(xOf(pem)).toBe(xs.get(kid))
  }
  // The reader has seen every pair, so it read while they were replaced.
  expect([whole.length, resolved.length]).toEqual([3, 3])
})

test('two opens through the link can meet two pairs, which is why it is resolved once', async () => {
  const [one, two] = pairs
  if (one === undefined || two === undefined) throw new Error('too few pairs')
  await handOver(dir, one)
  const folder = realpathSync(join(dir, 'current'))
  const first = readFileSync(join(dir, 'current', 'kid'), 'utf8')
  await handOver(dir, two)
  expect(xOf(readFileSync(join(dir, 'current', 'private.pem'), 'utf8'))).not.toBe(xs.get(first))
  expect(xOf(readFileSync(join(folder, 'private.pem'), 'utf8'))).toBe(xs.get(first))
})
