import { describe, expect, test } from 'vitest'
import {
  createFairQueue,
  type FairQueue,
  type IntakeCaller,
} from '../../../packages/server/src/intake/fair-queue.ts'

/** A queue with one slot, whose tasks record the order in which they run. */
function recordingQueue(maxWaiting = 100) {
  const queue = createFairQueue(1, maxWaiting)
  const order: string[] = []
  const run = (caller: IntakeCaller, cpuMs = 1, kind: Parameters<FairQueue['run']>[1] = 'single') =>
    queue.run(caller, kind, async () => {
      order.push(caller.callerId)
      return { result: caller.callerId, cpuMs }
    })
  /** Occupies the slot until the returned function is called. */
  const block = (callerId: string, cpuMs = 1) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const result = queue.run({ callerId }, 'single', async () => {
      await promise
      return { result: callerId, cpuMs }
    })
    return async () => {
      resolve()
      await result
    }
  }
  return { run, block, order }
}

const times = <Result>(count: number, make: () => Result) => Array.from({ length: count }, make)
const codesOf = async (results: Promise<unknown>[]) =>
  (await Promise.allSettled(results)).map((settled) =>
    settled.status === 'fulfilled' ? 'ok' : settled.reason.code,
  )

describe('the next task', () => {
  test('is that of a newcomer, however many of another API key wait', async () => {
    const { run, block, order } = recordingQueue()
    const release = block('flooder', 400)
    const flood = times(10, () => run({ callerId: 'flooder' }, 400))
    const honest = run({ callerId: 'honest' })
    await release()
    await Promise.all([...flood, honest])
    expect(order.indexOf('honest')).toBe(0)
  })

  test('is shared by CPU time and not by number', async () => {
    const { run, block, order } = recordingQueue()
    const release = block('other')
    const tasks = [
      ...times(4, () => run({ callerId: 'slow' }, 100)),
      ...times(20, () => run({ callerId: 'fast' }, 10)),
    ]
    await release()
    await Promise.all(tasks)
    const fastBefore = (nth: number) => {
      const slow = order.flatMap((id, index) => (id === 'slow' ? [index] : []))
      return (slow[nth] ?? 0) - nth
    }
    expect(Math.abs(fastBefore(2) - fastBefore(1) - 10)).toBeLessThanOrEqual(1)
  })

  test('is shared among projects first, however many API keys one has', async () => {
    const { run, block, order } = recordingQueue()
    const release = block('other')
    const crowd = ['a', 'b', 'c', 'd'].flatMap((callerId) =>
      times(2, () => run({ callerId, projectId: 'crowd' }, 10)),
    )
    const single = times(3, () => run({ callerId: 'single', projectId: 'small' }, 10))
    await release()
    await Promise.all([...crowd, ...single])
    expect(order.slice(0, 6).filter((id) => id === 'single')).toHaveLength(3)
    // Within the project each API key had a turn before any had its second.
    expect(new Set(order.filter((id) => id !== 'single').slice(0, 4)).size).toBe(4)
  })

  test('of an API key is a single one before its slices', async () => {
    const { run, block, order } = recordingQueue()
    const release = block('a')
    const slices = times(3, () =>
      run({ callerId: 'a' }, 1, 'slice').then(() => order.push('slice')),
    )
    const single = run({ callerId: 'a' }).then(() => order.push('single'))
    await release()
    await Promise.all([...slices, single])
    expect(order.filter((entry) => entry !== 'a')[0]).toBe('single')
  })

  test('does not depend on time that an API key left unused', async () => {
    const { run, block, order } = recordingQueue()
    const busy = block('busy', 1_000)
    const second = run({ callerId: 'busy' }, 1_000)
    await busy()
    const third = run({ callerId: 'busy' }, 1_000)
    const late = times(3, () => run({ callerId: 'late' }, 1_000))
    await Promise.all([second, third, ...late])
    expect(order.slice(1).filter((id) => id === 'late')).toHaveLength(3)
    expect(order.lastIndexOf('busy')).toBeLessThan(4)
  })
})

