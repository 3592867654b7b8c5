import { expect, test } from 'vitest'
import { createSemaphore } from '../../packages/server/src/async/semaphore.ts'

const errors = { fullError: () => new Error('full'), timeoutError: () => new Error('timeout') }

test('callers beyond the permits proceed in the order of their calls', async () => {
  const semaphore = createSemaphore({ permits: 2 })
  const order: number[] = []
  let running = 0
  const work = async (id: number) => {
    const release = await semaphore.acquire()
    running += 1
    expect(running).toBeLessThanOrEqual(2)
    order.push(id)
    await Promise.resolve()
    running -= 1
    release()
  }
  await Promise.all([0, 1, 2, 3, 4].map(work))
  expect(order).toEqual([0, 1, 2, 3, 4])
  expect(semaphore.isIdle()).toBe(true)
})

test('holders take turns, each in the order of its calls, and one may have half of the places', async () => {
  const semaphore = createSemaphore({ permits: 1, maxWaiting: 8, ...errors })
  const order: string[] = []
  const work = async (name: string, holder?: string) => {
    const release = await semaphore.acquire(undefined, { holder })
    order.push(name)
    await Promise.resolve()
    release()
  }
  const greedy = ['a1', 'a2', 'a3', 'a4', 'a5'].map((name) => work(name, 'a'))
  const refused = expect(semaphore.acquire(undefined, { holder: 'a' })).rejects.toThrow('full')
  await Promise.all([...greedy, refused, work('b1', 'b'), work('x1'), work('b2', 'b')])
  expect(order).toEqual(['a1', 'a2', 'b1', 'x1', 'a3', 'b2', 'a4', 'a5'])
  expect([semaphore.waiting(), semaphore.isIdle()]).toEqual([0, true])
})

test('a waiter that times out leaves the queue; a full queue rejects at once', async () => {
  const semaphore = createSemaphore({ permits: 1, maxWaiting: 1, ...errors })
  const release = await semaphore.acquire()
  const waiting = semaphore.acquire(5)
  await expect(semaphore.acquire(5)).rejects.toThrow('full')
  await expect(waiting).rejects.toThrow('timeout')
  const next = semaphore.acquire(1_000)
  release()
  release()
  expect(semaphore.isIdle()).toBe(false)
  ;(await next)()
  expect(semaphore.isIdle()).toBe(true)
})

test('the last eighth of the places is for holders that have nothing waiting, and for callers without one', async () => {
  const semaphore = createSemaphore({ permits: 1, maxWaiting: 16, ...errors })
  const release = await semaphore.acquire()
  const waiting: Promise<() => void>[] = []
  const enter = (holder?: string) => {
    const entered = semaphore.acquire(undefined, { holder })
    waiting.push(entered)
    return entered
  }
  for (let n = 0; n < 14; n += 1) enter(n % 2 === 0 ? 'a' : 'b')
  await expect(semaphore.acquire(undefined, { holder: 'a' })).rejects.toThrow('full')
  enter('c')
  await expect(semaphore.acquire(undefined, { holder: 'c' })).rejects.toThrow('full')
  enter()
  await expect(semaphore.acquire(undefined, { holder: 'd' })).rejects.toThrow('full')
  await expect(semaphore.acquire()).rejects.toThrow('full')
  expect(semaphore.waiting()).toBe(16)
  release()
  for (const entered of waiting) entered.then((done) => done())
  await Promise.all(waiting)
})

test('callers with one key proceed one after another, and others do not wait for them', async () => {
  const semaphore = createSemaphore({ permits: 2, ...errors })
  const release = await semaphore.acquire(undefined, { key: 'a' })
  ;(await semaphore.acquire(1, { key: 'b' }))()
  await expect(semaphore.acquire(5, { key: 'a' })).rejects.toThrow('timeout')
  release()
  ;(await semaphore.acquire(5, { key: 'a' }))()
  expect(semaphore.isIdle()).toBe(true)
})

test('a caller that waits for a permit does not hold its key', async () => {
  const semaphore = createSemaphore({ permits: 1, ...errors })
  const order: string[] = []
  const work = async (holder: string, key: string) => {
    const release = await semaphore.acquire(undefined, { holder, key })
    order.push(`${holder}${key}`)
    await Promise.resolve()
    release()
  }
  const a = ['1', '2', '3', 'system'].map((key) => work('a', key))
  await Promise.all([...a, work('b', 'system')])
  expect(order).toEqual(['a1', 'a2', 'bsystem', 'a3', 'asystem'])
})