describe('limits', () => {
  test('an API key may fill half of the queue; then it is limited and others are not', async () => {
    const { run, block } = recordingQueue(4)
    const release = block('flooder')
    const flood = times(5, () => run({ callerId: 'flooder' }))
    const honest = run({ callerId: 'honest' })
    await release()
    expect(await codesOf(flood)).toEqual(['ok', 'ok', ...new Array(3).fill('rate_limited')])
    expect(await honest).toBe('honest')
  })

  test('Retry-After is the time that the waiting tasks take', async () => {
    const { run, block } = recordingQueue(20)
    const first = block('flooder', 400)
    const release = block('flooder', 400)
    await first()
    const flood = times(10, () => run({ callerId: 'flooder' }, 400))
    await expect(run({ callerId: 'flooder' })).rejects.toMatchObject({
      code: 'rate_limited',
      extras: { retryAfter: 4 },
    })
    await release()
    await Promise.all(flood)
  })

  test('in a full queue a newcomer takes the place of the API key with the most', async () => {
    const { run, block, order } = recordingQueue(6)
    const release = block('other')
    const crowd = ['a', 'b'].map((callerId) =>
      times(3, () => run({ callerId, projectId: 'crowd' })),
    )
    const honest = run({ callerId: 'honest' })
    await release()
    expect(await codesOf(crowd.flat())).toEqual(['ok', 'ok', 'overloaded', 'ok', 'ok', 'ok'])
    expect(await honest).toBe('honest')
    expect(order).toHaveLength(6)
  })

  test('overloaded is only who has no fewer waiting than all others', async () => {
    const { run, block } = recordingQueue(2)
    const release = block('other')
    const waiting = ['a', 'b'].map((callerId) => run({ callerId }))
    await expect(run({ callerId: 'c' })).rejects.toMatchObject({ code: 'overloaded' })
    await release()
    expect(await codesOf(waiting)).toEqual(['ok', 'ok'])
  })

  test('slices do not count', async () => {
    const { run, block } = recordingQueue(2)
    const release = block('a')
    const slices = times(8, () => run({ callerId: 'a' }, 1, 'slice'))
    const single = run({ callerId: 'a' })
    await release()
    expect(await codesOf([...slices, single])).toEqual(new Array(9).fill('ok'))
  })
})

describe('a caller that leaves', () => {
  test('before its turn: its task never runs, and its place is free', async () => {
    const { run, block, order } = recordingQueue(2)
    const release = block('other')
    const leaving = new AbortController()
    const left = run({ callerId: 'a', signal: leaving.signal })
    leaving.abort()
    await expect(left).rejects.toMatchObject({ code: 'invalid_request' })
    const next = run({ callerId: 'a' })
    await release()
    await next
    expect(order).toEqual(['a'])
  })

  test('before it asks: its task never runs', async () => {
    const { run, order } = recordingQueue()
    const signal = AbortSignal.abort()
    await expect(run({ callerId: 'a', signal })).rejects.toMatchObject({ code: 'invalid_request' })
    expect(order).toEqual([])
  })

  test('while its task runs: the task ends and counts for it', async () => {
    const { run, order } = recordingQueue()
    const leaving = new AbortController()
    const running = run({ callerId: 'a', signal: leaving.signal }, 500)
    const others = [run({ callerId: 'a' }), run({ callerId: 'b' })]
    leaving.abort()
    await Promise.all([running, ...others])
    expect(order).toEqual(['a', 'b', 'a'])
  })
})

test('a task that fails frees its slot', async () => {
  const queue = createFairQueue(1, 1)
  const failing = queue.run({ callerId: 'a' }, 'single', () => Promise.reject(new Error('no')))
  await expect(failing).rejects.toThrow('no')
  const work = async () => ({ result: 1, cpuMs: 1 })
  expect(await queue.run({ callerId: 'a' }, 'single', work)).toBe(1)
})
